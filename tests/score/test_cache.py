"""The cache: what it serves, what it must not, and what it survives."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.score.engine_models import Dual, Pairs

import tellapart as ta
from tellapart.errors import DiskFull
from tellapart.models import model as models
from tellapart.score.cells import text_keys
from tellapart.store.records import HEAD, SUFFIX
from tellapart.store.rows import Damaged, RowStore


@pytest.fixture
def options(tmp_path):
    return ta.EvaluateOptions(cache=tmp_path / "cache", batch_size=16, overwrite=True)


def segments(folder: Path) -> list[Path]:
    return sorted(folder.rglob(f"*{SUFFIX}"))


def scores(run):
    return run.scores.to_dicts()


@pytest.mark.parametrize("make", [Dual, Pairs])
def test_what_is_cached_needs_no_model(make, benchmarks, tmp_path, options):
    both = [benchmarks["bison"], benchmarks["mcic"]]
    first = ta.evaluate([make(weights="w")], both, tmp_path / "runs", options)
    model = make(weights="w")
    again = ta.evaluate([model], both, tmp_path / "runs", options)
    assert not (model.calls if make is Dual else model.asked)
    assert [scores(run) for run in again] == [scores(run) for run in first]


def test_what_one_benchmark_cached_another_uses(benchmarks, tmp_path, options):
    ta.evaluate([Dual(weights="w")], benchmarks["bison"], tmp_path / "runs", options)
    model = Dual(weights="w")
    ta.evaluate([model], benchmarks["mcic"], tmp_path / "runs", options)
    assert not model.images


@pytest.mark.parametrize(
    "change",
    [
        {"weights": "v"},
        {"name": "other"},
        {"preprocessing": "resized otherwise"},
        {"dtype": "float16"},
    ],
)
def test_pitfall_21_another_fingerprint_is_another_model(change, benchmarks, tmp_path, options):
    bench = benchmarks["bison"]
    ta.evaluate([Dual(weights="w")], bench, tmp_path / "runs", options)
    model = Dual(**{"weights": "w", **change})
    ta.evaluate([model], bench, tmp_path / "runs", options)
    assert len(model.images) == len({p for i in bench.items for p in i.images})


def test_pitfall_21_rows_of_an_older_format_are_not_read(
    benchmarks, tmp_path, options, monkeypatch
):
    ta.evaluate([Dual(weights="w")], benchmarks["bison"], tmp_path / "runs", options)
    monkeypatch.setattr(models, "CACHE_FORMAT", models.CACHE_FORMAT + 1)
    model = Dual(weights="w")
    ta.evaluate([model], benchmarks["bison"], tmp_path / "runs", options)
    assert model.images and model.texts


def test_pitfall_21_a_picture_that_changed_is_encoded_anew(world, tmp_path, options):
    import shutil

    shutil.copytree(world.root, tmp_path / "world")
    bench = ta.build("mcic", tmp_path / "world", tmp_path / "mcic")
    ta.evaluate([Dual(weights="w")], bench, tmp_path / "runs", options)
    names = list(bench.images)
    shutil.copy(bench.picture(names[0]).path, bench.picture(names[1]).path)
    shutil.copy(world.picture(names[2]).path, bench.picture(names[0]).path)
    model = Dual(weights="w")
    (run,) = ta.evaluate([model], bench, tmp_path / "runs", options)
    assert not model.images  # both contents are known, under other names
    plain = replace(options, use_cache=False)
    (fresh,) = ta.evaluate([Dual(weights="w")], bench, tmp_path / "fresh", plain)
    assert scores(run) == scores(fresh)


def test_models_without_fingerprint_and_those_fitted_to_a_benchmark_are_not_cached(
    benchmarks, tmp_path, options
):
    fitted = Dual("fitted", weights="w")
    fitted.prepare = lambda shown: None
    unwilling = Dual("unwilling", weights="w")
    unwilling.cacheable = False
    models = [Dual(), Pairs(), fitted, unwilling, "chance", "oracle", "blind", "constant"]
    ta.evaluate(models, benchmarks["bison"], tmp_path / "runs", options)
    assert not segments(tmp_path / "cache")
    willing = Dual("willing")
    willing.cacheable = True
    ta.evaluate([willing], benchmarks["bison"], tmp_path / "runs", options)
    assert segments(tmp_path / "cache")


def test_no_cache_is_no_cache(benchmarks, tmp_path, options):
    plain = replace(options, use_cache=False)
    ta.evaluate([Dual(weights="w")], benchmarks["bison"], tmp_path / "runs", plain)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("harm", ["body", "head", "tail", "key"])
def test_pitfall_21_a_damaged_block_is_thrown_away_and_computed_anew(
    harm, benchmarks, tmp_path, options
):
    bench = benchmarks["bison"]
    first = ta.evaluate([Dual(weights="w")], bench, tmp_path / "runs", options)
    path = next(p for p in segments(tmp_path / "cache") if p.parent.name == "images")
    data = bytearray(path.read_bytes())
    length = HEAD.unpack_from(data)[1]
    if harm == "body":
        data[HEAD.size + length - 2] ^= 1
    elif harm == "key":
        data[HEAD.size + 14] ^= 1
    elif harm == "head":
        data[HEAD.size + length] ^= 1  # the mark of the second record
    else:
        data = data[:-5]
    path.write_bytes(data)
    model = Dual(weights="w")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        again = ta.evaluate([model], bench, tmp_path / "runs", options)
    assert scores(again[0]) == scores(first[0])
    assert 0 < len(model.images) < len(bench.images) and not model.texts
    said = [w for w in caught if w.category is Damaged]
    assert len(said) == (0 if harm == "tail" else 1)
    model = Dual(weights="w")
    third = ta.evaluate([model], bench, tmp_path / "runs", options)  # warnings are errors here
    assert scores(third[0]) == scores(first[0]) and not model.images


WRITER = """
import sys
from pathlib import Path
import tellapart as ta
sys.path.insert(0, sys.argv[4])
from tests.score.engine_models import Dual
options = ta.EvaluateOptions(cache=Path(sys.argv[1]), batch_size=8)
ta.evaluate([Dual(weights="w", delay=0.02)], sys.argv[3].split(","), sys.argv[2], options)
"""


def test_two_processes_share_one_cache(benchmarks, tmp_path, options):
    root = Path(__file__).parents[2]
    places = [str(benchmarks[name].root) for name in ("bison", "mcic")]
    started = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                WRITER,
                tmp_path / "cache",
                tmp_path / f"runs{k}",
                ",".join(places[::step]),
                root,
            ]
        )
        for k, step in enumerate((1, -1))
    ]
    assert [process.wait() for process in started] == [0, 0]
    model = Dual(weights="w")
    runs = ta.evaluate([model], places, tmp_path / "runs", options)
    assert not model.calls
    plain = replace(options, use_cache=False)
    fresh = ta.evaluate([Dual(weights="w")], places, tmp_path / "fresh", plain)
    assert [scores(run) for run in runs] == [scores(run) for run in fresh]


def test_the_least_recently_used_goes_first(benchmarks, tmp_path, options):
    for name in ("a", "b", "c"):
        ta.evaluate([Dual(name, weights=name)], benchmarks["bison"], tmp_path / "runs", options)
    every = segments(tmp_path / "cache")
    for k, path in enumerate(sorted(every, key=lambda p: p.stat().st_mtime_ns)):
        os.utime(path, (1000 + k, 1000 + k))
    ta.evaluate([Dual("a", weights="a")], benchmarks["bison"], tmp_path / "runs", options)
    small = replace(options, cache_gb=sum(p.stat().st_size for p in every) * 0.7 / 1e9)
    ta.evaluate([Dual("c", weights="c")], benchmarks["bison"], tmp_path / "runs", small)
    left = {p.parent.parent.name for p in segments(tmp_path / "cache")}
    names = {n: Dual(n, weights=n).facts.fingerprint[:32] for n in "abc"}
    assert left == {names["a"], names["c"]}


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path, monkeypatch):
    store = RowStore(tmp_path / "s")
    keys = text_keys([f"t{k}" for k in range(20)])
    rows = np.arange(80, dtype=np.float32).reshape(20, 4)
    store.add(keys[:10], rows[:10])
    real = store._writer._file

    class Full:
        def __getattr__(self, name):
            return getattr(real, name)

        def write(self, data):
            real.write(bytes(data)[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

    store._writer._file = Full()
    with pytest.raises(DiskFull, match="the disk is full") as caught:
        store.add(keys[10:], rows[10:])
    assert "same command again" in caught.value.todo
    store._writer._file = real
    store.add(keys[10:15], rows[10:15])
    store.close()
    store = RowStore(tmp_path / "s")
    found = store.read(keys)
    store.close()
    assert [row is not None for row in found] == [True] * 15 + [False] * 5
    assert np.array_equal(np.stack(found[:15]), rows[:15])


def test_a_full_disk_stops_a_job_which_goes_on_later(benchmarks, tmp_path, options, monkeypatch):
    from tellapart.store import records

    real, written = records.write_all, []

    def full(file, data):
        written.append(len(data))
        if len(written) > 12:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(file, data)

    monkeypatch.setattr(records, "write_all", full)
    model = Dual(weights="w")
    plain = replace(options, overwrite=False)
    with pytest.raises(DiskFull):
        ta.evaluate([model], benchmarks["bison"], tmp_path / "runs", plain)
    monkeypatch.setattr(records, "write_all", real)
    again = Dual(weights="w")
    ta.evaluate([again], benchmarks["bison"], tmp_path / "runs", plain)
    assert len(again.images) == len(model.images) - 3 * 16  # three batches were kept


def test_a_cache_that_cannot_be_written_says_what_to_do(benchmarks, tmp_path):
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(ta.TellapartError, match="cache cannot be written") as caught:
        ta.evaluate([Dual(weights="w")], benchmarks["bison"], tmp_path / "runs",
                    ta.EvaluateOptions(cache=tmp_path / "cache"))  # fmt: skip
    assert "--no-cache" in caught.value.todo

"""Jobs that are killed go on, and end with the same bytes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.score.engine_models import Dual, Pairs, Picks

import tellapart as ta
from tellapart import seeds
from tellapart.errors import BadInput
from tellapart.models.model import ChooserReply
from tellapart.score.batches import ModelFailed

SCRIPT = Path(__file__).with_name("engine_models.py")
TELLAPART = str(Path(sys.executable).with_name("tellapart"))
DELAY = 0.015


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "cache"))


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name != "timings.json"
    }


def start(place: Path, benchmarks: list[str]) -> subprocess.Popen:
    """A job in a process of its own, once it has imported what it needs."""
    place.mkdir(exist_ok=True)
    words = [sys.executable, SCRIPT, place / "runs", str(DELAY), place / "cache", *benchmarks]
    log = place / "log"
    with log.open("w") as file:
        process = subprocess.Popen(words, stdout=file, stderr=file)
    while "ready" not in log.read_text() and process.poll() is None:
        time.sleep(0.01)
    return process


def killed_and_ended(tmp_path: Path, benchmarks: list[str], kills: int, seed: int) -> None:
    """Kill a job at random moments and start it again; each that ends has the same bytes."""
    process = start(tmp_path / "whole", benchmarks)
    begun = time.perf_counter()
    assert process.wait() == 0, (tmp_path / "whole" / "log").read_text()
    lasts = time.perf_counter() - begun
    expected = files_of(tmp_path / "whole" / "runs")
    assert len(expected) == 2 * 3 * len(benchmarks)
    rng = seeds.rng(seed, "kill")
    place, killed = tmp_path / "job0", 0
    while True:
        process = start(place, benchmarks)
        if killed < kills:
            try:
                process.wait(timeout=float(rng.uniform(0, lasts)))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                killed += 1
                continue
        if process.wait() != 0:  # killed when all was done, but for leaving
            assert "already exists" in (place / "log").read_text()
        assert files_of(place / "runs") == expected
        if killed == kills:
            return
        place = tmp_path / f"job{killed}"


@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.campaign)])
def test_killed_at_random_moments_the_bytes_are_the_same(kills, benchmarks, tmp_path):
    places = [str(benchmarks[name].root) for name in ("bison", "mcic")]
    killed_and_ended(tmp_path, places, kills, seed=5)


@pytest.mark.campaign
def test_killed_on_real_rows_the_bytes_are_the_same(tmp_path):
    named = os.environ.get("TELLAPART_REAL_DATA")
    if not named:
        pytest.skip("TELLAPART_REAL_DATA does not name a folder with the real data")
    bench = sugarcrepe(Path(named), tmp_path / "sugarcrepe", rows=150)
    killed_and_ended(tmp_path, [str(bench.root)], kills=3, seed=6)


def sugarcrepe(data: Path, out: Path, rows: int):
    """Rows of SugarCrepe whose pictures are there."""
    from tellapart.benchmark.benchmark import Card, make_benchmark, save_benchmark
    from tellapart.items import Image, Item, Origin

    items, images = [], {}
    for file in sorted((data / "sugarcrepe").glob("*.json")):
        for key, row in json.loads(file.read_text()).items():
            if not (data / "coco" / "images" / row["filename"]).exists():
                continue
            images[row["filename"]] = Image(row["filename"], row["filename"])
            items.append(
                Item.imported("sugarcrepe", f"{file.stem}-{key}", images=(row["filename"],),
                              captions=(row["caption"], row["negative_caption"]),
                              true=frozenset({(0, 0)}), kind=file.stem, origin=Origin("t"))
            )  # fmt: skip
    step = max(1, len(items) // rows)
    made = make_benchmark(
        Card("sugarcrepe"), data / "coco" / "images", items[::step], images.values()
    )
    return save_benchmark(made, out)


class Stops(Dual):
    """Raises once it has encoded some texts."""

    after = 30
    error: BaseException = ValueError("stop here")

    def embed_texts(self, texts):
        if len(self.texts) >= self.after:
            raise self.error
        return super().embed_texts(texts)


SMALL = ta.EvaluateOptions(batch_size=10)


@pytest.mark.parametrize("weights", ["", "w"])
def test_a_model_that_failed_goes_on_from_its_last_batch(weights, benchmarks, tmp_path):
    model = Stops(weights=weights)
    with pytest.raises(ModelFailed, match="stop here"):
        ta.evaluate([model], benchmarks["mcic"], tmp_path / "runs", SMALL)
    again = Stops(weights=weights)
    again.after = 10**9
    ta.evaluate([again], benchmarks["mcic"], tmp_path / "runs", SMALL)
    assert not again.images and not set(again.texts) & set(model.texts)
    plain = replace(SMALL, use_cache=False)
    ta.evaluate([Dual(weights=weights)], benchmarks["mcic"], tmp_path / "whole", plain)
    assert files_of(tmp_path / "runs") == files_of(tmp_path / "whole")


def test_runs_of_a_job_that_was_stopped_are_its_own_and_others_are_not(benchmarks, tmp_path):
    """The first model's run stands already when the second fails; the same call goes on."""
    bench, out = benchmarks["mcic"], tmp_path / "runs"
    stops = Stops("stops")
    with pytest.raises(ModelFailed):
        ta.evaluate([Picks(), stops], bench, out, SMALL)
    assert (out / "mcic" / "picks" / "run.json").exists()
    with pytest.raises(BadInput, match="already exists"):
        ta.evaluate([Picks()], bench, out, SMALL)  # another call
    stops.after, picks = 10**9, Picks()
    runs = ta.evaluate([picks, stops], bench, out, SMALL)
    assert [run.model for run in runs] == ["picks", "stops"] and not picks.asked
    with pytest.raises(BadInput, match="already exists"):
        ta.evaluate([Picks(), stops], bench, out, SMALL)
    assert not (out / ".unfinished").exists()


def test_answers_so_far_are_not_asked_again(benchmarks, tmp_path):
    class Dies(Picks):
        after = 20

        def choose(self, asked):
            if len(self.asked) >= self.after:
                raise KeyboardInterrupt
            return super().choose(asked)

    first, second = Dies(), Dies()
    second.after = 10**9
    with pytest.raises(KeyboardInterrupt):
        ta.evaluate([first], benchmarks["bison"], tmp_path / "runs", SMALL)
    ta.evaluate([second], benchmarks["bison"], tmp_path / "runs", SMALL)
    assert not set(first.asked) & set(second.asked)
    assert len(first.asked) + len(second.asked) == len(benchmarks["bison"].items)
    ta.evaluate([Picks()], benchmarks["bison"], tmp_path / "whole", SMALL)
    assert files_of(tmp_path / "runs") == files_of(tmp_path / "whole")


def test_a_failed_answer_is_not_kept_as_an_answer(benchmarks, tmp_path):
    class Flaky(Picks):
        good = False

        def choose(self, asked):
            replies = super().choose(asked)
            if self.good:
                return replies
            replies[0] = ChooserReply(None, failure="busy")
            if len(self.asked) > 30:
                raise ValueError("broken")
            return replies

    first, second = Flaky(), Flaky()
    second.good = True
    with pytest.raises(ModelFailed, match="broken"):
        ta.evaluate([first], benchmarks["bison"], tmp_path / "runs", SMALL)
    (run,) = ta.evaluate([second], benchmarks["bison"], tmp_path / "runs", SMALL)
    assert (run.answers["status"] == "answered").all()
    assert len(set(first.asked) & set(second.asked)) == 3 + 10  # busy ones and the broken batch


def test_pitfall_21_a_model_that_was_mended_is_another(benchmarks, tmp_path):
    """Rows of a model without fingerprint are kept for the same code only."""
    module = tmp_path / "mine.py"
    code = """
import numpy as np
from tellapart.models.model import ModelInfo
class Mine:
    facts = ModelInfo("mine")
    def score_pairs(self, pictures, texts):
        if FAILS and texts[0] != LAST: raise ValueError("bug")
        return np.full(len(texts), VALUE)
"""
    import importlib.util

    def made(**values):
        module.write_text(code)
        spec = importlib.util.spec_from_file_location("mine", module)
        found = importlib.util.module_from_spec(spec)
        sys.modules["mine"] = found
        spec.loader.exec_module(found)
        vars(found).update(values)
        return found.Mine()

    bench = benchmarks["bison"]
    options = ta.EvaluateOptions(batch_size=1)
    with pytest.raises(ModelFailed, match="bug"):
        ta.evaluate([made(FAILS=True, LAST=bench.items[0].captions[0], VALUE=0.0)], bench,
                    tmp_path / "runs", options)  # fmt: skip
    code += "# mended\n"
    (run,) = ta.evaluate([made(FAILS=False, LAST="", VALUE=1.0)], bench, tmp_path / "runs", options)
    assert run.scores["score"].unique().to_list() == [1.0]


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(benchmarks, tmp_path):
    (tmp_path / "slow_one.py").write_text(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        "from tests.score.engine_models import Dual\n"
        "def model(): return Dual('slow', delay=0.3)\n"
    )
    words = [TELLAPART, "evaluate", "python:slow_one:model", "--on", benchmarks["mcic"].root,
             "--out", tmp_path / "runs", "--batch-size", "4"]  # fmt: skip
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    waited = time.perf_counter() + 30
    while not list(tmp_path.rglob("*.segment")) and time.perf_counter() < waited:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=30)[1]
    assert process.returncode == 130
    assert "run the same command again" in said and "Traceback" not in said
    assert not list(tmp_path.glob("runs/*"))


def test_smaller_batches_are_remembered_by_a_job_that_goes_on(benchmarks, tmp_path):
    class Small(Stops):
        def embed_images(self, pictures):
            if len(pictures) > 4:
                raise MemoryError
            return super().embed_images(pictures)

    first, second = Small("small"), Small("small")
    second.after = 10**9
    with pytest.raises(ModelFailed):
        ta.evaluate([first], benchmarks["mcic"], tmp_path / "runs", SMALL)
    (run,) = ta.evaluate([second], benchmarks["mcic"], tmp_path / "runs", SMALL)
    assert not second.images and run.card.notes["smaller_batches"] == {"images": 2}


def test_a_prepared_model_does_not_mix_benchmarks(benchmarks, tmp_path):
    together = ta.evaluate("blind", [benchmarks["bison"], benchmarks["bivlc"]], tmp_path / "a")
    (alone,) = ta.evaluate("blind", benchmarks["bivlc"], tmp_path / "b")
    assert together[1].scores.equals(alone.scores)


def test_pairs_without_fingerprint_are_kept_for_the_job(benchmarks, tmp_path):
    class Dies(Pairs):
        after = 20

        def score_pairs(self, pictures, texts):
            if len(self.asked) >= self.after:
                raise ValueError("dies")
            return super().score_pairs(pictures, texts)

    first, second = Dies(), Dies()
    second.after = 10**9
    with pytest.raises(ModelFailed, match="dies"):
        ta.evaluate([first], benchmarks["bison"], tmp_path / "runs", SMALL)
    ta.evaluate([second], benchmarks["bison"], tmp_path / "runs", SMALL)
    assert len(first.asked) == 20 and not set(first.asked) & set(second.asked)

"""Every reader on a few hundred mutated files; soak/fuzz.py gives each a hundred thousand."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from soak.fuzz import compiled_modules, in_own_process
from soak.judge import Judge
from soak.mutations import pick
from soak.readers import targets
from soak.target import Target

from tellapart import seeds
from tellapart.errors import TellapartError

READERS = (
    "coco", "flickr", "csv", "jsonl", "parquet", "native", "folder", "mcic", "bison", "foil",
    "sugarcrepe", "valse", "aro", "winoground", "crepe", "eqben", "naturalbench", "bivlc",
    "benchmark", "scores", "layout", "settings", "participants", "results", "address", "features",
    "regions", "boxes", "system", "checkpoint", "pairs",
)  # fmt: skip
INPUTS = 30


@pytest.fixture(scope="module")
def every(tmp_path_factory, monkeypatch_module) -> dict[str, Target]:
    monkeypatch_module.delenv("TELLAPART_REAL_DATA", raising=False)
    return targets(tmp_path_factory.mktemp("soak"))


@pytest.fixture(scope="module")
def monkeypatch_module() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def inputs(target: Target, number: int) -> Iterator[bytes]:
    """Whole files changed one to three times."""
    whole = target.seeds()
    for k in range(number):
        rng = seeds.rng(k, "a few", target.name)
        data = pick(rng, whole)
        for _ in range(int(rng.integers(1, 4))):
            data = target.mutate(data, rng)
        yield data


def test_no_reader_is_left_out(every):
    assert set(every) == set(READERS)


@pytest.mark.parametrize("name", READERS)
def test_a_mutated_file_is_read_or_refused_with_a_clear_error(every, tmp_path, name):
    judge = Judge(every[name], tmp_path / "in", tmp_path / "kept")
    for data in every[name].seeds():
        assert judge.judge(data) == ""
    assert judge.counts["refused"] == 0
    wrong = [judge.judge(data) for data in inputs(every[name], INPUTS)]
    assert [one for one in wrong if one] == []
    assert judge.counts["read"] > 3 and judge.counts["refused"] > 3


def test_what_numba_compiles_is_not_instrumented():
    found = compiled_modules()
    assert "tellapart.text.caption_metrics.sentences" in found and len(found) < 20
    assert all(callable(import_module(name).kernel) for name in found)


@pytest.mark.campaign
def test_the_campaign_starts_where_its_tools_are_installed(tmp_path):
    """In a process of its own, with coverage counted: kernels are compiled all the same."""
    pytest.importorskip("atheris", reason="the soak extra is not installed")
    found = in_own_process("participants", 40, 0, tmp_path)
    assert found["inputs"] == 40 and found["failed"] == 0 and found["read"] > 5


@pytest.mark.parametrize(
    "settings", [{"joint": -1}, {"words": -1}, {"dropout": 1.5}, {"hidden": 10**9, "words": 10**9}]
)
def test_a_system_that_cannot_be_made_is_refused_by_name(every, tmp_path, settings):
    if "system" not in every:
        pytest.skip("torch is not installed")
    target = every["system"]
    place = list(target.files).index("system.json")
    card = json.loads(target.files["system.json"])
    card["settings"] |= settings
    judge = Judge(target, tmp_path / "in", tmp_path / "kept")
    assert judge.judge(bytes([2 * place]) + json.dumps(card).encode()) == ""
    assert judge.counts["refused"] == 1


@pytest.mark.parametrize("name", ["coco", "csv", "jsonl", "parquet", "mcic"])
def test_an_input_comes_again_from_its_seed(every, name):
    assert list(inputs(every[name], 30)) == list(inputs(every[name], 30))


def judged(tmp_path: Path, read) -> tuple[str, Judge]:
    judge = Judge(Target("one", {"a.txt": b"whole"}, read), tmp_path / "in", tmp_path / "kept")
    return judge.judge(b"\0mutated"), judge


def raising(error: BaseException):
    def read(path: Path, skip_bad: bool) -> None:
        raise error

    return read


class Panic(BaseException):
    """As Polars has it."""


@pytest.mark.parametrize(
    ("read", "seconds", "wrong"),
    [
        (raising(KeyError("a")), 9, "KeyError in test_fuzz.py:read"),
        (raising(Panic("a")), 9, "Panic in test_fuzz.py:read"),
        (raising(TellapartError(" ")), 9, "an error that says nothing"),
        (lambda path, skip_bad: os.write(2, b"thread panicked"), 9, "something on stderr"),
        (lambda path, skip_bad: bytes(b"x" * (1 << 28)), 9, "memory blow-up"),
        (lambda path, skip_bad: time.sleep(60), 0.02, "Hang in test_fuzz.py:<lambda>"),
        (lambda path, skip_bad: sum(range(3 * 10**6)), 0, "slow"),
    ],
)
def test_the_judge_finds_what_is_wrong_and_keeps_the_input(
    tmp_path, monkeypatch, read, seconds, wrong
):
    monkeypatch.setattr("soak.judge.SECONDS", seconds)
    monkeypatch.setattr("soak.judge.MEGABYTES", 200)
    found, judge = judged(tmp_path, read)
    assert wrong in found
    assert judge.result()["failed"] == 1
    assert (tmp_path / "kept" / "one-1-1").read_bytes() == b"\0mutated"
    assert (tmp_path / "in" / "a.txt").read_bytes() == b"whole"


def test_the_judge_lets_pass_what_is_well(tmp_path):
    for read in (raising(TellapartError("a.txt is empty")), lambda path, skip_bad: path):
        found, judge = judged(tmp_path, read)
        assert found == "" and judge.result()["failed"] == 0

"""Batches, unfinished work and runs in progress, piece by piece."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.conftest import benchmark_of, grid_item

from tellapart.errors import BadImage, DiskFull, TellapartError
from tellapart.files import read_json
from tellapart.models.model import ModelInfo
from tellapart.score.batches import Asker, BatchLimits, Computed, ModelFailed, in_batches
from tellapart.score.job import HOME, ModelWork, Work, model_id, work_on
from tellapart.score.live import CELL_SECONDS, NAME, NOTE_SECONDS, LiveNotes, live_jobs
from tellapart.score.run import RunCard

KEYS = np.arange(20, dtype=np.uint64).reshape(10, 2)
NONE = [None] * 10


class Kept:
    """A store in memory."""

    def __init__(self, **rows: Any) -> None:
        self.rows = {int(name[1:]): row for name, row in rows.items()}

    def read(self, keys):
        return [self.rows.get(int(key[0]) // 2) for key in keys]

    def add(self, keys, rows):
        for key, row in zip(keys, rows, strict=True):
            self.rows[int(key[0]) // 2] = row


def asker(kind: str = "images", size: int = 10, store: Any = None, **more: Any) -> Asker:
    return Asker("m", kind, BatchLimits(size), store, **more)


def doubled(batch, places):
    return np.stack([places, 2 * places], axis=1)


def computed(one: Asker, call=doubled, known=None, size: int = 4) -> list[Computed]:
    batches = in_batches(np.arange(10), size)
    return list(one.compute(batches, KEYS, call, known or NONE))


def test_batches_are_parts_in_order_and_numbered():
    found = in_batches(np.array([5, 3, 9, 1, 7]), 2, first=3)
    assert [(b.number, b.places.tolist()) for b in found] == [(3, [5, 3]), (4, [9, 1]), (5, [7])]
    assert [b.number for b in in_batches(np.arange(3), 2)] == [0, 1]


def test_what_is_known_is_not_asked_again_and_what_is_new_is_kept():
    store = Kept(k1=np.array([7.0, 8.0]), k2=np.array([1.0]))
    assert asker(store=Kept(k1=np.zeros(3))).stored(KEYS)[1].tolist() == [0, 0, 0]
    one = asker(store=store, width=[2])
    known = one.stored(KEYS)
    assert one.width == [2] and known[1].tolist() == [7, 8] and known[2] is None, "another length"
    asked: list[list[int]] = []

    def call(batch, places):
        asked.append(places.tolist())
        return doubled(batch, places)

    found = computed(one, call, known)
    assert asked == [[0, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert found[0].rows.tolist() == [[0, 0], [7, 8], [2, 4], [3, 6]]
    assert [one.batch.number for one in found] == [0, 1, 2] and not found[0].bad
    assert store.rows[9].tolist() == [9, 18] and store.rows[1].tolist() == [7, 8]
    everything = asker(store=store, size=3)
    again = computed(everything, lambda *_: pytest.fail("asked"), everything.stored(KEYS))
    assert again[2].rows.tolist() == [[8, 16], [9, 18]]


def test_rows_with_what_is_no_number_are_not_kept():
    store = Kept()

    def call(batch, places):
        rows = doubled(batch, places).astype(float)
        rows[places == 2, 1] = np.nan
        rows[places == 3, 0] = np.inf
        return rows

    (first, *_) = computed(asker(store=store), call)
    assert sorted(store.rows) == [0, 1, 4, 5, 6, 7, 8, 9] and np.isnan(first.rows[2, 1])


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("can't allocate memory: no")])
def test_a_batch_that_does_not_fit_is_halved_until_it_does(error):
    sizes: list[int] = []
    told: list[dict[str, int]] = []

    def call(batch, places):
        sizes.append(len(places))
        if len(places) > 2:
            raise error
        return doubled(batch, places)

    one = Asker("m", "texts", BatchLimits(8, changed=lambda s: told.append(dict(s))))
    found = computed(one, call, size=8)
    assert sizes == [8, 4, 2, 2, 2, 2, 2] and told == [{"texts": 4}, {"texts": 2}]
    assert np.concatenate([part.rows for part in found])[:, 1].tolist() == list(range(0, 20, 2))
    assert (one.limits.of("texts"), one.limits.of("images")) == (2, 8)
    assert BatchLimits(3, {"texts": 5}).of("texts") == 3
    one.limits.halve("pairs", 1)
    assert one.limits.of("pairs") == 1


class OutOfMemoryError(RuntimeError):
    """As torch calls its own."""


def test_a_batch_of_one_that_does_not_fit_is_the_end():
    def call(batch, places):
        raise OutOfMemoryError("all is used")

    with pytest.raises(ModelFailed, match="m failed on batch 1 of the images: there is not enough"):
        computed(asker(), call)


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        ("images", lambda n: np.ones((n, 2, 2)), r"returned an array of shape \(4, 2, 2\)"),
        ("images", lambda n: np.ones((n + 1, 2)), r"shape \(5, 2\)"),
        ("images", lambda n: np.ones((n, 0)), r"shape \(4, 0\)"),
        ("images", np.ones, r"shape \(4,\)"),
        ("pairs", lambda n: np.ones((n, 1)), r"shape \(4, 1\)"),
        ("pairs", lambda n: np.ones(n - 1), r"shape \(3,\)"),
        ("pairs", lambda n: ["a"] * n, "did not return numbers"),
        ("texts", lambda n: 1 / 0, "ZeroDivisionError: division by zero"),
        ("texts", lambda n: exec("raise RuntimeError('shape')"), "RuntimeError: shape"),
    ],
)
def test_a_model_that_returns_nonsense_is_named_with_its_batch(kind, given, said):
    with pytest.raises(ModelFailed, match=f"m failed on batch 1 of the {kind}: .*{said}") as caught:
        computed(asker(kind), lambda batch, places: given(len(places)))
    wanted = "(4,)" if kind == "pairs" else "(4, d)"
    shaped = "shape" in said and "Error" not in said
    assert caught.value.allowed == (f"an array of shape {wanted}" if shaped else "")


def test_rows_must_be_as_long_as_those_before():
    def call(batch, places):
        return np.ones((len(places), 2 if batch.number < 1 else 3))

    with pytest.raises(ModelFailed, match=r"batch 2 .*shape \(4, 3\)") as caught:
        computed(asker(), call)
    assert "(4, 2)" in caught.value.allowed
    (pairs, *_) = computed(asker("pairs"), lambda batch, places: places)
    assert pairs.rows.tolist() == [[0], [1], [2], [3]] and pairs.rows.dtype == np.float64
    assert computed(asker())[0].rows.dtype == np.float32


@pytest.mark.parametrize("bad", [[0], [1, 2], [0, 1, 2, 3]])
def test_bad_pictures_are_left_out_one_by_one_where_that_is_wished(bad):
    def call(batch, places):
        if set(bad) & set(places.tolist()):
            raise BadImage("torn")
        return doubled(batch, places)

    with pytest.raises(BadImage):
        computed(asker(), call)
    found = computed(asker(skip_bad=True), call)
    assert sorted(found[0].bad) == bad and not found[1].bad
    width = found[0].rows.shape[1]
    assert np.isnan(found[0].rows).all(axis=1).tolist() == [k in bad for k in range(4)]
    assert width == (1 if len(bad) == 4 else 2)
    with pytest.raises(TellapartError, match="as it is"):
        computed(asker(), lambda *_: exec("raise TellapartError('as it is')", globals()))


@dataclass
class Model:
    facts: ModelInfo


INFO = ModelInfo("m")


def test_a_model_is_known_by_its_facts_and_its_code():
    one = model_id(Model(INFO))
    assert len(one) == 16 and one == model_id(Model(INFO))
    assert one != model_id(Model(replace(INFO, name="other")))
    without = type("Elsewhere", (), {"__module__": "no.such.module"})()
    without.facts = INFO
    assert len(model_id(without)) == 16 and model_id(without) != one


def test_unfinished_work_is_kept_only_where_there_is_some(tmp_path):
    with work_on(tmp_path, ["job"]) as work:
        own = work.desk(Model(INFO))
        assert not own.begun and own.smaller() == {}
        own.begin()
        own.note_smaller({"texts": 4})
        assert own.begun and own.smaller() == {"texts": 4} and not work.holds_something()
    assert not (tmp_path / HOME).exists(), "it is done"
    with pytest.raises(KeyboardInterrupt), work_on(tmp_path, ["job"]) as work:
        work.desk(Model(INFO)).begin()
        raise KeyboardInterrupt
    assert not (tmp_path / HOME).exists(), "nothing was computed"
    with pytest.raises(KeyboardInterrupt), work_on(tmp_path, ["job"]) as work:
        journal = work.desk(Model(INFO)).journal("0")
        journal.add({"asked": 1})
        journal.close()
        raise KeyboardInterrupt
    assert work.holds_something() and work.folder == tmp_path / HOME / work.folder.name
    with work_on(tmp_path, ["another"]) as other:
        assert other.folder != work.folder and len(other.folder.name) == 16
    assert work.folder.exists(), "another job's work is not taken away"
    with work_on(tmp_path, ["job"]) as again:
        assert again.folder == work.folder
        assert again.desk(Model(INFO)).journal("0").known == {"asked": 1}
        assert again.desk(Model(INFO)).shelf("0").folder.name == "rows-0"
    assert not (tmp_path / HOME).exists()


def test_work_stays_where_a_run_was_saved_before_the_end(tmp_path):
    (tmp_path / "old" / "m").mkdir(parents=True)
    (tmp_path / "old" / "m" / "run.json").touch()
    for folder, stays in (("", False), ("new", True)):
        with pytest.raises(KeyboardInterrupt), work_on(tmp_path, ["job"]) as work:
            work.desk(Model(INFO)).begin()
            if folder:
                (tmp_path / folder / "m").mkdir(parents=True)
                (tmp_path / folder / "m" / "run.json").touch()
            raise KeyboardInterrupt
        assert work.folder.exists() == stays
    (work.folder.parent / "gone-1").mkdir()
    Work(work.folder).clear()
    assert not (tmp_path / HOME).exists(), "with what an earlier end left behind"


class Clock:
    def __init__(self) -> None:
        self.time = 1_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def live(tmp_path):
    clock = Clock()
    card = RunCard("m", "scorer", "b", "sha", asks=("caption",), threshold=0.5)
    work = ModelWork(tmp_path / HOME / "job" / "model")
    work.begin()
    return LiveNotes(work, ((card, "bench", "0"),), clock), clock, tmp_path


def noted(notes: LiveNotes) -> dict[str, Any]:
    return read_json(notes.work.folder / NAME)


def test_steps_are_noted_at_times_and_at_the_end_of_a_phase(live):
    notes, clock, _ = live
    seen: list[tuple[str, int, int]] = []
    progress = notes.watch(lambda *told: seen.append(told))
    clock.time += 1
    progress("texts", 2, 10)
    first = noted(notes)
    assert (first["started"], first["phase_started"], first["updated"]) == (1_000, 1_001, 1_001)
    assert (first["phase"], first["done"], first["total"], first["first"]) == ("texts", 2, 10, 2)
    assert first["pid"] == os.getpid() and first["tasks"][0]["threshold"] == 0.5
    clock.time += NOTE_SECONDS - 0.01
    progress("texts", 3, 10)
    assert noted(notes)["done"] == 2, "too soon"
    clock.time += 0.01
    progress("texts", 4, 10)
    assert (noted(notes)["done"], noted(notes)["phase_started"]) == (4, 1_001)
    progress("texts", 10, 10)
    assert noted(notes)["done"] == 10, "the end is always noted"
    progress("images", 0, 5)
    assert (noted(notes)["phase"], noted(notes)["first"]) == ("images", 0)
    assert [one[1] for one in seen] == [2, 3, 4, 10, 0]


def test_what_viewers_miss_does_not_stop_the_job(live, monkeypatch):
    notes = live[0]
    for error in (OSError("no"), DiskFull(Path("x"))):

        def fails(*_: Any, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr("tellapart.score.live.write_json", fails)
        monkeypatch.setattr("tellapart.score.live.write_parquet", fails)
        notes.watch(lambda *_: None)("texts", 1, 2)
        notes.so_far([lambda: cells(2)], lambda: np.ones(2))
    assert not list(notes.work.folder.glob("cells*")) and NOTE_SECONDS == 0.5 < CELL_SECONDS == 3


def cells(number: int, item: str = "test:x") -> pl.DataFrame:
    return pl.DataFrame({"item": [item] * number, "image": [0] * number,
                         "caption": range(number), "edit": [""] * number})  # fmt: skip


def test_cells_known_by_now_are_written_from_time_to_time(live):
    notes, clock, _ = live
    scores = np.array([1.0, np.nan, 3.0, 4.0, np.inf])
    notes.so_far([lambda: cells(2), lambda: cells(3)], lambda: scores)
    kept = [pl.read_parquet(notes.work.folder / f"cells-{k}.parquet") for k in (0, 1)]
    assert [one["score"].to_list() for one in kept] == [[1.0], [3.0, 4.0]]
    clock.time += CELL_SECONDS - 0.01
    notes.so_far([lambda: cells(2)], lambda: pytest.fail("too soon"))
    clock.time += 0.01
    notes.so_far([lambda: cells(2)], lambda: np.zeros(2))
    assert pl.read_parquet(notes.work.folder / "cells-0.parquet").height == 2


def test_a_job_tells_how_long_it_takes_and_what_it_has(live):
    notes, clock, folder = live
    progress = notes.watch(lambda *_: None)
    progress("cells", 10, 50)
    (job,) = live_jobs(folder)
    assert job.seconds_left is None, "no step yet"
    clock.time += 8
    progress("cells", 14, 50)
    (job,) = live_jobs(folder)
    assert (job.phase, job.done, job.total, job.first) == ("cells", 14, 50, 10)
    assert job.seconds_left == 8 / 4 * 36
    assert replace(job, done=50).seconds_left is None
    assert replace(job, done=11).seconds_left == 8 * 39
    task = job.tasks[0]
    assert (task.model, task.benchmark, task.asks, task.part) == ("m", "b", ("caption",), "0")

    items = [grid_item("x", 1, 2, {(0, 0)}), grid_item("y", 1, 2, {(0, 0)})]
    bench = benchmark_of(items)
    assert job.run(0, bench) is None
    both = pl.concat([cells(2), cells(1, "test:y")])
    notes.so_far([lambda: both], lambda: np.array([1.0, 2.0, 3.0]))
    run = job.run(0, bench)
    assert run.scores["item"].to_list() == ["test:x"] * 2, "half a grid is no answer"
    assert run.card.scored_cells and run.card.threshold == 0.5
    notes.so_far([lambda: both], lambda: np.array([]))  # too soon, so it is not asked
    chooser = replace(job, tasks=(replace(task, kind="chooser"),))
    assert chooser.run(0, bench) is None
    journal = notes.work.journal("0")
    journal.add({"test:x caption@0 1 1,0": [0, "B"], "test:y caption@0 0 0,1": [1, "B"]})
    journal.close()
    rows = chooser.run(0, bench).answers.sort("item")
    assert rows["choice"].to_list() == [1, 1] and rows["trial"].to_list() == [1, 0]
    assert (
        rows["order"].to_list() == [[1, 0], [0, 1]] and not chooser.run(0, bench).card.scored_cells
    )


def test_a_silent_job_without_its_process_is_over(live, monkeypatch):
    notes, clock, folder = live
    clock.time = time.time() - 119
    notes.watch(lambda *_: None)("texts", 1, 2)
    path = notes.work.folder / NAME
    facts = read_json(path)
    gone = 2**22 + 1  # more than any process has
    path.write_text(json.dumps({**facts, "pid": gone}))
    assert len(live_jobs(folder)) == 1, "not silent for long"
    path.write_text(json.dumps({**facts, "pid": gone, "updated": time.time() - 121}))
    assert live_jobs(folder) == []
    path.write_text(json.dumps({**facts, "updated": time.time() - 121}))
    assert len(live_jobs(folder)) == 1, "silent, but there"
    for broken in ("{", "[]", json.dumps({**facts, "tasks": 1}), json.dumps({"updated": 1})):
        path.write_text(broken)
        assert live_jobs(folder) == []

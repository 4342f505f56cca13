"""A run in progress: its state and its answers so far, for viewers.

While a model is evaluated, its part of the unfinished work (`job.py`) holds `live.json`: the model,
the benchmarks, the phase with its steps and times. Answers of choosers are read from their journal;
cells of scorers from `cells-K.parquet`, which is rewritten from time to time. All of it is removed
with the unfinished work when the run is complete.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import TellapartError
from tellapart.files import read_json, write_json, write_parquet
from tellapart.models.model import ModelKind
from tellapart.score.job import HOME, ModelWork
from tellapart.score.run import SCORE_COLUMNS, Run, RunCard, answers_frame, scores_frame
from tellapart.store.records import Journal
from tellapart.types import Progress

NAME = "live.json"
NOTE_SECONDS, CELL_SECONDS = 0.5, 3.0
"""The shortest intervals, in seconds, between records of steps and of cells."""
SILENT_SECONDS = 120.0
"""A job silent for this many seconds whose process is gone is no longer running."""


@dataclass(slots=True)
class LiveNotes:
    """Records a job's progress in its work folder; disk errors do not stop the job."""

    work: ModelWork
    cards: tuple[tuple[RunCard, str, str], ...]
    """For each benchmark: the run's card, the benchmark's folder and the part of the work."""
    now: Callable[[], float] = time.time
    _facts: dict[str, Any] = field(default_factory=dict)
    _noted: float = 0.0
    _cells: float = 0.0

    def watch(self, progress: Progress) -> Progress:
        """Progress that is also recorded."""
        started = self.now()

        def noted(phase: str, done: int, total: int) -> None:
            progress(phase, done, total)
            now = self.now()
            if self._facts.get("phase") != phase:
                self._facts = {"phase": phase, "phase_started": now, "first": done}
            elif now - self._noted < NOTE_SECONDS and done < total:
                return
            self._noted = now
            steps = {"done": done, "total": total, "updated": now}
            self._write({"pid": os.getpid(), "started": started, **self._facts, **steps})

        return noted

    def so_far(
        self,
        tables: Sequence[Callable[[], pl.DataFrame]],
        known_by_now: Callable[[], npt.NDArray[np.floating]],
    ) -> None:
        """Record the cells scored so far; `tables` return the cells of each benchmark."""
        if self.now() - self._cells < CELL_SECONDS:
            return
        scores = known_by_now()
        begin = 0
        for number, table in enumerate(tables):
            cells = table()
            own = scores[begin : begin + cells.height]
            begin += cells.height
            known = cells.with_columns(score=pl.Series(own, dtype=pl.Float64)).filter(
                pl.Series(np.isfinite(own))
            )
            try:
                write_parquet(self.work.folder / f"cells-{number}.parquet", known)
            except (OSError, TellapartError):
                return
        self._cells = self.now()

    def _write(self, facts: dict[str, Any]) -> None:
        tasks = [
            {
                "model": card.model, "kind": card.kind, "benchmark": card.benchmark,
                "benchmark_sha256": card.benchmark_sha256, "asks": list(card.asks),
                "threshold": card.threshold, "folder": folder, "part": part,
            }
            for card, folder, part in self.cards
        ]  # fmt: skip
        with suppress(OSError, TellapartError):  # viewers see less, but the run continues
            write_json(self.work.folder / NAME, {**facts, "tasks": tasks})


@dataclass(frozen=True, slots=True)
class LiveTask:
    """One benchmark of a job."""

    model: str
    kind: ModelKind
    benchmark: str
    benchmark_sha256: str
    asks: tuple[str, ...]
    threshold: float | None
    folder: Path
    part: str


@dataclass(frozen=True, slots=True)
class LiveJob:
    """A model that is being evaluated; times are seconds since 1970."""

    work: Path
    phase: str
    done: int
    total: int
    updated: float
    phase_started: float
    first: int
    tasks: tuple[LiveTask, ...]

    @property
    def seconds_left(self) -> float | None:
        """Seconds left in the current phase, at the pace so far."""
        steps = self.done - self.first
        if steps < 1 or self.done >= self.total:
            return None
        return (self.updated - self.phase_started) / steps * (self.total - self.done)

    def run(self, number: int, benchmark: Benchmark) -> Run | None:
        """One benchmark's run so far; None if it has nothing yet."""
        task = self.tasks[number]
        card = RunCard(
            task.model, task.kind, task.benchmark, task.benchmark_sha256, asks=task.asks,
            threshold=task.threshold, scored_cells=task.kind == "scorer",
        )  # fmt: skip
        empty = Run(card, benchmark, scores_frame([]), answers_frame([]))
        if task.kind == "chooser":
            rows = list(_answer_rows(Journal(self.work / f"answers-{task.part}").known))
            return replace(empty, answers=answers_frame(rows)) if rows else None
        path = self.work / f"cells-{number}.parquet"
        if not path.exists():
            return None
        cells = pl.read_parquet(path).select(pl.col(n).cast(t) for n, t in SCORE_COLUMNS.items())
        whole = _whole_items(cells, benchmark)
        return replace(empty, scores=whole) if whole.height else None


def _answer_rows(known: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Rows of answers from a journal's contents (see `chooser.py`)."""
    for key, (shown, text) in known.items():
        item, question, trial, order = key.rsplit(" ", 3)
        places = [int(place) for place in order.split(",")]
        yield item, question, int(trial), places, places[shown], "answered", text


def _whole_items(cells: pl.DataFrame, benchmark: Benchmark) -> pl.DataFrame:
    """The cells of items with complete grids: half a grid is neither an answer nor a failure."""
    images, captions = benchmark.items.shape
    size = pl.DataFrame({"item": benchmark.items.ids, "size": images * captions})
    plain = cells.filter(pl.col("edit") == "").group_by("item").len("known")
    whole = plain.join(size, on="item").filter(pl.col("known") == pl.col("size"))
    return cells.join(whole.select("item"), on="item", how="semi", maintain_order="left")


def live_jobs(folder: Path) -> list[LiveJob]:
    """The running jobs that write their runs into a folder."""
    found = []
    for path in sorted((folder / HOME).glob(f"*/*/{NAME}")):
        try:
            job = _read(path)
        except (TellapartError, KeyError, TypeError, ValueError, OSError):
            continue  # it ended while we read it
        if job is not None:
            found.append(job)
    return found


def _read(path: Path) -> LiveJob | None:
    data = read_json(path)
    if time.time() - data["updated"] > SILENT_SECONDS and not _alive(data["pid"]):
        return None
    tasks = tuple(
        LiveTask(
            one["model"], one["kind"], one["benchmark"], one["benchmark_sha256"],
            tuple(one["asks"]), one["threshold"], Path(one["folder"]), one["part"],
        )
        for one in data["tasks"]
    )  # fmt: skip
    return LiveJob(
        work=path.parent, phase=data["phase"], done=data["done"], total=data["total"],
        updated=data["updated"], phase_started=data["phase_started"], first=data["first"],
        tasks=tasks,
    )  # fmt: skip


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError):
        return False
    return True

"""A run: one model's answers on one benchmark, as a folder.

`run.json` has the model, the benchmark and the failures; `scores.parquet` holds the cells of
scorers (item, image, caption, edit, score), `answers.parquet` the answers of choosers (item,
question, trial, order, choice, status, reply); `timings.json` is not part of any hash.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tellapart.addresses import from_here, from_there
from tellapart.benchmark.benchmark import Benchmark, load_benchmark
from tellapart.errors import BadInput, DiskFull
from tellapart.files import (
    is_free,
    read_json,
    read_table,
    require_columns,
    whole_folder,
    write_json,
    write_parquet,
)
from tellapart.models.model import ModelKind
from tellapart.parquet import typed
from tellapart.remote import promise, send
from tellapart.types import Bools

SCHEMA = "tellapart-run-1"
REPLY_MARK = " | "
"""Separates the reason of a failure from the chooser's reply in the column `reply`."""
SCORE_COLUMNS: dict[str, Any] = {
    "item": pl.String, "image": pl.Int32, "caption": pl.Int32, "edit": pl.String,
    "score": pl.Float64,
}  # fmt: skip
ANSWER_COLUMNS: dict[str, Any] = {
    "item": pl.String, "question": pl.String, "trial": pl.Int32, "order": pl.List(pl.Int32),
    "choice": pl.Int32, "status": pl.String, "reply": pl.String,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Failure:
    """A cell or question that a model could not answer; `part` is (0,1,edit) or a question."""

    item: str
    part: str
    reason: str


@dataclass(frozen=True, slots=True)
class RunCard:
    """The metadata of a run.

    `scored_cells` means that the answers follow from scores of cells, even if only the answers are
    known; the chance level of joint measures depends on it. `notes` come from the engine:
    `smaller_batches` if memory ran out, `below_precision` for the number of items decided by less
    than the spacing of the model's dtype. `threshold` is the model's own: a score above it says
    that the caption is true. `ways` are the FOIL tasks that the model answers by a procedure of
    its own (`score/ways.py`).
    """

    model: str
    kind: ModelKind
    benchmark: str
    benchmark_sha256: str
    options: Mapping[str, Any] = field(default_factory=dict)
    made_by: str = "evaluate"
    weights: str = ""
    preprocessing: str = ""
    dtype: str = ""
    threshold: float | None = None
    ways: tuple[str, ...] = ()
    seed: int = 0
    asks: tuple[str, ...] = ()
    scored_cells: bool = False
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)


DETAIL = re.compile(r" \([^()]*\)$")
IMAGE = re.compile(r"\bimage \S+")
"""Details that differ between failures of one kind: final brackets, and names of images."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How much was asked and how much failed: cells of a scorer, questions of a chooser.

    `reasons` are the kinds of failure with their counts, most frequent first.
    """

    unit: str
    asked: int
    failed: int
    reasons: tuple[tuple[str, int], ...] = ()

    @property
    def mostly_failed(self) -> bool:
        """Whether more than half failed, so that the run says nothing about the model."""
        return 2 * self.failed > self.asked

    def to_json(self) -> dict[str, Any]:
        """For the run's card."""
        return {**asdict(self), "reasons": dict(self.reasons)}

    def __str__(self) -> str:
        if not self.failed:
            return "no failures"
        (reason, times), *others = self.reasons
        most = f"most often ({times:,} times): {reason}" if others else reason
        return f"{self.failed:,} of {self.asked:,} {self.unit} failed: {most}"


def sort_of_failure(reason: str) -> str:
    """A failure's reason without the details that differ each time.

    >>> sort_of_failure("the file of image 42 is missing")
    'the file of an image is missing'
    >>> sort_of_failure("ConnectError: refused (after 6 attempts)")
    'ConnectError: refused'
    """
    return IMAGE.sub("an image", DETAIL.sub("", reason))


@dataclass(frozen=True, eq=False)
class Run:
    """A model's answers to a benchmark, or to a part of it."""

    card: RunCard
    benchmark: Benchmark
    scores: pl.DataFrame
    answers: pl.DataFrame
    failures: tuple[Failure, ...] = ()
    folder: Path | None = None

    @property
    def model(self) -> str:
        """The full model string."""
        return self.card.model

    @cached_property
    def covered_rows(self) -> Bools:
        """Which of the benchmark's items the run covers; a failure counts as covered."""
        covered = np.zeros(len(self.benchmark.items), bool)
        failed = pl.Series("item", [failure.item for failure in self.failures], pl.String)
        # Runs can be written by hand, so a failure may name an item the benchmark does not have.
        failed = failed.filter(failed.is_in(self.benchmark.items.ids.implode()))
        for ids in (self.scores["item"], self.answers["item"], failed):
            covered[self.benchmark.items.places_of(ids)] = True
        return covered

    @cached_property
    def covered(self) -> frozenset[str]:
        """The ids of the items that the run covers."""
        return frozenset(self.benchmark.items.ids.filter(pl.Series(self.covered_rows)))

    @property
    def size(self) -> int:
        """How many items the run covers."""
        return int(self.covered_rows.sum())

    @cached_property
    def tally(self) -> Tally:
        """How much was asked, how much failed, and why."""
        chooser = self.card.kind == "chooser"
        failed = self.answers.filter(pl.col("status") == "failed")["reply"]
        reasons = [(text or "no answer").partition(REPLY_MARK)[0] for text in failed]
        reasons += [failure.reason for failure in self.failures]
        asked = self.answers.height if chooser else self.scores.height
        sorts = Counter(sort_of_failure(reason) for reason in reasons)
        return Tally(
            "questions" if chooser else "scores",
            asked + len(self.failures),
            len(reasons),
            tuple(sorted(sorts.items(), key=lambda pair: (-pair[1], pair[0]))),
        )

    def __str__(self) -> str:
        return f"{self.model} on {self.benchmark.name}: {self.size:,} items"

    def __repr__(self) -> str:
        return f"<Run {self}>"

    def _repr_html_(self) -> str:
        table = self.scores if self.scores.height else self.answers
        return f"<p>{escape(str(self))}</p>{table._repr_html_()}"


def scores_frame(rows: list[tuple[str, int, int, str, float]]) -> pl.DataFrame:
    """Rows as the table of scores."""
    return pl.DataFrame(rows, schema=SCORE_COLUMNS, orient="row")


def answers_frame(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    """Rows as the table of answers."""
    return pl.DataFrame(rows, schema=ANSWER_COLUMNS, orient="row")


def save_run(
    run: Run,
    out: Path,
    *,
    timings: Mapping[str, float] | None = None,
    overwrite: bool = False,
    staging: Path | None = None,
) -> Run:
    """Write a run, whole or not at all.

    `staging` is a folder on the same disk in which the run is assembled, so that a killed process
    leaves its remains there and not beside the run.
    """
    with _staged(out, overwrite, staging) as partial:
        if run.scores.height:
            write_parquet(partial / "scores.parquet", run.scores)
        if run.answers.height:
            write_parquet(partial / "answers.parquet", run.answers)
        where = from_here(run.benchmark.root.resolve(), out.resolve())
        card = {
            "schema": SCHEMA,
            **asdict(run.card),
            "benchmark_folder": where,
            "items": run.size,
            "tally": run.tally.to_json(),
            "failures": [asdict(failure) for failure in run.failures],
        }
        write_json(partial / "run.json", card)
        if timings is not None:
            write_json(partial / "timings.json", dict(timings))
    return replace(run, folder=out)


@contextmanager
def _staged(out: Path, overwrite: bool, staging: Path | None) -> Iterator[Path]:
    if staging is None:
        with whole_folder(out, overwrite=overwrite) as partial:
            yield partial
        return
    place = Path(tempfile.mkdtemp(dir=staging))
    try:
        with whole_folder(place / "new") as partial:
            yield partial
    except DiskFull:
        raise DiskFull(out) from None  # the path of the staging folder would mean nothing to users
    if out.exists() and (overwrite or is_free(out)):
        out.rename(place / "old")
    out.parent.mkdir(parents=True, exist_ok=True)
    promise(out)
    (place / "new").rename(out)
    shutil.rmtree(place, ignore_errors=True)
    send(out)


def spent_on(run: Run) -> dict[str, float]:
    """Seconds, items, and the usage of a model behind a server, as far as recorded."""
    path = run.folder / "timings.json" if run.folder else None
    return dict(read_json(path)) if path and path.exists() else {}


def load_run(folder: Path | str, benchmark: Benchmark | None = None) -> Run:
    """Read a run; its benchmark is read from the path in the card, unless one is given."""
    folder = Path(folder)
    if not (folder / "run.json").exists():
        raise BadInput(
            f"{folder} is not a run",
            allowed="a folder with a run.json",
            todo="make one with: tellapart evaluate MODEL --on BENCH --out RUNS",
        )
    data = read_json(folder / "run.json")
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise BadInput(
            f"{folder / 'run.json'} has an unknown schema version", allowed=f"schema {SCHEMA}"
        )
    benchmark = benchmark or load_benchmark(from_there(data["benchmark_folder"], folder))
    fields = {name: data[name] for name in RunCard.__dataclass_fields__ if name in data}
    lists = {name: tuple(data.get(name, ())) for name in ("asks", "ways")}
    card = RunCard(**{**fields, **lists})
    _check_version(card, benchmark, folder)
    failures = tuple(Failure(**row) for row in data.get("failures", ()))
    return Run(
        card,
        benchmark,
        _table(folder / "scores.parquet", SCORE_COLUMNS),
        _table(folder / "answers.parquet", ANSWER_COLUMNS),
        failures,
        folder,
    )


def _table(path: Path, columns: dict[str, Any]) -> pl.DataFrame:
    if not path.exists():
        return pl.DataFrame(schema=columns)
    table = read_table(path)
    require_columns(table, list(columns), path)
    return typed(table, columns, path)


def _check_version(card: RunCard, benchmark: Benchmark, folder: Path) -> None:
    if card.benchmark_sha256 != benchmark.sha256:
        raise BadInput(
            f"the run {folder} belongs to another version of {card.benchmark}",
            where=f"run: items {card.benchmark_sha256[:12]}..., "
            f"benchmark in {benchmark.root}: items {benchmark.sha256[:12]}...",
            allowed="a run and a benchmark with the same items",
            todo="evaluate the model on this version, or give the run's own version with --on",
        )


def is_run_of(folder: Path, benchmark: Benchmark) -> bool:
    """Whether a run was made with this benchmark, at this path and in this version."""
    data = read_json(folder / "run.json")
    where = from_there(str(data.get("benchmark_folder")), folder).resolve()
    return where == benchmark.root.resolve() and data.get("benchmark_sha256") == benchmark.sha256


def find_runs(paths: list[Path | str]) -> list[Path]:
    """The runs at the given paths, and all runs below those that are folders."""
    found: list[Path] = []
    for path in map(Path, paths):
        if (path / "run.json").exists():
            found.append(path)
            continue
        below = sorted(p.parent for p in path.glob("**/run.json") if not _hidden(p, path))
        if not below:
            raise BadInput(
                f"{path} has no run" if path.exists() else f"{path} does not exist",
                allowed="a folder with a run.json, or a folder of such folders",
                todo="make one with: tellapart evaluate MODEL --on BENCH --out RUNS",
            )
        found += below
    return list(dict.fromkeys(found))


def _hidden(path: Path, root: Path) -> bool:
    """Whether a path is inside a folder of unfinished work."""
    return any(part.startswith(".") for part in path.relative_to(root).parts)

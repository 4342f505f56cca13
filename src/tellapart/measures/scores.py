"""Scores: estimates of runs by measure and kind, as a table that prints itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tellapart.benchmark.benchmark import load_benchmark
from tellapart.measures.estimate import Estimate, estimates, measures_of
from tellapart.measures.ties import check_rule
from tellapart.score.run import Run, find_runs, is_run_of, load_run
from tellapart.stats.intervals import RESAMPLES
from tellapart.text.table_text import aligned


@dataclass(frozen=True, slots=True)
class Scores:
    """Estimates, in the order benchmark, measure, kind, model."""

    rows: tuple[Estimate, ...]

    def to_frame(self) -> pl.DataFrame:
        """One row an estimate."""
        return pl.DataFrame([asdict(row) for row in self.rows])

    def to_json(self) -> list[dict[str, Any]]:
        """For `--json`."""
        return [asdict(row) for row in self.rows]

    def only(self, **wanted: str) -> Scores:
        """The rows with the given fields.

        For example `scores.only(model="chance?seed=0", kind="micro")`.
        """
        return Scores(
            tuple(r for r in self.rows if all(getattr(r, k) == v for k, v in wanted.items()))
        )

    def value(self, **wanted: str) -> float:
        """The value of the one row with the given fields."""
        (row,) = self.only(**wanted).rows
        return row.value

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, guesses: Mapping[tuple[str, str, str], str] | None = None) -> str:
        """A table; `guesses` adds a column by (benchmark, measure, kind)."""
        heads = ("benchmark", "measure", "kind", "model", "score", "95% interval", "chance",
                 "ties", "failed", "n")  # fmt: skip
        lines = [heads, *(_cells(row) for row in self.rows)]
        if guesses is not None:
            told = (guesses.get((r.benchmark, r.measure, r.kind), "") for r in self.rows)
            column = ["guessable without looking", *told]
            lines = [(*line, cell) for line, cell in zip(lines, column, strict=True)]
        return aligned(lines, (*range(4), len(heads)))


def _cells(row: Estimate) -> tuple[str, ...]:
    return (
        row.benchmark,
        row.measure,
        row.kind,
        row.model,
        f"{100 * row.value:.2f}",
        f"{100 * row.low:.1f} - {100 * row.high:.1f}",
        f"{100 * row.chance:.2f}",
        f"{row.ties:,}",
        f"{row.failed:,}",
        f"{row.n:,}",
    )


def measure_runs(
    runs: Iterable[Run],
    *,
    measures: Sequence[str] | None = None,
    ties: str = "wrong",
    by_kind: bool = True,
    resamples: int = RESAMPLES,
) -> Scores:
    """Measure runs, by the measures named or by each benchmark's own."""
    rule = check_rule(ties)
    found: list[Estimate] = []
    for run in runs:
        for one in measures_of(run, measures):
            found += estimates(run, one, rule, by_kind=by_kind, resamples=resamples)
    return Scores(tuple(_ordered(found)))


def read_runs(
    runs: Run | Path | str | Sequence[Run | Path | str], on: Path | str | None = None
) -> list[Run]:
    """Runs, from runs or paths; `on` names the benchmark where it is not where it was."""
    given = runs if isinstance(runs, Sequence) and not isinstance(runs, str) else [runs]
    known = load_benchmark(on) if on is not None else None
    ready = [one for one in given if isinstance(one, Run)]
    paths = [one for one in given if not isinstance(one, Run)]
    read: list[Run] = []
    for path in find_runs(paths) if paths else []:
        # Runs of one benchmark share it: it is read once.
        where = known or next((r.benchmark for r in read if is_run_of(path, r.benchmark)), None)
        read.append(load_run(path, where))
    return ready + read


def _ordered(found: Iterable[Estimate]) -> list[Estimate]:
    """Models side by side: within a benchmark by measure, then kind, as they came."""
    rows = list(found)
    places = {
        name: {value: k for k, value in enumerate(dict.fromkeys(getattr(r, name) for r in rows))}
        for name in ("benchmark", "measure", "kind", "model")
    }
    return sorted(rows, key=lambda r: tuple(places[name][getattr(r, name)] for name in places))

"""The verb `study export`: everything that comes out of a study, as values and as files."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tellapart.annotate.exporting import judgements
from tellapart.annotate.opening import OpenStudy
from tellapart.annotate.outcomes.agreement import COHEN, AgreementRow, agreements
from tellapart.annotate.outcomes.baseline import human_run
from tellapart.annotate.outcomes.figures import Figure, figures
from tellapart.annotate.outcomes.funnel import Step, funnel
from tellapart.annotate.outcomes.gathering import Gathered, gather
from tellapart.annotate.outcomes.verified import verified
from tellapart.benchmark.benchmark import save_benchmark
from tellapart.errors import BadInput
from tellapart.score.run import save_run
from tellapart.tables import whole_folder, write_json, write_parquet
from tellapart.text.table_text import aligned


@dataclass(frozen=True, slots=True)
class StudyResults:
    """What people said, put together; `left_out` says what could not be made, and why."""

    name: str
    funnel: tuple[Step, ...]
    figures: tuple[Figure, ...]
    agreement: tuple[AgreementRow, ...]
    left_out: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For `--json` and results.json."""
        return {
            "study": self.name,
            "funnel": [asdict(step) for step in self.funnel],
            "figures": [asdict(figure) for figure in self.figures],
            "agreement": [asdict(row) for row in self.agreement],
            "left_out": list(self.left_out),
        }

    def __str__(self) -> str:
        parts = [_funnel_table(self.funnel)]
        if self.figures:
            parts.append(_figure_table(self.figures))
        shown = [row for row in self.agreement if row.measure != COHEN]
        if len(self.agreement) - len(shown) <= MOST_SHOWN:
            shown = list(self.agreement)
        if shown:
            parts.append(_agreement_table(shown))
        return "\n\n".join([*parts, *(f"left out: {why}" for why in self.left_out)])


MOST_SHOWN = 10
"""More pairs of people than this are left to the files."""


def results_of(gathered: Gathered, left_out: tuple[str, ...] = ()) -> StudyResults:
    """Figures, agreement and funnel."""
    seed = gathered.plan.seed
    return StudyResults(
        gathered.plan.name,
        tuple(funnel(gathered)),
        tuple(figures(gathered, seed)),
        tuple(agreements(gathered, seed)),
        left_out,
    )


def export_study(study: OpenStudy, out: Path, *, overwrite: bool = False) -> StudyResults:
    """Write a folder: judgements.parquet, results.json, benchmark/, verified/ and people/.

    `people/` is a run on `benchmark/` like any model's; `people-majority/` is there where an item
    has several judgements. What the questions asked do not allow is left out, and said.
    """

    def job(conn: Any) -> tuple[pl.DataFrame, Gathered]:
        return judgements(conn, study), gather(conn, study)

    table, gathered = study.database.read(job).result()
    left_out: list[str] = []
    with whole_folder(out, overwrite=overwrite) as partial:
        write_parquet(partial / "judgements.parquet", table)
        benchmark = save_benchmark(gathered.benchmark, partial / "benchmark")
        several = any(len(task.said) > 1 for task in gathered.tasks)
        for name, majority in (("people", False), ("people-majority", True)):
            if majority and not several:
                continue
            try:
                save_run(human_run(gathered, benchmark, majority=majority), partial / name)
            except BadInput as reason:
                left_out.append(f"{name}/: {reason.what}")
        try:
            verified(gathered, partial / "verified")
        except BadInput as reason:
            left_out.append(f"verified/: {reason.what}")
        found = results_of(gathered, tuple(left_out))
        write_json(partial / "results.json", found.to_json())
    return found


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _funnel_table(steps: tuple[Step, ...]) -> str:
    heads = ("stage", "question", "items", "decided", "kept", "dropped", "judgements")
    rows: list[tuple[str, ...]] = [heads]
    for s in steps:
        numbers = (s.came, s.decided, s.kept, s.dropped, s.judgements)
        rows.append((s.stage, s.ask, *(f"{number:,}" for number in numbers)))
    return aligned(rows, {0, 1})


def _figure_table(figures: tuple[Figure, ...]) -> str:
    rows = [("stage", "of", "right", "%", "95% interval", "n")]
    for one in figures:
        interval = f"{_percent(one.low)} - {_percent(one.high)}"
        rows.append((one.stage, one.about, one.how, _percent(one.value), interval, f"{one.n:,}"))
    return aligned(rows, {0, 1, 2})


def _agreement_table(rows: list[AgreementRow]) -> str:
    lines = [("stage", "the same", "agreement", "people", "value", "95% interval", "items")]
    for row in rows:
        interval = f"{row.low:.3f} - {row.high:.3f}"
        lines.append(
            (row.stage, row.about, row.measure, row.people, f"{row.value:.3f}", interval,
             f"{row.items:,}")
        )  # fmt: skip
    return aligned(lines, {0, 1, 2, 3})

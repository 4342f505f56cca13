"""A study's results: tasks with their judgements, the funnel, scores and agreement.

Shekhar et al. 2017 (FOIL, section 4.1) report majority and unanimity; Ding et al. 2016 (MCIC,
section 4) also report at least one of three.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.stats.intervals import mean_interval
from tellapart.study.agreement import COHEN, AgreementRow, agreement_rows
from tellapart.study.plan import StudyPlan
from tellapart.study.questions.question import JudgedTask, Judgement, Matter
from tellapart.study.ratings import MeanRating, MissedTask, mean_rating, missed_by_all
from tellapart.study.store import schema as t
from tellapart.study.study import OpenStudy
from tellapart.text.table_text import aligned, percent
from tellapart.types import Ints

MOST_SHOWN = 10
"""If there are more pairs of people than this, only the files list them."""


@dataclass(frozen=True, eq=False)
class StudyRecord:
    """All tasks about items, without void tasks and without judgements of excluded people."""

    plan: StudyPlan
    benchmark: Benchmark
    tasks: tuple[JudgedTask, ...]

    def of_stage(self, name: str) -> list[JudgedTask]:
        """The tasks of a stage."""
        return [task for task in self.tasks if task.stage == name]

    @cached_property
    def by_id(self) -> dict[int, JudgedTask]:
        """Tasks by number, to find the task that another followed from."""
        return {task.id: task for task in self.tasks}

    def clusters(self, tasks: list[JudgedTask]) -> Ints:
        """The cluster of each task: tasks whose items share images are resampled together."""
        items = self.benchmark.by_id
        groups = [items[task.matter.item].group for task in tasks]
        return np.unique(groups, return_inverse=True)[1]


def read_record(conn: Connection, study: OpenStudy) -> StudyRecord:
    """Read all judgements so far; every result of a study starts here."""
    judgements = _judgements(conn, study)
    rows = conn.execute(
        select(t.task, t.stage.c.name.label("stage"), t.stage.c.ask)
        .join(t.stage, t.stage.c.id == t.task.c.stage_id)
        .where(
            t.stage.c.study_id == study.plan.id, t.task.c.role == "item", t.task.c.state != "void"
        )
        .order_by(t.stage.c.place, t.task.c.key)
    )
    tasks = tuple(
        JudgedTask(
            row.id, row.parent_id, row.stage, row.ask, Matter.from_json(json.loads(row.matter)),
            row.state, row.kept, row.chosen, tuple(judgements.get(row.id, ())),
        )
        for row in rows
    )  # fmt: skip
    return StudyRecord(study.plan, study.content.items, tasks)


def _judgements(conn: Connection, study: OpenStudy) -> dict[int, list[Judgement]]:
    j, a = t.judgement.c, t.assignment.c
    rows = conn.execute(
        select(j.task_id, t.person.c.code, j.choice, j.word, a.drawn)
        .join(t.assignment, a.id == j.assignment_id)
        .join(t.person, t.person.c.id == j.person_id)
        .where(t.person.c.study_id == study.plan.id, j.void.is_(False))
        .order_by(j.answered_at, j.assignment_id)
    )
    by_task: dict[int, list[Judgement]] = defaultdict(list)
    for row in rows:
        order = tuple(json.loads(row.drawn))
        by_task[row.task_id].append(Judgement(row.code, row.choice, row.word, order))
    return by_task


@dataclass(frozen=True, slots=True)
class FunnelStep:
    """A stage: its tasks, those decided, kept and dropped, and its judgements."""

    stage: str
    ask: str
    came: int
    decided: int
    kept: int
    dropped: int
    judgements: int


def funnel(record: StudyRecord) -> list[FunnelStep]:
    """The stages in order; what one stage kept goes to the next."""
    steps = []
    for stage in record.plan.stages:
        tasks = record.of_stage(stage.name)
        decided = [task for task in tasks if task.state == "closed"]
        kept = sum(bool(task.kept) for task in decided)
        counts = (len(tasks), len(decided), kept, len(decided) - kept)
        judgements = sum(len(task.judgements) for task in tasks)
        steps.append(FunnelStep(stage.name, stage.ask, *counts, judgements))
    return steps


@dataclass(frozen=True, slots=True)
class StudyFigure:
    """A share of tasks (or of single answers) with its 95% interval."""

    stage: str
    about: str
    how: str
    value: float
    low: float
    high: float
    n: int


def figures(record: StudyRecord, seed: int = 0) -> list[StudyFigure]:
    """All scores of all stages, as defined by their questions."""
    every = []
    for stage in record.plan.stages:
        tasks = [t for t in record.of_stage(stage.name) if t.state == "closed" and t.judgements]
        for share in stage.question.figures(tasks):
            if not share.rows:
                continue
            name = (stage.name, share.about, share.how)
            values = np.array([right for _, right in share.rows], float)
            clusters = record.clusters([task for task, _ in share.rows])
            interval = mean_interval(values, clusters, seeds.rng(seed, "figures", *name))
            mean = float(values.mean())
            every.append(StudyFigure(*name, mean, interval.low, interval.high, len(values)))
    return every


def agreements(record: StudyRecord, seed: int = 0) -> list[AgreementRow]:
    """All agreement coefficients that are defined, stage by stage."""
    rows: list[AgreementRow] = []
    for stage in record.plan.stages:
        tasks = [task for task in record.of_stage(stage.name) if len(task.judgements) > 1]
        if tasks:
            clusters = record.clusters(tasks)
            rows += agreement_rows(stage.name, stage.question, tasks, clusters, seed)
    return rows


@dataclass(frozen=True, slots=True)
class StudyResults:
    """The results of a study; `left_out` says what could not be computed, and why."""

    name: str
    funnel: tuple[FunnelStep, ...]
    figures: tuple[StudyFigure, ...]
    agreement: tuple[AgreementRow, ...]
    left_out: tuple[str, ...] = ()
    ratings: tuple[MeanRating, ...] = ()
    missed_by_all: tuple[MissedTask, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For `--json` and results.json."""
        return {
            "study": self.name,
            "funnel": [asdict(step) for step in self.funnel],
            "figures": [asdict(figure) for figure in self.figures],
            "ratings": [asdict(row) for row in self.ratings],
            "agreement": [asdict(row) for row in self.agreement],
            "missed_by_all": [asdict(row) for row in self.missed_by_all],
            "left_out": list(self.left_out),
        }

    def __str__(self) -> str:
        parts = [_funnel_table(self.funnel)]
        if self.figures:
            parts.append(_figure_table(self.figures))
        if self.ratings:
            parts.append(_rating_table(self.ratings))
        shown = [row for row in self.agreement if row.measure != COHEN]
        if len(self.agreement) - len(shown) <= MOST_SHOWN:
            shown = list(self.agreement)
        if shown:
            parts.append(_agreement_table(shown))
        parts += _missed_lines(self.missed_by_all)
        if self.left_out:
            parts.append("\n".join(f"not written: {why}" for why in self.left_out))
        return "\n\n".join(parts)


def results_of(record: StudyRecord, left_out: tuple[str, ...] = ()) -> StudyResults:
    """The results of a record: funnel, scores, agreement and ratings."""
    seed = record.plan.seed
    return StudyResults(
        record.plan.name,
        tuple(funnel(record)),
        tuple(figures(record, seed)),
        tuple(agreements(record, seed)),
        left_out,
        tuple(ratings(record)),
        tuple(missed_by_all(record.tasks)),
    )


def ratings(record: StudyRecord) -> Iterator[MeanRating]:
    """The mean rating of every stage whose answers are steps of a scale."""
    for stage in record.plan.stages:
        tasks = record.of_stage(stage.name) if stage.question.ordinal else []
        found = mean_rating(stage.name, tasks, record.clusters(tasks)) if tasks else None
        if found is not None:
            yield found


def _rating_table(rows: tuple[MeanRating, ...]) -> str:
    lines: list[tuple[str, ...]] = [("stage", "mean rating", "95% interval", "captions", "ratings")]
    for one in rows:
        interval = f"{one.low:.3f} - {one.high:.3f}"
        counts = (f"{number:,}" for number in (one.captions, one.ratings))
        lines.append((one.stage, f"{one.value:.3f}", interval, *counts))
    return aligned(lines, {0})


def _missed_lines(missed: tuple[MissedTask, ...]) -> list[str]:
    """The tasks that everyone got wrong, the first few in full."""
    if not missed:
        return []
    tasks = "task" if len(missed) == 1 else "tasks"
    lines = [f"{len(missed):,} {tasks} that everyone got wrong:"]
    for one in missed[:MOST_SHOWN]:
        said = ", ".join(dict.fromkeys(one.said))
        lines.append(f"  {one.item} ({one.question}): {one.captions[0]!r}; they said {said}")
    more = len(missed) - MOST_SHOWN
    return ["\n".join([*lines, f"  ... and {more:,} more"] if more > 0 else lines)]


def _funnel_table(steps: tuple[FunnelStep, ...]) -> str:
    heads = ("stage", "question", "items", "decided", "kept", "dropped", "judgements")
    rows: list[tuple[str, ...]] = [heads]
    for s in steps:
        numbers = (s.came, s.decided, s.kept, s.dropped, s.judgements)
        rows.append((s.stage, s.ask, *(f"{number:,}" for number in numbers)))
    return aligned(rows, {0, 1})


def _figure_table(figures: tuple[StudyFigure, ...]) -> str:
    rows = [("stage", "of", "right", "%", "95% interval", "n")]
    for one in figures:
        interval = f"{percent(one.low)} - {percent(one.high)}"
        rows.append((one.stage, one.about, one.how, percent(one.value), interval, f"{one.n:,}"))
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

"""Tasks with the judgements that count, read once; everything that comes out starts here."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sqlalchemy import Connection, select

from tellapart.annotate import questions
from tellapart.annotate.opening import OpenStudy
from tellapart.annotate.plan import Plan
from tellapart.annotate.questions.question import Matter, QuestionType
from tellapart.annotate.store import tables as t
from tellapart.benchmark.benchmark import Benchmark
from tellapart.types import Ints


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one person said of a task; `order` is how the options stood."""

    person: str
    choice: str
    word: int | None
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """A task about an item, with its judgements in the order in which they were given."""

    id: int
    parent: int | None
    stage: str
    ask: str
    matter: Matter
    state: str
    kept: bool | None
    chosen: str | None
    said: tuple[Judgement, ...]

    @property
    def question(self) -> QuestionType:
        """The question that was asked."""
        found: QuestionType = questions.types.get(self.ask)
        return found

    def right(self, one: Judgement) -> bool:
        """Whether the choice is right, whatever word was pointed at."""
        return self.matter.truth is not None and one.choice in self.matter.truth.choices

    def points_right(self, one: Judgement) -> bool:
        """Whether the choice and the word are right."""
        truth = self.matter.truth
        return self.right(one) and truth is not None and one.word in truth.words


@dataclass(frozen=True, eq=False)
class Gathered:
    """All tasks about items; those of excluded people and void ones are left out."""

    plan: Plan
    benchmark: Benchmark
    tasks: tuple[Judged, ...]

    def of_stage(self, name: str) -> list[Judged]:
        """The tasks of a stage."""
        return [task for task in self.tasks if task.stage == name]

    @cached_property
    def by_id(self) -> dict[int, Judged]:
        """Tasks by their number, to find what a task followed from."""
        return {task.id: task for task in self.tasks}

    def clusters(self, tasks: list[Judged]) -> Ints:
        """Tasks whose items share images belong together in every interval."""
        items = self.benchmark.by_id
        named = [items[task.matter.item].group for task in tasks]
        return np.unique(named, return_inverse=True)[1]


def gather(conn: Connection, study: OpenStudy) -> Gathered:
    """Read what people said so far."""
    said = _judgements(conn, study)
    rows = conn.execute(
        select(t.task, t.stage.c.name.label("stage"), t.stage.c.ask)
        .join(t.stage, t.stage.c.id == t.task.c.stage_id)
        .where(
            t.stage.c.study_id == study.plan.id, t.task.c.role == "item", t.task.c.state != "void"
        )
        .order_by(t.stage.c.place, t.task.c.key)
    )
    tasks = tuple(
        Judged(
            row.id, row.parent_id, row.stage, row.ask, Matter.from_json(json.loads(row.matter)),
            row.state, row.kept, row.chosen, tuple(said.get(row.id, ())),
        )
        for row in rows
    )  # fmt: skip
    return Gathered(study.plan, study.content.items, tasks)


def _judgements(conn: Connection, study: OpenStudy) -> dict[int, list[Judgement]]:
    j, a = t.judgement.c, t.assignment.c
    rows = conn.execute(
        select(j.task_id, t.person.c.code, j.choice, j.word, a.drawn)
        .join(t.assignment, a.id == j.assignment_id)
        .join(t.person, t.person.c.id == j.person_id)
        .where(t.person.c.study_id == study.plan.id, j.void.is_(False))
        .order_by(j.answered_at, j.assignment_id)
    )
    found: dict[int, list[Judgement]] = defaultdict(list)
    for row in rows:
        one = Judgement(row.code, row.choice, row.word, tuple(json.loads(row.drawn)))
        found[row.task_id].append(one)
    return found

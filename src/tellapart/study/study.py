"""An open study: its plan, items and keys, and the database of people's work.

The clock is a parameter, so that tests need not wait and can simulate clock changes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, insert, select

from tellapart.errors import BadInput
from tellapart.study.folder import read_content
from tellapart.study.keys import Keys, read_keys
from tellapart.study.plan import Stage, StudyPlan
from tellapart.study.questions.question import QuestionType
from tellapart.study.store import schema as t
from tellapart.study.store.database import Database, open_database, sqlite_url
from tellapart.study.store.schema import migrate
from tellapart.study.tasks import FIXED_RULES, StudyContent, fill

Clock = Callable[[], int]
"""Gives the time in milliseconds since 1970."""


def wall_clock() -> int:
    """The machine's time."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class OpenStage:
    """A stage with its number in the database, and how many tasks it has besides items."""

    id: int
    place: int
    rules: Stage
    question: QuestionType
    training: int
    checks: int
    golds: int


@dataclass(frozen=True, eq=False)
class OpenStudy:
    """An open study; `close` it when done."""

    folder: Path
    content: StudyContent
    keys: Keys
    database: Database
    stages: tuple[OpenStage, ...]
    clock: Clock

    @property
    def plan(self) -> StudyPlan:
        """The content of `study.toml`."""
        return self.content.plan

    def stage(self, stage_id: int) -> OpenStage:
        """A stage by its number in the database."""
        return next(stage for stage in self.stages if stage.id == stage_id)

    def after(self, stage: OpenStage) -> OpenStage | None:
        """The stage that follows, if there is one."""
        return self.stages[stage.place + 1] if stage.place + 1 < len(self.stages) else None

    def record(self, conn: Connection, what: str, who: str = "", **detail: str | int) -> None:
        """Record an event, such as a revision, an exclusion or a deletion.

        `who` is a person's code, omitted if they are being deleted.
        """
        event = {"at": self.clock(), "what": what, "who": who, "detail": json.dumps(detail)}
        conn.execute(insert(t.event).values(study_id=self.plan.id, **event))

    def close(self) -> None:
        """Close the database."""
        self.database.close()


def open_study(folder: Path | str, database: str = "", clock: Clock = wall_clock) -> OpenStudy:
    """Open a study's folder; if the database does not have the study yet, it is added."""
    folder = Path(folder)
    content, keys = read_content(folder), read_keys(folder)
    opened = open_database(database or sqlite_url(folder / "study.sqlite"))
    try:
        stages = opened.submit(lambda conn: _ready(conn, content, clock())).result()
    except BaseException:
        opened.close()
        raise
    return OpenStudy(folder, content, keys, opened, stages, clock)


@contextmanager
def opened_study(
    folder: Path | str, database: str = "", clock: Clock = wall_clock
) -> Iterator[OpenStudy]:
    """An open study that is closed when the block ends."""
    study = open_study(folder, database, clock)
    try:
        yield study
    finally:
        study.close()


def _ready(conn: Connection, content: StudyContent, now: int) -> tuple[OpenStage, ...]:
    migrate(conn)
    plan = content.plan
    mine = select(t.stage).where(t.stage.c.study_id == plan.id).order_by(t.stage.c.place)
    _check_rules(plan, conn.execute(mine).all())
    fill(conn, content, now)
    return tuple(_open_stage(conn, row, plan) for row in conn.execute(mine))


def _check_rules(plan: StudyPlan, rows: Any) -> None:
    if rows and len(rows) != len(plan.stages):
        raise BadInput(
            "stages were added or removed after the study began",
            allowed=", ".join(row.name for row in rows),
            todo="undo the change, or create a new study",
        )
    for row, stage in zip(rows, plan.stages, strict=False):
        stored = json.loads(row.rules)
        changed = [name for name in FIXED_RULES if stored[name] != getattr(stage, name)]
        if changed:
            raise BadInput(
                f"stage {row.name} was changed after the study began: {', '.join(changed)}",
                allowed=", ".join(f"{name} = {stored[name]!r}" for name in changed),
                todo="undo the change, or create a new study",
            )


def _open_stage(conn: Connection, row: Any, plan: StudyPlan) -> OpenStage:
    counted = conn.execute(
        select(t.task.c.role, func.count().label("tasks"))
        .where(t.task.c.stage_id == row.id, t.task.c.state == "open", t.task.c.role != "item")
        .group_by(t.task.c.role)
    )
    counts = {one.role: one.tasks for one in counted}
    extras = (counts.get(role, 0) for role in ("training", "check", "gold"))
    rules = plan.stages[row.place]
    return OpenStage(row.id, row.place, rules, rules.question, *extras)

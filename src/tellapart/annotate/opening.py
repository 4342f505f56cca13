"""An open study: its plan, its items and keys, and the database that holds what people do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, select

from tellapart.annotate.clock import Clock, wall_clock
from tellapart.annotate.creating import GOLD, ITEMS
from tellapart.annotate.filling import FIXED_RULES, Content, fill
from tellapart.annotate.keys import Keys, read_keys
from tellapart.annotate.plan import Plan, Stage
from tellapart.annotate.questions.question import QuestionType
from tellapart.annotate.store import tables as t
from tellapart.annotate.store.database import Database, open_database, sqlite_url
from tellapart.annotate.store.migrations import migrate
from tellapart.annotate.studyfile import NAME, read_plan
from tellapart.annotate.training import read_training
from tellapart.benchmark.benchmark import load_benchmark
from tellapart.errors import BadInput


@dataclass(frozen=True, slots=True)
class OpenStage:
    """A stage with its number in the database and what it has beside items."""

    id: int
    place: int
    rules: Stage
    question: QuestionType
    training: int
    checks: int
    golds: int


@dataclass(frozen=True, eq=False)
class OpenStudy:
    """A study at work; `close` it when done."""

    folder: Path
    content: Content
    keys: Keys
    database: Database
    stages: tuple[OpenStage, ...]
    clock: Clock

    @property
    def plan(self) -> Plan:
        """What `study.toml` says."""
        return self.content.plan

    def stage(self, stage_id: int) -> OpenStage:
        """A stage by its number in the database."""
        return next(stage for stage in self.stages if stage.id == stage_id)

    def after(self, stage: OpenStage) -> OpenStage | None:
        """The stage that follows, if there is one."""
        return self.stages[stage.place + 1] if stage.place + 1 < len(self.stages) else None

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()


def open_study(folder: Path | str, database: str = "", clock: Clock = wall_clock) -> OpenStudy:
    """Open a study's folder; a database that does not know the study yet is filled."""
    folder = Path(folder)
    content, keys = _content(folder), read_keys(folder)
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


def _content(folder: Path) -> Content:
    if not (folder / NAME).exists():
        raise BadInput(
            f"{folder} is not a study",
            allowed=f"a folder with a {NAME}",
            todo="make one with: tellapart study create BENCH OUT --ask which-image",
        )
    plan = read_plan(folder / NAME)
    gold = load_benchmark(folder / GOLD) if (folder / GOLD).exists() else None
    return Content(plan, load_benchmark(folder / ITEMS), gold, read_training(plan, folder))


def _ready(conn: Connection, content: Content, now: int) -> tuple[OpenStage, ...]:
    migrate(conn)
    plan = content.plan
    mine = select(t.stage).where(t.stage.c.study_id == plan.id).order_by(t.stage.c.place)
    _check_rules(plan, conn.execute(mine).all())
    fill(conn, content, now)
    return tuple(_open_stage(conn, row, plan) for row in conn.execute(mine))


def _check_rules(plan: Plan, rows: Any) -> None:
    if rows and len(rows) != len(plan.stages):
        raise BadInput(
            "stages were added or taken away after the study began",
            allowed=", ".join(row.name for row in rows),
            todo="change it back, or make a new study",
        )
    for row, stage in zip(rows, plan.stages, strict=False):
        made_by = json.loads(row.rules)
        changed = [name for name in FIXED_RULES if made_by[name] != getattr(stage, name)]
        if changed:
            raise BadInput(
                f"stage {row.name} was changed after the study began: {', '.join(changed)}",
                allowed=", ".join(f"{name} = {made_by[name]!r}" for name in changed),
                todo="change it back, or make a new study",
            )


def _open_stage(conn: Connection, row: Any, plan: Plan) -> OpenStage:
    counted = conn.execute(
        select(t.task.c.role, func.count().label("tasks"))
        .where(t.task.c.stage_id == row.id, t.task.c.state == "open", t.task.c.role != "item")
        .group_by(t.task.c.role)
    )
    counts = {one.role: one.tasks for one in counted}
    extras = (counts.get(role, 0) for role in ("training", "check", "gold"))
    rules = plan.stages[row.place]
    return OpenStage(row.id, row.place, rules, rules.question, *extras)

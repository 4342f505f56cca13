"""An open study: its plan, its items and keys, and the database that holds what people do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, insert, select

from tellapart import seeds
from tellapart.annotate.clock import Clock, wall_clock
from tellapart.annotate.creating import ITEMS
from tellapart.annotate.keys import Keys, read_keys
from tellapart.annotate.plan import Plan, Stage
from tellapart.annotate.questions.question import Matter
from tellapart.annotate.store import tables as t
from tellapart.annotate.store.database import Database, open_database, sqlite_url
from tellapart.annotate.store.migrations import migrate
from tellapart.annotate.studyfile import NAME, read_plan
from tellapart.benchmark.benchmark import Benchmark, load_benchmark
from tellapart.errors import BadInput

FIXED_RULES = ("ask", "judgements", "twice", "stop", "keep")
"""What can no longer be changed once tasks were made by it."""


@dataclass(frozen=True, slots=True)
class OpenStage:
    """A stage with its number in the database."""

    id: int
    place: int
    rules: Stage
    training: int


@dataclass(frozen=True, eq=False)
class OpenStudy:
    """A study at work; `close` it when done."""

    folder: Path
    plan: Plan
    items: Benchmark
    keys: Keys
    database: Database
    stages: tuple[OpenStage, ...]
    clock: Clock

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
    if not (folder / NAME).exists():
        raise BadInput(
            f"{folder} is not a study",
            allowed=f"a folder with a {NAME}",
            todo="make one with: tellapart study create BENCH OUT --ask which-image",
        )
    plan, items = read_plan(folder / NAME), load_benchmark(folder / ITEMS)
    opened = open_database(database or sqlite_url(folder / "study.sqlite"))
    try:
        stages = opened.submit(lambda conn: _ready(conn, plan, items, clock())).result()
    except BaseException:
        opened.close()
        raise
    return OpenStudy(folder, plan, items, read_keys(folder), opened, stages, clock)


def _ready(conn: Connection, plan: Plan, items: Benchmark, now: int) -> tuple[OpenStage, ...]:
    migrate(conn)
    known = conn.execute(select(t.study).where(t.study.c.id == plan.id)).first()
    if known is None:
        _fill(conn, plan, items, now)
    elif (known.seed, known.items_sha256) != (plan.seed, items.sha256):
        raise BadInput(
            "the seed or the items are not those that the database was filled with",
            allowed=f"seed {known.seed}, items {known.items_sha256[:12]}...",
        )
    rows = conn.execute(
        select(t.stage).where(t.stage.c.study_id == plan.id).order_by(t.stage.c.place)
    ).all()
    return tuple(_open_stage(conn, row, plan) for row in rows)


def _open_stage(conn: Connection, row: Any, plan: Plan) -> OpenStage:
    rules = plan.stages[row.place] if row.place < len(plan.stages) else None
    made_by = json.loads(row.rules)
    changed = [n for n in FIXED_RULES if rules is None or made_by[n] != getattr(rules, n)]
    if rules is None or changed:
        raise BadInput(
            f"stage {row.name} was changed after the study began: {', '.join(changed)}",
            allowed=", ".join(f"{n} = {made_by[n]!r}" for n in changed),
            todo="change it back, or make a new study",
        )
    count = select(func.count()).select_from(t.task)
    training = conn.execute(
        count.where(t.task.c.stage_id == row.id, t.task.c.role == "training")
    ).scalar_one()
    return OpenStage(row.id, row.place, rules, training)


def _fill(conn: Connection, plan: Plan, items: Benchmark, now: int) -> None:
    conn.execute(
        insert(t.study).values(
            id=plan.id, name=plan.name, seed=plan.seed, items_sha256=items.sha256, made_at=now
        )
    )
    for place, stage in enumerate(plan.stages):
        made = conn.execute(
            insert(t.stage)
            .values(
                study_id=plan.id,
                place=place,
                name=stage.name,
                ask=stage.ask,
                rules=json.dumps({n: asdict(stage)[n] for n in FIXED_RULES}),
            )
            .returning(t.stage.c.id)
        ).scalar_one()
        if place == 0:
            rows = list(_tasks(plan, stage, made, items))
            conn.execute(insert(t.task), rows)


def _tasks(plan: Plan, stage: Stage, stage_id: int, items: Benchmark) -> Iterator[dict[str, Any]]:
    for item in items.items:
        for matter in stage.question.matters(item):
            unit = matter.item if plan.once == "item" else matter.key
            yield task_row(plan, stage, stage_id, matter, unit)


def task_row(plan: Plan, stage: Stage, stage_id: int, matter: Matter, unit: str) -> dict[str, Any]:
    """A task of a stage as it is stored; its rank and how often it is judged are drawn by seed."""
    path = (plan.seed, stage.name, matter.key)
    return {
        "stage_id": stage_id,
        "role": "item",
        "key": matter.key,
        "unit": unit,
        "rank": seeds.number("rank", *path) >> 33,
        "matter": json.dumps(matter.to_json(), ensure_ascii=False),
        "wanted": first_wanted(stage, seeds.unit("twice", *path)),
    }


def first_wanted(stage: Stage, drawn: float) -> int:
    """How many judgements are asked for at first."""
    if stage.twice > 0:
        return 2 if drawn < stage.twice else 1
    if stage.stop == "full":
        return stage.judgements
    return 1 if stage.keep == "all" else stage.judgements // 2 + 1

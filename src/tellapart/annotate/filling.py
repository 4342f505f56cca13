"""A study's tasks in the database: made when it is opened for the first time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update

from tellapart import seeds
from tellapart.annotate.extras import attention_checks
from tellapart.annotate.plan import Plan, Stage
from tellapart.annotate.questions.question import Matter
from tellapart.annotate.store import tables as t
from tellapart.annotate.verdicts import missing
from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput

FIXED_RULES = ("name", "ask", "judgements", "twice", "stop", "keep")
"""What can no longer be changed once tasks were made by it."""
LANES = 32
"""Tasks stand in so many lanes, by seed, and in each of them in an order drawn by seed. A person
takes the next of each lane in turn: so everyone has an order of their own, what was begun is
finished soon, and people at work at the same time do not all want the same task."""


@dataclass(frozen=True, slots=True)
class Content:
    """Everything that tasks are made of; training examples by the name of their stage."""

    plan: Plan
    items: Benchmark
    gold: Benchmark | None
    training: dict[str, list[Matter]]


def fill(conn: Connection, content: Content, now: int) -> None:
    """Put a study into a database that does not know it yet, or check that it is the same one."""
    plan = content.plan
    known = conn.execute(select(t.study).where(t.study.c.id == plan.id)).first()
    if known is None:
        _add(conn, content, now)
    elif (known.seed, known.items_sha256) != (plan.seed, content.items.sha256):
        raise BadInput(
            "the seed or the items are not those that the database was filled with",
            allowed=f"seed {known.seed}, items {known.items_sha256[:12]}...",
            todo="change them back, or make a new study",
        )
    _renew_training(conn, content)


def task_row(plan: Plan, stage: Stage, stage_id: int, matter: Matter, unit: str) -> dict[str, Any]:
    """An item's task; its place and how often it is judged are drawn by seed."""
    path = (plan.seed, stage.name, matter.key)
    full = stage.judgements
    if stage.twice:
        full = 2 if seeds.unit("twice", *path) < stage.twice else 1
    wanted = full
    if stage.stop == "decided":
        wanted = missing(stage.keep, full, [], matter.truth is not None)
    return {
        "role": "item",
        "unit": unit,
        **_drawn(*path),
        "full_number": full,
        "wanted": wanted,
        **_same(stage_id, matter),
    }


def _drawn(*path: Any) -> dict[str, int]:
    drawn = seeds.number("rank", *path) >> 33
    return {"lane": drawn % LANES, "rank": drawn // LANES}


def _same(stage_id: int, matter: Matter) -> dict[str, Any]:
    stored = json.dumps(matter.to_json(), ensure_ascii=False)
    return {"stage_id": stage_id, "key": matter.key, "matter": stored}


def _add(conn: Connection, content: Content, now: int) -> None:
    plan, items = content.plan, content.items
    conn.execute(
        insert(t.study).values(
            id=plan.id, name=plan.name, seed=plan.seed, items_sha256=items.sha256, made_at=now
        )
    )
    for place, stage in enumerate(plan.stages):
        rules = {name: asdict(stage)[name] for name in FIXED_RULES}
        row = {"place": place, "name": stage.name, "ask": stage.ask, "rules": json.dumps(rules)}
        stage_id = conn.execute(
            insert(t.stage).values(study_id=plan.id, **row).returning(t.stage.c.id)
        ).scalar_one()
        rows = list(_extra_rows(content, place, stage_id))
        if place == 0:
            rows += _item_rows(content, stage, stage_id)
        if rows:
            conn.execute(insert(t.task), rows)


def _item_rows(content: Content, stage: Stage, stage_id: int) -> Iterator[dict[str, Any]]:
    plan = content.plan
    for item in content.items.items:
        for matter in stage.question.matters(item):
            unit = matter.item if plan.once == "item" else matter.key
            yield task_row(plan, stage, stage_id, matter, unit)


def _extra_rows(content: Content, place: int, stage_id: int) -> Iterator[dict[str, Any]]:
    """Checks and gold: wanted from nobody in particular, so never closed."""
    plan = content.plan
    stage = plan.stages[place]
    made = [("check", m) for m in _checks(content, place)]
    gold = content.gold.items if content.gold is not None else ()
    made += [("gold", m) for item in gold for m in stage.question.matters(item) if m.truth]
    for role, matter in made:
        yield {
            "role": role,
            "unit": f"{role}:{stage.name}:{matter.item}",
            **_drawn(plan.seed, stage.name, role, matter.key),
            "full_number": 0,
            "wanted": 0,
            **_same(stage_id, matter),
        }


def _checks(content: Content, place: int) -> list[Matter]:
    plan = content.plan
    return attention_checks(plan.stages[: place + 1], content.items.items, plan.seed)


def _renew_training(conn: Connection, content: Content) -> None:
    """Training examples follow their file: people who are at them see what it says now."""
    ids = conn.execute(
        select(t.stage.c.id, t.stage.c.place).where(t.stage.c.study_id == content.plan.id)
    ).all()
    for row in ids:
        stage = content.plan.stages[row.place]
        here = (t.task.c.stage_id == row.id, t.task.c.role == "training")
        known = set(conn.execute(select(t.task.c.key).where(*here)).scalars())
        matters = content.training[stage.name]
        conn.execute(update(t.task).where(*here).values(state="void"))
        for rank, matter in enumerate(matters):
            same = {"lane": 0, "rank": rank, "state": "open", **_same(row.id, matter)}
            if matter.key in known:
                conn.execute(update(t.task).where(*here, t.task.c.key == matter.key).values(same))
                continue
            unit = f"training:{stage.name}:{matter.item}"
            more = {"role": "training", "unit": unit, "full_number": 0, "wanted": 0}
            conn.execute(insert(t.task).values(**same, **more))

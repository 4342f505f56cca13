"""How far a study is, as its owner sees it: stages, items a page at a time, and people."""

from __future__ import annotations

import json
from statistics import median
from typing import Any

from sqlalchemy import Connection, case, func, select

from tellapart.errors import BadInput, UnknownName
from tellapart.study.judgements import ask_again
from tellapart.study.store import schema as t
from tellapart.study.study import OpenStudy

PAGE = 100
STATES = ("open", "closed", "void")
ROLES = {"training": "training", "check": "checks", "gold": "gold"}
FIELDS = ("code", "label", "source", "state", "consented_at", "seen_at")
_T = t.task.c
_ROW = select(
    _T.id, t.stage.c.name, _T.matter, _T.state, _T.wanted, _T.given, _T.held, _T.kept, _T.chosen
).join(t.stage, t.stage.c.id == _T.stage_id)


def status(conn: Connection, study: OpenStudy) -> dict[str, Any]:
    """Counts of tasks, judgements and people, stage by stage."""
    stages = []
    for stage in study.stages:
        task = t.task.c
        row = conn.execute(
            select(
                func.count().label("items"),
                func.coalesce(func.sum(case((task.state == "closed", 1), else_=0)), 0).label(
                    "closed"
                ),
                func.coalesce(func.sum(case((task.kept.is_(True), 1), else_=0)), 0).label("kept"),
                func.coalesce(func.sum(task.wanted), 0).label("wanted"),
                func.coalesce(func.sum(task.given), 0).label("given"),
                func.coalesce(func.sum(task.held), 0).label("held"),
            ).where(task.stage_id == stage.id, task.role == "item")
        ).one()
        counts = {name: int(value) for name, value in row._asdict().items()}
        stages.append({"stage": stage.rules.name, "ask": stage.rules.ask, **counts})
    people = conn.execute(
        select(t.person.c.state, func.count().label("people"))
        .where(t.person.c.study_id == study.plan.id)
        .group_by(t.person.c.state)
    ).all()
    return {
        "study": study.plan.name,
        "stages": stages,
        "people": {one.state: one.people for one in people},
    }


def look_at_items(
    conn: Connection, study: OpenStudy, stage: str = "", state: str = "", after: int = 0
) -> dict[str, Any]:
    """Items of a stage or of all, in one state or in any, from a task on."""
    names = [one.rules.name for one in study.stages]
    if stage and stage not in names:
        raise UnknownName("stage", stage, names)
    if state and state not in STATES:
        raise BadInput(f"state {state!r}", allowed=", ".join(STATES))
    found = _ROW.where(t.stage.c.study_id == study.plan.id, _T.role == "item", _T.id > after)
    if stage:
        found = found.where(t.stage.c.name == stage)
    if state:
        found = found.where(_T.state == state)
    rows = conn.execute(found.order_by(_T.id).limit(PAGE + 1)).all()
    more = rows[PAGE - 1].id if len(rows) > PAGE else None
    return {"items": [_item_json(row) for row in rows[:PAGE]], "after": more}


def reopen_item(conn: Connection, study: OpenStudy, task: int) -> dict[str, Any]:
    """Ask for one more judgement of an item, also of a closed one."""
    mine = _ROW.where(t.stage.c.study_id == study.plan.id, _T.role == "item", _T.id == task)
    row = conn.execute(mine.with_for_update(of=t.task)).first()
    if row is None or row.state == "void":
        raise UnknownName("item", str(task), [])
    ask_again(conn, task)
    study.record(conn, "reopened", task=task)
    return _item_json(conn.execute(mine).one())


def _item_json(row: Any) -> dict[str, Any]:
    matter = json.loads(row.matter)
    counts = {name: getattr(row, name) for name in ("state", "wanted", "given", "held")}
    return {
        "task": row.id,
        "stage": row.name,
        "item": matter["item"],
        "question": matter["question"],
        **counts,
        "kept": row.kept,
        "chosen": row.chosen,
    }


def crew(conn: Connection, study: OpenStudy, code: str = "") -> list[dict[str, Any]]:
    """Everyone (or one person), in the order in which they were added.

    Shares are [right, of]; `with_majority` counts items that are closed and on which enough people
    agreed.
    """
    mine = [t.person.c.study_id == study.plan.id]
    if code:
        mine.append(t.person.c.code == code)
    people = conn.execute(select(t.person).where(*mine).order_by(t.person.c.id)).all()
    said = _judgements(conn, [one.id for one in people])
    return [
        {**{name: getattr(one, name) for name in FIELDS}, **_quality(said[one.id])}
        for one in people
    ]


def _judgements(conn: Connection, people: list[int]) -> dict[int, list[Any]]:
    j, task = t.judgement.c, t.task.c
    rows = conn.execute(
        select(
            j.person_id, j.choice, j.is_right, j.milliseconds, task.role, task.state, task.chosen
        )
        .join(t.task, task.id == j.task_id)
        .where(j.person_id.in_(people))
    )
    found: dict[int, list[Any]] = {one: [] for one in people}
    for row in rows:
        found[row.person_id].append(row)
    return found


def _quality(said: list[Any]) -> dict[str, Any]:
    items = [row for row in said if row.role == "item"]
    times = [row.milliseconds for row in items if row.milliseconds is not None]
    settled = [row for row in items if row.state == "closed" and row.chosen is not None]
    agreeing = sum(row.choice == row.chosen for row in settled)
    return {
        "judgements": len(items),
        "median_milliseconds": int(median(times)) if times else None,
        **{name: _share(said, role) for role, name in ROLES.items()},
        "with_majority": [agreeing, len(settled)],
    }


def _share(said: list[Any], role: str) -> list[int]:
    known = [row.is_right for row in said if row.role == role and row.is_right is not None]
    return [sum(known), len(known)]

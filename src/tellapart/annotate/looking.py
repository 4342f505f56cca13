"""A study's items as its owner sees them, a page at a time, and asking for one more judgement."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, select

from tellapart.annotate.events import record
from tellapart.annotate.opening import OpenStudy
from tellapart.annotate.settling import ask_again
from tellapart.annotate.store import tables as t
from tellapart.errors import BadInput, UnknownName

PAGE = 100
STATES = ("open", "closed", "void")
_T = t.task.c
_ROW = select(
    _T.id, t.stage.c.name, _T.matter, _T.state, _T.wanted, _T.given, _T.held, _T.kept, _T.chosen
).join(t.stage, t.stage.c.id == _T.stage_id)


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
    return {"items": [_told(row) for row in rows[:PAGE]], "after": more}


def reopen_item(conn: Connection, study: OpenStudy, task: int) -> dict[str, Any]:
    """Ask for one more judgement of an item, also of a closed one."""
    mine = _ROW.where(t.stage.c.study_id == study.plan.id, _T.role == "item", _T.id == task)
    row = conn.execute(mine.with_for_update(of=t.task)).first()
    if row is None or row.state == "void":
        raise UnknownName("item", str(task), [])
    ask_again(conn, task)
    record(conn, study, "reopened", task=task)
    return _told(conn.execute(mine).one())


def _told(row: Any) -> dict[str, Any]:
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

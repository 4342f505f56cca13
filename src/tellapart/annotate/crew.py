"""The people of a study as its owner sees them: how much, how fast, how well."""

from __future__ import annotations

from statistics import median
from typing import Any

from sqlalchemy import Connection, select

from tellapart.annotate.opening import OpenStudy
from tellapart.annotate.store import tables as t

ROLES = {"training": "training", "check": "checks", "gold": "gold"}
FIELDS = ("code", "label", "source", "state", "consented_at", "seen_at")


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

"""The verb `study status`: how far a study is."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, case, func, select

from tellapart.annotate.opening import OpenStudy
from tellapart.annotate.store import tables as t


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

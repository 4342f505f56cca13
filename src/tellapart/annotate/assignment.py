"""Who gets which task: reservations that run out, and the rules of what a person may see."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, func, insert, literal_column, select, update

from tellapart import seeds
from tellapart.annotate.opening import OpenStage, OpenStudy
from tellapart.annotate.people import Seat
from tellapart.annotate.questions.question import Matter
from tellapart.annotate.questions.showing import draw_order
from tellapart.annotate.store import tables as t

AHEAD = 2
"""Tasks that a person holds: the one before them, and the next, whose pictures load meanwhile."""
WINDOW = 8
"""A person's next item is drawn among so many that are due, so that not all see the same order."""
MINUTE = 60_000


@dataclass(frozen=True, slots=True)
class Assigned:
    """A task that was given to a person."""

    id: int
    number: int
    task_id: int
    stage: OpenStage
    role: str
    matter: Matter
    order: list[int]
    state: str


def held(conn: Connection, study: OpenStudy, seat: Seat) -> list[Assigned]:
    """What a person has before them, the earliest first; more is reserved up to `AHEAD`."""
    mine = _waiting(conn, study, seat)
    while len(mine) < AHEAD:
        more = _reserve(conn, study, seat)
        if more is None:
            break
        mine.append(more)
    return mine


def assigned(conn: Connection, study: OpenStudy, seat: Seat, number: int) -> Assigned | None:
    """A person's task by its number."""
    row = conn.execute(_MINE.where(_A.person_id == seat.id, _A.number == number)).first()
    return None if row is None else _made(study, row)


_A, _T = t.assignment.c, t.task.c
_MINE = select(
    _A.id, _A.number, _A.task_id, _A.drawn, _A.state, _A.expires_at,
    _T.stage_id, _T.role, _T.matter,
).join(t.task, _T.id == _A.task_id)  # fmt: skip


def _made(study: OpenStudy, row: Row[Any]) -> Assigned:
    return Assigned(
        row.id,
        row.number,
        row.task_id,
        study.stage(row.stage_id),
        row.role,
        Matter.from_json(json.loads(row.matter)),
        json.loads(row.drawn),
        row.state,
    )


def _waiting(conn: Connection, study: OpenStudy, seat: Seat) -> list[Assigned]:
    """Tasks given and not answered; what ran out is taken up again where it is still wanted."""
    states = literal_column("assignment.state").in_(
        [literal_column("'open'"), literal_column("'expired'")]
    )
    rows = conn.execute(_MINE.where(_A.person_id == seat.id, states).order_by(_A.number)).all()
    mine = []
    for row in rows:
        if row.state == "expired" and not take_up(conn, study, row.id, row.task_id, row.stage_id):
            continue
        mine.append(_made(study, row))
    return mine


def take_up(conn: Connection, study: OpenStudy, assignment: int, task: int, stage_id: int) -> bool:
    """Reserve again what ran out; False where others have it by now."""
    now = study.clock()
    took = _take(conn, task)
    until = now + int(study.stage(stage_id).rules.minutes * MINUTE)
    conn.execute(
        update(t.assignment)
        .where(_A.id == assignment)
        .values(state="open" if took else "lost", reserved_at=now, expires_at=until)
    )
    return took


def _take(conn: Connection, task: int) -> bool:
    """Hold one of the judgements that a task still wants, unless others were quicker."""
    free = select(_T.id).where(_T.id == task, literal_column("room > 0"))
    if conn.dialect.name == "postgresql":
        free = free.with_for_update(skip_locked=True)
    done = conn.execute(
        update(t.task).where(_T.id.in_(free.scalar_subquery())).values(held=_T.held + 1)
    )
    return done.rowcount == 1


def _reserve(conn: Connection, study: OpenStudy, seat: Seat) -> Assigned | None:
    """One more task for a person: of the stage where they work, else of the first that has one."""
    if seat.stage_id is not None:
        task = _next_in(conn, study, seat, study.stage(seat.stage_id))
        if task is not None:
            return _give(conn, study, seat, task)
    for stage in study.stages:
        if stage.id == seat.stage_id:
            continue
        was = (seat.stage_id, seat.trained, seat.served, seat.cursor)
        _move(conn, seat, stage)
        task = _next_in(conn, study, seat, stage)
        if task is not None:
            return _give(conn, study, seat, task)
        seat.stage_id, seat.trained, seat.served, seat.cursor = was
    return None


def _move(conn: Connection, seat: Seat, stage: OpenStage) -> None:
    """Put a person into another stage, with what they have done there already."""
    rows = conn.execute(
        select(_T.role, func.count().label("tasks"))
        .join(t.assignment, _A.task_id == _T.id)
        .where(_A.person_id == seat.id, _T.stage_id == stage.id)
        .group_by(_T.role)
    )
    counts = {row.role: row.tasks for row in rows}
    seat.stage_id, seat.cursor = stage.id, 0
    seat.trained, seat.served = counts.get("training", 0), counts.get("item", 0)


def _next_in(conn: Connection, study: OpenStudy, seat: Seat, stage: OpenStage) -> Row[Any] | None:
    limit = stage.rules.at_most
    if limit and seat.served >= limit:
        return None
    due = _due(conn, seat, stage)
    if not due and seat.cursor:
        seat.cursor = 0  # what ran out, or came in, below it
        due = _due(conn, seat, stage)
    draw = seeds.rng(study.plan.seed, "next", seat.code, stage.rules.name, seat.last_number)
    while due:
        row = due.pop(int(draw.integers(len(due))))
        if _take(conn, row.id):
            seat.served += 1
            return row
    return None


def _due(conn: Connection, seat: Seat, stage: OpenStage) -> list[Row[Any]]:
    """The first tasks of a stage that are wanted and that this person may see."""
    seen = select(_A.id).where(_A.person_id == seat.id, _A.unit == _T.unit).exists()
    rows = conn.execute(
        select(_T.id, _T.stage_id, _T.role, _T.key, _T.unit, _T.rank, _T.matter)
        .where(
            _T.stage_id == stage.id,
            literal_column("room > 0"),
            _T.rank >= seat.cursor,
            _T.role == "item",
            ~seen,
        )
        .order_by(_T.rank)
        .limit(WINDOW)
    ).all()
    if rows:
        seat.cursor = rows[0].rank
    return list(rows)


def _give(conn: Connection, study: OpenStudy, seat: Seat, task: Row[Any]) -> Assigned:
    stage = study.stage(task.stage_id)
    matter = Matter.from_json(json.loads(task.matter))
    form = stage.rules.question.form(matter)
    order = draw_order(form, study.plan.seed, seat.code, stage.rules.name, task.key)
    seat.last_number += 1
    now = study.clock()
    given = conn.execute(
        insert(t.assignment)
        .values(
            person_id=seat.id,
            task_id=task.id,
            number=seat.last_number,
            unit=task.unit,
            drawn=json.dumps(order),
            state="open",
            reserved_at=now,
            expires_at=now + int(stage.rules.minutes * MINUTE),
        )
        .returning(_A.id)
    ).scalar_one()
    return Assigned(given, seat.last_number, task.id, stage, task.role, matter, order, "open")


def expire(conn: Connection, study: OpenStudy) -> int:
    """Give back what people left lying; returns how many reservations ran out."""
    now = study.clock()
    late = (
        select(_A.id, _A.task_id)
        .where(literal_column("assignment.state = 'open'"), _A.expires_at < now)
        .with_for_update(skip_locked=True)
    )
    rows = conn.execute(late).all()
    for row in sorted(rows, key=lambda one: one.task_id):
        conn.execute(update(t.assignment).where(_A.id == row.id).values(state="expired"))
        conn.execute(update(t.task).where(_T.id == row.task_id).values(held=_T.held - 1))
    return len(rows)

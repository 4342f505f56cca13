"""Who gets which task: training first, then items with checks and gold in between.

Nobody is given an item twice, and so nobody verifies what they picked: the later stage's task has
the same `unit`, and the database allows each unit once for each person. People stay in a stage
while it has something for them. All of this happens in the transaction of one person.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import BindParameter, Connection, bindparam, func, insert, literal_column, select

from tellapart import seeds
from tellapart.annotate.assigned import GIVEN, Assigned, read_assigned
from tellapart.annotate.extras import due
from tellapart.annotate.opening import OpenStage, OpenStudy
from tellapart.annotate.questions.question import Matter
from tellapart.annotate.questions.showing import draw_order
from tellapart.annotate.reservations import hold, take_up, until
from tellapart.annotate.seats import Seat
from tellapart.annotate.store import tables as t

AHEAD = 2
"""Tasks that a person holds: the one before them, and the next, whose pictures load meanwhile."""
WINDOW = 8
"""A person's next item is drawn among so many that are due, so that not all see the same order."""

_A, _T = t.assignment.c, t.task.c
_PERSON: BindParameter[int] = bindparam("person")
_STAGE: BindParameter[int] = bindparam("stage")
_WAITING = (
    GIVEN.where(_A.person_id == _PERSON, literal_column("assignment.state IN ('open', 'expired')"))
    .order_by(_A.number)
)  # fmt: skip
_SEEN = select(_A.id).where(_A.person_id == _PERSON, _A.unit == _T.unit).exists()
_TASK = select(_T.id, _T.stage_id, _T.role, _T.key, _T.unit, _T.rank, _T.matter)
_DUE = (
    _TASK.where(_T.stage_id == _STAGE, literal_column("room") > 0)
    .where(_T.rank >= bindparam("cursor"), ~_SEEN)
    .order_by(_T.rank)
    .limit(WINDOW)
)
_EXTRA = (
    _TASK.where(_T.stage_id == _STAGE, _T.role == bindparam("role"), _T.state == "open", ~_SEEN)
    .order_by(_T.rank)
    .limit(1)
)


def held(conn: Connection, study: OpenStudy, seat: Seat) -> list[Assigned]:
    """What a person has before them, the earliest first; more is reserved up to `AHEAD`."""
    mine = _waiting(conn, study, seat)
    while len(mine) < AHEAD:
        more = _reserve(conn, study, seat)
        if more is None:
            break
        mine.append(more)
    return mine


def _waiting(conn: Connection, study: OpenStudy, seat: Seat) -> list[Assigned]:
    """Tasks given and not answered; what ran out is taken up again where it is still wanted."""
    rows = conn.execute(_WAITING, {"person": seat.id}).all()
    return [given for row in rows if _is_ours(conn, study, given := read_assigned(study, row))]


def _is_ours(conn: Connection, study: OpenStudy, given: Assigned) -> bool:
    if given.role != "item":
        return True  # nobody else wants it
    if given.state == "open" and given.task_state == "open":
        return True
    return take_up(conn, study, given.id, given.task_id, given.stage)


def _reserve(conn: Connection, study: OpenStudy, seat: Seat) -> Assigned | None:
    """One more task for a person: of the stage where they work, else of the first that has one."""
    before = seat.place()
    here = None if seat.stage_id is None else study.stage(seat.stage_id)
    for stage in ([here] if here else []) + [one for one in study.stages if one is not here]:
        if stage is not here:
            _move(conn, seat, stage)
        task = _next_in(conn, study, seat, stage)
        if task is not None:
            return _give(conn, study, seat, task)
    seat.put(before)
    return None


def _move(conn: Connection, seat: Seat, stage: OpenStage) -> None:
    """Put a person into another stage, with what they were given there before."""
    rows = conn.execute(
        select(_T.role, func.count().label("tasks"))
        .join(t.assignment, _A.task_id == _T.id)
        .where(_A.person_id == seat.id, _T.stage_id == stage.id)
        .group_by(_T.role)
    )
    counts = {row.role: row.tasks for row in rows}
    seat.stage_id, seat.cursor = stage.id, 0
    seat.trained, seat.served = counts.get("training", 0), counts.get("item", 0)
    seat.checks, seat.golds = counts.get("check", 0), counts.get("gold", 0)


def _next_in(conn: Connection, study: OpenStudy, seat: Seat, stage: OpenStage) -> Any:
    """A person's next task in a stage: training and extras only where an item is waiting."""
    limit = stage.rules.at_most
    if limit and seat.served >= limit:
        return None
    candidates = _due(conn, seat, stage)
    if not candidates:
        return None
    extra = _extra(conn, study, seat, stage)
    if extra is not None:
        return extra
    draw = seeds.rng(study.plan.seed, "next", seat.code, stage.rules.name, seat.last_number)
    while candidates:
        row = candidates.pop(int(draw.integers(len(candidates))))
        if hold(conn, row.id):
            seat.served += 1
            return row
    return None


def _due(conn: Connection, seat: Seat, stage: OpenStage) -> list[Any]:
    """The first items of a stage that are wanted and that this person may see."""
    values = {"person": seat.id, "stage": stage.id, "cursor": seat.cursor}
    rows = conn.execute(_DUE, values).all()
    if not rows and seat.cursor:  # something may have come back, or in, below it
        rows = conn.execute(_DUE, {**values, "cursor": 0}).all()
    if rows:
        seat.cursor = rows[0].rank
    return list(rows)


def _extra(conn: Connection, study: OpenStudy, seat: Seat, stage: OpenStage) -> Any:
    """A training example, attention check or gold item, if one is due."""
    rules, seed = stage.rules, study.plan.seed
    if seat.trained < stage.training:
        row = _unseen(conn, seat, stage, "training")
        seat.trained = seat.trained + 1 if row is not None else stage.training
        return row
    if seat.checks < min(stage.checks, due(rules.checks, seat.served, seed, seat.code, "check")):
        seat.checks += 1
        return _unseen(conn, seat, stage, "check")
    if seat.golds < min(stage.golds, due(rules.gold, seat.served, seed, seat.code, "gold")):
        seat.golds += 1
        return _unseen(conn, seat, stage, "gold")
    return None


def _unseen(conn: Connection, seat: Seat, stage: OpenStage, role: str) -> Any:
    values = {"person": seat.id, "stage": stage.id, "role": role}
    return conn.execute(_EXTRA, values).first()


def _give(conn: Connection, study: OpenStudy, seat: Seat, task: Any) -> Assigned:
    """Write down that a person has a task, with the order of options drawn for them."""
    stage = study.stage(task.stage_id)
    matter = Matter.from_json(json.loads(task.matter))
    form = stage.rules.question.form(matter)
    order = draw_order(form, study.plan.seed, seat.code, stage.rules.name, task.key)
    seat.last_number += 1
    row = {
        "person_id": seat.id,
        "task_id": task.id,
        "number": seat.last_number,
        "unit": task.unit,
        "drawn": json.dumps(order),
        "state": "open",
        "reserved_at": study.clock(),
        "expires_at": until(study, stage),
    }
    made = conn.execute(insert(t.assignment).returning(_A.id), row).scalar_one()
    parts = (stage, task.role, task.unit, matter, order)
    return Assigned(made, seat.last_number, task.id, *parts, "open", "open")

"""Who gets which task: training first, then items with checks and gold in between.

Nobody is given an item twice, and so nobody verifies what they picked: the later stage's task has
the same `unit`, and the database allows each unit once for each person. People stay in a stage
while it has something for them. All of this happens in the transaction of one person.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import (
    BindParameter,
    Connection,
    Select,
    Update,
    bindparam,
    func,
    insert,
    literal_column,
    select,
    update,
)

from tellapart import seeds
from tellapart.annotate.assigned import Assigned
from tellapart.annotate.extras import due
from tellapart.annotate.filling import LANES
from tellapart.annotate.opening import OpenStage, OpenStudy
from tellapart.annotate.questions.question import Matter
from tellapart.annotate.questions.showing import draw_order
from tellapart.annotate.reservations import is_ours, until
from tellapart.annotate.seats import SAVE, Seat, save, seat_values
from tellapart.annotate.store import tables as t
from tellapart.annotate.store.steps import Steps, new

AHEAD = 2
"""Tasks that a person holds: the one before them, and the next, whose pictures load meanwhile."""

_A, _T = t.assignment.c, t.task.c
_PERSON: BindParameter[int] = bindparam("_person_id")
_STAGE: BindParameter[int] = bindparam("_stage")
_SEEN = select(_A.id).where(_A.person_id == _PERSON, _A.unit == _T.unit).exists()
_FREE = (
    select(_T.id)
    .where(_T.stage_id == _STAGE, literal_column("free"), ~_SEEN)
    .order_by(_T.lane, _T.rank)
    .limit(1)
)
_IN_LANE = _FREE.where(_T.lane == bindparam("_lane"))
_COLUMNS = (_T.id, _T.stage_id, _T.role, _T.key, _T.unit, _T.matter)


def _picking(free: Select[Any]) -> Update:
    """Hold a task that is free and read it; one that another transaction is at is passed over."""
    chosen = free.with_for_update(skip_locked=True, key_share=True).scalar_subquery()
    return update(t.task).where(_T.id == chosen).values(held=_T.held + 1).returning(*_COLUMNS)


_PICK_IN_LANE, _PICK_ANY = _picking(_IN_LANE), _picking(_FREE)
_EXTRA = (
    select(*_COLUMNS)
    .where(_T.stage_id == _STAGE, _T.role == bindparam("_role"), _T.state == "open", ~_SEEN)
    .order_by(_T.rank)
    .limit(1)
)
_VALUES = ("person_id", "task_id", "number", "unit", "drawn", "reserved_at", "expires_at")
_PLACE = (
    insert(t.assignment)
    .values({name: new(_A[name]) for name in _VALUES} | {"state": literal_column("'open'")})
    .returning(_A.id)
)
_GIVE = Steps(sqlite=(_PLACE, SAVE), postgresql=_PLACE.add_cte(SAVE.cte("saved")))


def held(conn: Connection, study: OpenStudy, seat: Seat, waiting: list[Assigned]) -> list[Assigned]:
    """What a person has before them, the earliest first; more is reserved up to `AHEAD`.

    `waiting` is what they were given and have not answered.
    """
    mine = [given for given in waiting if is_ours(conn, study, given)]
    while len(mine) < AHEAD:
        more = _reserve(conn, study, seat)
        if more is None:
            break
        mine.append(more)
    return mine


def _reserve(conn: Connection, study: OpenStudy, seat: Seat) -> Assigned | None:
    """One more task for a person: of the stage where they work, else of the first that has one."""
    before = seat.place()
    here = None if seat.stage_id is None else study.stage(seat.stage_id)
    for stage in ([here] if here else []) + [one for one in study.stages if one is not here]:
        if stage is not here:
            _move(conn, seat, stage)
        given = _reserve_in(conn, study, seat, stage)
        if given is not None:
            return given
    seat.put(before)
    save(conn, study, seat)
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
    seat.stage_id = stage.id
    seat.trained, seat.served = counts.get("training", 0), counts.get("item", 0)
    seat.checks, seat.golds = counts.get("check", 0), counts.get("gold", 0)


def _reserve_in(
    conn: Connection, study: OpenStudy, seat: Seat, stage: OpenStage
) -> Assigned | None:
    """A person's next task in a stage, if it has an item for them."""
    limit = stage.rules.at_most
    if limit and seat.served >= limit:
        return None
    task = _extra(conn, study, seat, stage) or _pick(conn, study, seat, stage)
    return None if task is None else _give(conn, study, seat, task)


def _extra(conn: Connection, study: OpenStudy, seat: Seat, stage: OpenStage) -> Any:
    """A training example, attention check or gold item, if one is due."""
    rules, seed = stage.rules, study.plan.seed
    if seat.trained < stage.training:
        # nobody is trained for nothing
        free = seat.trained or conn.execute(_FREE, _where(seat, stage)).first()
        row = _unseen(conn, seat, stage, "training") if free else None
        seat.trained += row is not None
        return row
    if seat.checks < min(stage.checks, due(rules.checks, seat.served, seed, seat.code, "check")):
        seat.checks += 1
        return _unseen(conn, seat, stage, "check")
    if seat.golds < min(stage.golds, due(rules.gold, seat.served, seed, seat.code, "gold")):
        seat.golds += 1
        return _unseen(conn, seat, stage, "gold")
    return None


def _unseen(conn: Connection, seat: Seat, stage: OpenStage, role: str) -> Any:
    return conn.execute(_EXTRA, {**_where(seat, stage), "_role": role}).first()


def _where(seat: Seat, stage: OpenStage) -> dict[str, Any]:
    return {"_person_id": seat.id, "_stage": stage.id}


def _pick(conn: Connection, study: OpenStudy, seat: Seat, stage: OpenStage) -> Any:
    """Hold the next item for a person: of the lane whose turn it is, else whatever there is."""
    values = {**_where(seat, stage), "_lane": _lane(study, seat, stage)}
    row = conn.execute(_PICK_IN_LANE, values).first()
    if row is None:
        row = conn.execute(_PICK_ANY, _where(seat, stage)).first()
    seat.served += row is not None
    return row


def _lane(study: OpenStudy, seat: Seat, stage: OpenStage) -> int:
    """The lane whose turn it is: each once, in an order drawn for each person and round."""
    turn, place = divmod(seat.served, LANES)
    drawn = seeds.number(study.plan.seed, "lanes", seat.code, stage.rules.name, turn)
    first, step = drawn % LANES, 2 * (drawn // LANES % LANES) + 1
    return (first + place * step) % LANES  # an odd step meets each of a power of two once


def _give(conn: Connection, study: OpenStudy, seat: Seat, task: Any) -> Assigned:
    """Write down that a person has a task, with the order of options drawn for them."""
    stage = study.stage(task.stage_id)
    matter = Matter.from_json(json.loads(task.matter))
    path = (seat.code, stage.rules.name, task.key)
    order = draw_order(stage.question.form(matter), study.plan.seed, *path)
    seat.last_number += 1
    values = {
        **seat_values(study, seat),
        "_task_id": task.id,
        "_number": seat.last_number,
        "_unit": task.unit,
        "_drawn": json.dumps(order),
        "_reserved_at": study.clock(),
        "_expires_at": until(study, stage),
    }
    row = _GIVE.run(conn, values)
    parts = (stage, task.role, matter, order)
    return Assigned(row.id, seat.last_number, task.id, *parts, "open", "open")

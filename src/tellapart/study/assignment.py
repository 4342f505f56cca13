"""Assigns tasks to people: training first, then items with checks and gold in between.

Nobody gets an item twice, and so nobody verifies their own choice: the later stage's task has the
same `unit`, and the database allows each unit once per person. People stay in a stage as long as it
has tasks for them. All of this happens within one person's transaction.

A judgement of a task is reserved for a person until they answer or time runs out. `task.held`
counts reservations and changes in the same transaction as the assignment, so that the two never
disagree; a task is `free` while others may take it. Clock changes do no harm: an expired
reservation is renewed if the person returns and the task is still needed, and a reservation from
the future expires immediately.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
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
from tellapart.study.questions.page import draw_order
from tellapart.study.questions.question import Matter, TaskForm
from tellapart.study.sessions import (
    OF_SESSION,
    PLACE,
    SAVE,
    SEAT_COLUMNS,
    Seat,
    read_seat,
    seat_values,
    session_values,
)
from tellapart.study.store import schema as t
from tellapart.study.store.database import ChangeSet, new_value
from tellapart.study.study import OpenStage, OpenStudy
from tellapart.study.tasks import LANES, due

MINUTE = 60_000
JUMP = 5 * MINUTE
"""A reservation dated this far in the future means that the clock was set back."""
SWEEP = 500
"""Maximum number of reservations released in one transaction."""
AHEAD = 2
"""Tasks held per person: the current one, and the next, whose pictures load in the meantime."""
_A, _T = t.assignment.c, t.task.c
_GIVEN = (
    _A.id.label("given_id"), _A.number, _A.task_id, _A.drawn, _A.state.label("given_state"),
    _T.stage_id.label("task_stage"), _T.role, _T.matter, _T.state.label("task_state"),
)  # fmt: skip
_BY_NUMBER = (
    select(*_GIVEN)
    .join(t.task, _T.id == _A.task_id)
    .where(_A.person_id == bindparam("person"), _A.number == bindparam("number"))
)
_WAITING: ColumnElement[bool] = literal_column("assignment.state IN ('open', 'expired')")
_ARRIVE = (
    select(*SEAT_COLUMNS, *_GIVEN)
    .select_from(
        t.session.join(t.person, t.session.c.person_id == t.person.c.id)
        .outerjoin(t.assignment, (_A.person_id == t.person.c.id) & _WAITING)
        .outerjoin(t.task, _T.id == _A.task_id)
    )
    .where(*OF_SESSION)
    .order_by(_A.number)
    # two tabs of one person must not both take tasks; "key share" still allows new assignments
    .with_for_update(of=t.person, key_share=True)
)


@dataclass(frozen=True, slots=True)
class Assignment:
    """A person's task: `order` is the order in which they see the options."""

    id: int
    number: int
    task_id: int
    stage: OpenStage
    role: str
    matter: Matter
    order: list[int]
    state: str
    task_state: str

    def form(self) -> TaskForm:
        """What the task shows and asks."""
        return self.stage.question.form(self.matter)

    def pictures(self) -> list[int]:
        """Indices of the matter's pictures, in the order in which they are shown.

        Addresses follow this order, so that they do not reveal a picture's index in the matter.
        """
        form = self.form()
        shown = [one.image for one in form.shown] + [form.options[k].image for k in self.order]
        return [image for image in shown if image is not None]


def find_assigned(
    conn: Connection, study: OpenStudy, person: int, number: int
) -> Assignment | None:
    """A person's task by its number."""
    row = conn.execute(_BY_NUMBER, {"person": person, "number": number}).first()
    return None if row is None else _read(study, row)


def arrive(conn: Connection, study: OpenStudy, session: str) -> tuple[Seat, list[Assignment]]:
    """The person of a session, locked until the transaction ends, and their waiting tasks.

    Waiting tasks are those assigned but not answered, including expired ones.
    """
    rows = conn.execute(_ARRIVE, session_values(study, session)).all()
    seat = read_seat(rows[0] if rows else None)
    return seat, [_read(study, row) for row in rows if row.given_id is not None]


def _read(study: OpenStudy, row: Any) -> Assignment:
    return Assignment(
        id=row.given_id,
        number=row.number,
        task_id=row.task_id,
        stage=study.stage(row.task_stage),
        role=row.role,
        matter=Matter.from_json(json.loads(row.matter)),
        order=json.loads(row.drawn),
        state=row.given_state,
        task_state=row.task_state,
    )


_OPEN = literal_column("assignment.state") == literal_column("'open'")
_ROOM = (_T.id == bindparam("_task_id")) & (literal_column("free"))
_HOLD = {
    "sqlite": update(t.task).where(_ROOM).values(held=_T.held + 1).returning(_T.id),
    # skip a task locked by another transaction: waiting for it could end in a deadlock
    "postgresql": update(t.task)
    .where(_T.id.in_(select(_T.id).where(_ROOM).with_for_update(skip_locked=True, key_share=True)))
    .values(held=_T.held + 1)
    .returning(_T.id),
}
"""Reserve one of the judgements a task still needs; no row if others hold them all."""


def _reservation(study: OpenStudy, stage: OpenStage) -> dict[str, int]:
    """The times at which a reservation starts (now) and expires."""
    now = study.clock()
    return {"reserved_at": now, "expires_at": now + int(stage.rules.minutes * MINUTE)}


def is_ours(conn: Connection, study: OpenStudy, assignment: Assignment) -> bool:
    """Whether an unanswered task still belongs to the person.

    An expired reservation is renewed if the task is still needed; otherwise the person loses it.
    """
    if assignment.role != "item":
        return True  # not shared with others
    if assignment.state == "open" and assignment.task_state == "open":
        return True
    if assignment.state == "open":  # closed or voided while they held it
        _give_back(conn, [(assignment.task_id, assignment.id)], "lost")
        return False
    hold = _HOLD[conn.dialect.name], {"_task_id": assignment.task_id}
    took = not _survey_gone(conn, study, assignment) and conn.execute(*hold).first() is not None
    values = {"state": "open" if took else "lost", **_reservation(study, assignment.stage)}
    conn.execute(update(t.assignment).where(_A.id == assignment.id).values(values))
    return took


def _survey_gone(conn: Connection, study: OpenStudy, assignment: Assignment) -> bool:
    """Whether someone else has taken the survey that an expired task belongs to."""
    if not study.plan.survey:
        return False
    _lock_surveys(conn, study)
    person = conn.execute(select(_A.person_id).where(_A.id == assignment.id)).scalar_one()
    others = select(_T.id).where(_T.id == assignment.task_id, _SURVEY_OF_OTHERS)
    return conn.execute(others, {"_person_id": person}).first() is not None


def release(conn: Connection, person: int, state: str) -> None:
    """Release all reservations of a person; they become `expired` or `lost`."""
    rows = conn.execute(select(_A.id, _A.task_id).where(_A.person_id == person, _OPEN)).all()
    _give_back(conn, [(row.task_id, row.id) for row in rows], state)


def expire(conn: Connection, study: OpenStudy) -> int:
    """Release expired reservations; returns how many.

    Runs in a transaction of its own, because it touches the tasks of many people.
    """
    now = study.clock()
    late = (_A.expires_at < now) | (_A.reserved_at > now + JUMP)
    # an assignment locked by another transaction is being answered just now: skip it
    rows = conn.execute(
        select(_A.id, _A.task_id).where(_OPEN, late).limit(SWEEP).with_for_update(skip_locked=True)
    ).all()
    _give_back(conn, [(row.task_id, row.id) for row in rows], "expired")
    return len(rows)


def _give_back(conn: Connection, held: list[tuple[int, int]], state: str) -> None:
    """End reservations (task, assignment) in task order, the global locking order."""
    for task, assignment in sorted(held):
        ended = update(t.assignment).where(_A.id == assignment, _OPEN).values(state=state)
        if conn.execute(ended).rowcount:
            back = update(t.task).where(_T.id == task, _T.role == "item", _T.state != "void")
            conn.execute(back.values(held=_T.held - 1))


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
_PARTNER: BindParameter[int] = bindparam("_partner_id")
_OF_OTHERS = (
    select(_A.id)
    .where(
        _A.task_id == _T.id,
        _A.person_id != _PERSON,
        _A.person_id != _PARTNER,
        literal_column("assignment.state") != literal_column("'lost'"),
        literal_column("assignment.state") != literal_column("'expired'"),
    )
    .exists()
)
"""Whether someone other than the person and their partner has or had the task."""
_NEAR = t.task.alias("near")
_IN_SURVEY = (
    select(_A.id)
    .join(_NEAR, _NEAR.c.id == _A.task_id)
    .outerjoin(t.judgement, t.judgement.c.assignment_id == _A.id)
    .where(
        _NEAR.c.stage_id == _T.stage_id,
        _NEAR.c.lane == _T.lane,
        _NEAR.c.role == "item",
        literal_column("assignment.state IN ('open', 'done')"),
        func.coalesce(t.judgement.c.void, False).is_(False),
    )
)
_SURVEY_OF_OTHERS = _IN_SURVEY.where(_A.person_id != _PERSON).correlate(t.task).exists()
"""Whether someone else holds or has answered a task of the same survey."""
_SURVEY_BEGUN = _IN_SURVEY.where(_A.person_id == _PERSON).correlate(t.task).exists()
_COLUMNS = (_T.id, _T.stage_id, _T.role, _T.key, _T.unit, _T.matter)


def _picking(free: Select[Any]) -> Update:
    """Reserve a free task and read it, skipping tasks locked by other transactions."""
    chosen = free.with_for_update(skip_locked=True, key_share=True).scalar_subquery()
    return update(t.task).where(_T.id == chosen).values(held=_T.held + 1).returning(*_COLUMNS)


_PICK_IN_LANE, _PICK_ANY = _picking(_IN_LANE), _picking(_FREE)
_PICK_IN_PAIR = _picking(_FREE.where(~_OF_OTHERS))
_PICK_IN_SURVEY = _picking(
    _FREE.where(~_SURVEY_OF_OTHERS).order_by(None).order_by(_SURVEY_BEGUN.desc(), _T.lane, _T.rank)
)
_EXTRA = (
    select(*_COLUMNS)
    .where(_T.stage_id == _STAGE, _T.role == bindparam("_role"), _T.state == "open", ~_SEEN)
    .order_by(_T.rank)
    .limit(1)
)
_VALUES = ("person_id", "task_id", "number", "unit", "drawn", "reserved_at", "expires_at")
_PLACE = (
    insert(t.assignment)
    .values({name: new_value(_A[name]) for name in _VALUES} | {"state": literal_column("'open'")})
    .returning(_A.id)
)
_GIVE = ChangeSet(sqlite=(_PLACE, SAVE), postgresql=_PLACE.add_cte(SAVE.cte("saved")))


def held(
    conn: Connection, study: OpenStudy, seat: Seat, waiting: list[Assignment]
) -> list[Assignment]:
    """The tasks a person holds, oldest first; more are reserved up to `AHEAD`.

    `waiting` are the tasks assigned to them but not answered.
    """
    mine = [one for one in waiting if is_ours(conn, study, one)]
    while len(mine) < AHEAD:
        more = _reserve(conn, study, seat)
        if more is None:
            break
        mine.append(more)
    return mine


def _reserve(conn: Connection, study: OpenStudy, seat: Seat) -> Assignment | None:
    """One more task for a person: from their current stage, else from the first that has one."""
    before = seat_values(study, seat)
    here = None if seat.stage_id is None else study.stage(seat.stage_id)
    for stage in ([here] if here else []) + [one for one in study.stages if one is not here]:
        if stage is not here:
            _move(conn, seat, stage)
        if stage.rules.at_most and seat.served >= stage.rules.at_most:
            continue
        task = _extra(conn, study, seat, stage) or _pick(conn, study, seat, stage)
        if task is not None:
            return _give(conn, study, seat, task)
    for name in PLACE:  # no stage has a task: they stay in their stage
        setattr(seat, name, before[f"_{name}"])
    conn.execute(SAVE, before)
    return None


def _move(conn: Connection, seat: Seat, stage: OpenStage) -> None:
    """Move a person to another stage, and count the tasks they already had there."""
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


def _extra(conn: Connection, study: OpenStudy, seat: Seat, stage: OpenStage) -> Any:
    """A training example, attention check or gold item, if one is due."""
    values = {"_person_id": seat.id, "_stage": stage.id}
    if seat.trained < stage.training:
        # no training unless there are items to judge
        free = seat.trained or conn.execute(_FREE, values).first()
        row = conn.execute(_EXTRA, {**values, "_role": "training"}).first() if free else None
        seat.trained += row is not None
        return row
    extras = extras_due(study, seat.code, stage, seat.served)
    if seat.checks < extras["check"]:
        seat.checks += 1
        return conn.execute(_EXTRA, {**values, "_role": "check"}).first()
    if seat.golds < extras["gold"]:
        seat.golds += 1
        return conn.execute(_EXTRA, {**values, "_role": "gold"}).first()
    return None


def extras_due(study: OpenStudy, code: str, stage: OpenStage, items: int) -> dict[str, int]:
    """How many checks and gold items are due for a person after this many items."""
    seed, rules = study.plan.seed, stage.rules
    return {
        "check": min(stage.checks, due(rules.checks, items, seed, code, "check")),
        "gold": min(stage.golds, due(rules.gold, items, seed, code, "gold")),
    }


def _pick(conn: Connection, study: OpenStudy, seat: Seat, stage: OpenStage) -> Any:
    """Reserve the next item for a person: from the lane whose turn it is, else any free one."""
    values = {"_person_id": seat.id, "_stage": stage.id}
    if study.plan.survey:
        _lock_surveys(conn, study)
        row = conn.execute(_PICK_IN_SURVEY, values).first()
    elif study.plan.pairs:
        values["_partner_id"] = _partner(conn, study, seat)
        row = conn.execute(_PICK_IN_PAIR, values).first()
    else:
        row = conn.execute(_PICK_IN_LANE, {**values, "_lane": _lane(study, seat, stage)}).first()
        if row is None:
            row = conn.execute(_PICK_ANY, values).first()
    seat.served += row is not None
    return row


def _lock_surveys(conn: Connection, study: OpenStudy) -> None:
    """Lock the study's row, so that two people who come together do not begin the same survey."""
    mine = select(t.study.c.id).where(t.study.c.id == study.plan.id)
    conn.execute(mine.with_for_update(key_share=True))


def _partner(conn: Connection, study: OpenStudy, seat: Seat) -> int:
    """The other person of a fixed pair: the first two to join, the next two, ...

    Both take tasks in the same order, so that items judged twice are judged by a pair (BiVLC's
    kappa, Miranda et al. 2024, appendix I.3). -1 if there is no partner yet.
    """
    people = select(t.person.c.id).where(t.person.c.study_id == study.plan.id)
    mine = conn.execute(people.order_by(t.person.c.id)).scalars().all()
    other = list(mine).index(seat.id) ^ 1
    return mine[other] if other < len(mine) else -1


def _lane(study: OpenStudy, seat: Seat, stage: OpenStage) -> int:
    """The lane whose turn it is: each once, in an order drawn for each person and round."""
    turn, place = divmod(seat.served, LANES)
    drawn = seeds.number(study.plan.seed, "lanes", seat.code, stage.rules.name, turn)
    first, step = drawn % LANES, 2 * (drawn // LANES % LANES) + 1
    return (first + place * step) % LANES  # with a power of two, an odd step visits each lane once


def _give(conn: Connection, study: OpenStudy, seat: Seat, task: Any) -> Assignment:
    """Record that a person has a task, with the option order drawn for them."""
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
        **{f"_{name}": time for name, time in _reservation(study, stage).items()},
    }
    row = _GIVE.run(conn, values)
    parts = (stage, task.role, matter, order)
    return Assignment(row.id, seat.last_number, task.id, *parts, "open", "open")

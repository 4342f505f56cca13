"""Answers: taken once, sent again without harm, corrected while that is possible."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    func,
    insert,
    literal_column,
    select,
    update,
)

from tellapart.annotate.assigned import Assigned, find_assigned
from tellapart.annotate.events import record
from tellapart.annotate.opening import OpenStudy
from tellapart.annotate.questions.question import Answer
from tellapart.annotate.questions.showing import is_right, read_answer
from tellapart.annotate.reservations import is_ours
from tellapart.annotate.seats import Seat
from tellapart.annotate.settling import reopen, settle
from tellapart.annotate.store import tables as t
from tellapart.annotate.store.database import Interrupted
from tellapart.annotate.store.steps import Steps, new
from tellapart.errors import TellapartError

_A, _J, _T = t.assignment.c, t.judgement.c, t.task.c
_JUDGEMENT = (
    "assignment_id", "task_id", "person_id", "choice", "word", "is_right", "answered_at",
    "milliseconds",
)  # fmt: skip
_JUDGE = insert(t.judgement).values({name: new(_J[name]) for name in _JUDGEMENT})
_OPEN: ColumnElement[str] = literal_column("'open'")
_EXTRA_DONE = (
    update(t.assignment)
    .where(_A.id == bindparam("_assignment_id"))
    .values(state=literal_column("'done'"))
    .returning(_A.task_id)
)
_DONE = _EXTRA_DONE.where(_A.state == _OPEN)
_COUNT = (
    update(t.task)
    .where(_T.state == "open")
    .values(given=_T.given + 1, held=_T.held - 1)
    .returning(_T.given, _T.wanted)
)
_TAKE = Steps(
    sqlite=(_COUNT.where(_T.id == bindparam("_task_id")), _DONE, _JUDGE),
    # through the assignment to the task, the order in which everyone locks them
    postgresql=_COUNT.where(_T.id.in_(select(_DONE.cte("done").c.task_id))).add_cte(
        _JUDGE.cte("judged")
    ),
)


class Conflict(TellapartError):
    """An answer that cannot be taken: another was given before, or it comes too late."""


class NotThere(TellapartError):
    """Something that this person was not given."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as it comes from the page; `value` is an option's name as this person sees it."""

    number: int
    value: str
    word: int | None = None
    milliseconds: int | None = None
    revise: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """An answer that stands."""

    given: Assigned
    answer: Answer
    right: bool | None


def answer(
    conn: Connection, study: OpenStudy, seat: Seat, reply: Reply, waiting: list[Assigned]
) -> Taken:
    """Take a person's answer; the same one sent again changes nothing.

    `waiting` is what they were given and have not answered, among which the task usually is.
    """
    given = next((one for one in waiting if one.number == reply.number), None)
    given = given or find_assigned(conn, study, seat.id, reply.number)
    if given is None:
        raise NotThere(f"there is no task {reply.number}", todo="ask for the next task")
    question = given.stage.question
    meant = read_answer(question, given.matter, given.order, reply.value, reply.word)
    taken = Taken(given, meant, is_right(given.matter, meant))
    if given.state == "done":
        if stored_answer(conn, given) != meant:
            _revise(conn, study, seat, taken, reply)
        return taken
    if given.state == "lost" or not is_ours(conn, study, given):
        raise _too_late()
    _judge(conn, study, seat, taken, reply)
    return taken


def stored_answer(conn: Connection, given: Assigned) -> Answer | None:
    """What a person said before."""
    row = conn.execute(select(_J.choice, _J.word).where(_J.assignment_id == given.id)).first()
    return None if row is None else Answer(row.choice, row.word)


def may_revise(conn: Connection, seat: Seat, given: Assigned) -> bool:
    """Whether an answer can be corrected: an item's, until someone works on what it led to."""
    if given.state != "done" or given.role == "training" or seat.state != "active":
        return False
    void = select(_J.void).where(_J.assignment_id == given.id)
    begun = select(func.count()).where(_T.parent_id == given.task_id, _T.given + _T.held > 0)
    gone = select(_T.state).where(_T.id == given.task_id)
    return not (
        conn.execute(void).scalar_one()
        or conn.execute(begun).scalar_one()
        or conn.execute(gone).scalar_one() == "void"
    )


def _too_late() -> Conflict:
    return Conflict("this task went to someone else meanwhile", todo="go on with the next one")


def _judge(conn: Connection, study: OpenStudy, seat: Seat, taken: Taken, reply: Reply) -> None:
    given = taken.given
    values = {
        "_assignment_id": given.id,
        "_task_id": given.task_id,
        "_person_id": seat.id,
        "_choice": taken.answer.choice,
        "_word": taken.answer.word,
        "_is_right": taken.right,
        "_answered_at": study.clock(),
        "_milliseconds": reply.milliseconds,
    }
    if given.role != "item":
        conn.execute(_EXTRA_DONE, values)
        conn.execute(_JUDGE, values)
        return
    counts = _TAKE.run(conn, values)
    if counts is None:  # since we looked it ran out, or was closed: look again
        raise Interrupted("another transaction came in between")
    if counts.given >= counts.wanted:
        settle(conn, study, given.task_id)


def _revise(conn: Connection, study: OpenStudy, seat: Seat, taken: Taken, reply: Reply) -> None:
    """Put another answer in the place of the first, and decide anew."""
    given = taken.given
    if not reply.revise:
        raise Conflict(f"task {reply.number} was answered before", todo="say that you revise it")
    if not may_revise(conn, seat, given):
        raise Conflict(f"task {reply.number} can no longer be corrected", todo="go on")
    before = stored_answer(conn, given)
    assert before is not None
    conn.execute(
        update(t.judgement)
        .where(_J.assignment_id == given.id)
        .values(
            choice=taken.answer.choice,
            word=taken.answer.word,
            is_right=taken.right,
            revisions=_J.revisions + 1,
        )
    )
    record(conn, study, "revised", seat.code, number=reply.number, before=before.choice)
    if given.role == "item":
        reopen(conn, study, given.task_id)

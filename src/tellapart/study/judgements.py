"""Judgements: accepting, repeating and revising answers, and the effects on their tasks.

A task may close, ask for more judgements, reopen, and lead to tasks of the next stage. All code
changes rows in the order assignment, task, judgement, so that transactions cannot deadlock.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    select,
    update,
)

from tellapart.errors import TellapartError
from tellapart.study.assignment import Assignment, find_assigned, is_ours
from tellapart.study.questions.page import is_right, read_answer
from tellapart.study.questions.question import Following, Matter, PersonAnswer
from tellapart.study.sessions import Seat
from tellapart.study.store import schema as t
from tellapart.study.store.database import ChangeSet, Interrupted, new_value
from tellapart.study.study import OpenStage, OpenStudy
from tellapart.study.tasks import Vote, missing, outcome_of, task_row

_A, _J, _T = t.assignment.c, t.judgement.c, t.task.c
_JUDGEMENT = (
    "assignment_id", "task_id", "person_id", "choice", "word", "is_right", "answered_at",
    "milliseconds",
)  # fmt: skip
_JUDGE = insert(t.judgement).values({name: new_value(_J[name]) for name in _JUDGEMENT})
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
_TAKE = ChangeSet(
    sqlite=(_COUNT.where(_T.id == bindparam("_task_id")), _DONE, _JUDGE),
    # from the assignment to the task, which is the global locking order
    postgresql=_COUNT.where(_T.id.in_(select(_DONE.cte("done").c.task_id))).add_cte(
        _JUDGE.cte("judged")
    ),
)
_VOTES = (
    select(_J.choice, _J.is_right)
    .where(_J.task_id == bindparam("task"), _J.void.is_(False))
    .order_by(_J.answered_at, _J.assignment_id)
)
_STORED = select(_T.stage_id, _T.unit, _T.matter, _T.full_number, _T.wanted)


class Conflict(TellapartError):
    """An answer that cannot be accepted: another was given before, or it is too late."""


class NotThere(TellapartError):
    """A task that was not assigned to this person."""


@dataclass(frozen=True, slots=True)
class SentAnswer:
    """An answer as sent by the page; `value` is the option's name as this person sees it."""

    number: int
    value: str
    word: int | None = None
    milliseconds: int | None = None
    revise: bool = False


@dataclass(frozen=True, slots=True)
class TakenAnswer:
    """An accepted answer."""

    assignment: Assignment
    answer: PersonAnswer
    right: bool | None


def answer(
    conn: Connection, study: OpenStudy, seat: Seat, sent: SentAnswer, waiting: list[Assignment]
) -> TakenAnswer:
    """Accept a person's answer; sending the same one again changes nothing.

    `waiting` are the tasks assigned to them but not answered; the answered task is usually one.
    """
    assignment = next((one for one in waiting if one.number == sent.number), None)
    assignment = assignment or find_assigned(conn, study, seat.id, sent.number)
    if assignment is None:
        raise NotThere(f"there is no task {sent.number}", todo="request the next task")
    question = assignment.stage.question
    meant = read_answer(question, assignment.matter, assignment.order, sent.value, sent.word)
    taken = TakenAnswer(assignment, meant, is_right(assignment.matter, meant))
    if assignment.state == "done":
        before = stored_answer(conn, assignment)
        if before is not None and before != meant:
            _revise(conn, study, seat, taken, sent, before)
        return taken
    if assignment.state == "lost" or not is_ours(conn, study, assignment):
        raise Conflict("this task has gone to someone else", todo="continue with the next one")
    _judge(conn, study, seat, taken, sent)
    return taken


def stored_answer(conn: Connection, assignment: Assignment) -> PersonAnswer | None:
    """A person's earlier answer."""
    row = conn.execute(select(_J.choice, _J.word).where(_J.assignment_id == assignment.id)).first()
    return None if row is None else PersonAnswer(row.choice, row.word)


def measured_times(rows: Iterable[Any]) -> Iterator[tuple[Any, int]]:
    """Each judgement with the milliseconds it took by the server's own clock.

    Time counts from when the person could see the task: when they had answered the previous one or
    were assigned this one, whichever was later. Rows have `person_id`, `reserved_at` and
    `answered_at`, and must be in order of `answered_at`.
    """
    last: dict[int, int] = {}
    for row in rows:
        begun = max(row.reserved_at, last.get(row.person_id, 0))
        last[row.person_id] = row.answered_at
        yield row, max(0, row.answered_at - begun)  # a clock may have been set back


def may_revise(conn: Connection, seat: Seat, assignment: Assignment) -> bool:
    """Whether an answer can be revised: an item's, until someone works on a task it led to."""
    if assignment.state != "done" or assignment.role == "training" or seat.state != "active":
        return False
    void = select(_J.void).where(_J.assignment_id == assignment.id)
    begun = select(func.count()).where(_T.parent_id == assignment.task_id, _T.given + _T.held > 0)
    gone = select(_T.state).where(_T.id == assignment.task_id)
    return not (
        conn.execute(void).scalar_one()
        or conn.execute(begun).scalar_one()
        or conn.execute(gone).scalar_one() == "void"
    )


def _judge(
    conn: Connection, study: OpenStudy, seat: Seat, taken: TakenAnswer, sent: SentAnswer
) -> None:
    assignment = taken.assignment
    values = {
        "_assignment_id": assignment.id,
        "_task_id": assignment.task_id,
        "_person_id": seat.id,
        "_choice": taken.answer.choice,
        "_word": taken.answer.word,
        "_is_right": taken.right,
        "_answered_at": study.clock(),
        "_milliseconds": sent.milliseconds,
    }
    if assignment.role != "item":
        conn.execute(_EXTRA_DONE, values)
        conn.execute(_JUDGE, values)
        return
    counts = _TAKE.run(conn, values)
    if counts is None:  # it has expired or been closed since we read it: try again
        raise Interrupted("another transaction intervened")
    if counts.given >= counts.wanted:
        settle(conn, study, assignment.task_id)


def _revise(
    conn: Connection,
    study: OpenStudy,
    seat: Seat,
    taken: TakenAnswer,
    sent: SentAnswer,
    before: PersonAnswer,
) -> None:
    """Replace the first answer by another, and decide the task again."""
    assignment = taken.assignment
    if not sent.revise:
        raise Conflict(
            f"task {sent.number} has already been answered", todo="mark it as a revision"
        )
    if not may_revise(conn, seat, assignment):
        raise Conflict(f"task {sent.number} can no longer be revised", todo="continue")
    values = {"choice": taken.answer.choice, "word": taken.answer.word, "is_right": taken.right}
    mine = update(t.judgement).where(_J.assignment_id == assignment.id)
    conn.execute(mine.values(**values, revisions=_J.revisions + 1))
    study.record(conn, "revised", seat.code, number=sent.number, before=before.choice)
    if assignment.role == "item":
        reopen(conn, study, assignment.task_id)


def settle(conn: Connection, study: OpenStudy, task: int) -> None:
    """Close a task with enough judgements, or ask for more; a kept task leads to the next stage."""
    stored = conn.execute(_STORED.where(_T.id == task)).one()
    stage, votes = study.stage(stored.stage_id), _votes(conn, task)
    matter = Matter.from_json(json.loads(stored.matter))
    rules, full = stage.rules, max(stored.full_number, len(votes))
    if rules.stop == "decided":
        more = missing(rules.keep, full, votes, matter.truth is not None)
        if more:
            _set(conn, task, wanted=len(votes) + more)
            return
    options = frozenset(option.key for option in stage.question.form(matter).options)
    outcome = outcome_of(rules.keep, full, votes, options)
    result = {"kept": outcome.kept, "chosen": outcome.chosen}
    _set(conn, task, state="closed", closed_at=study.clock(), **result)
    following = study.after(stage)
    if following is not None:
        question = following.question
        assert isinstance(question, Following)  # checked with the plan
        chosen = outcome.chosen if outcome.kept else None
        new = [] if chosen is None else list(question.follow(matter, chosen))
        _lead_on(conn, study, following, task, stored.unit, new)


def reopen(conn: Connection, study: OpenStudy, task: int) -> None:
    """Decide a task again after its judgements changed.

    Tasks that it led to are kept as long as there are judgements that may lead to them again.
    """
    stored = conn.execute(_STORED.where(_T.id == task)).one()
    given = len(_votes(conn, task))
    _set(conn, task, given=given, state="open", kept=None, chosen=None, closed_at=None)
    if given >= stored.wanted:
        settle(conn, study, task)
    elif not given:
        take_back(conn, task)


def ask_again(conn: Connection, task: int) -> None:
    """Ask for one more judgement of a task than planned."""
    given = len(_votes(conn, task))
    _set(
        conn, task, state="open", kept=None, chosen=None, closed_at=None, wanted=given + 1,
        full_number=func.max(_T.full_number, given + 1)
        if conn.dialect.name == "sqlite"
        else func.greatest(_T.full_number, given + 1),
    )  # fmt: skip


def take_back(conn: Connection, task: int) -> None:
    """Undo what a task led to: delete untouched tasks, and void those already assigned."""
    children = select(_T.id, _T.key).where(_T.parent_id == task, _T.state != "void")
    for child in conn.execute(children.order_by(_T.id)).all():
        take_back(conn, child.id)
        open_ = _A.task_id == child.id, _A.state.in_(("open", "expired"))
        conn.execute(update(t.assignment).where(*open_).values(state="lost"))
        given_out = select(func.count()).where(_A.task_id == child.id)
        if not conn.execute(given_out).scalar_one():
            conn.execute(delete(t.task).where(_T.id == child.id))
            continue
        # rename the key to make room for a new task with the same key
        _set(conn, child.id, state="void", held=0, key=f"{child.key}#void-{child.id}")
        conn.execute(update(t.judgement).where(_J.task_id == child.id).values(void=True))


def _votes(conn: Connection, task: int) -> list[Vote]:
    rows = conn.execute(_VOTES, {"task": task})
    return [Vote(row.choice, row.is_right) for row in rows]


def _set(conn: Connection, task: int, **values: object) -> None:
    conn.execute(update(t.task).where(_T.id == task).values(**values))


def _lead_on(
    conn: Connection, study: OpenStudy, stage: OpenStage, parent: int, unit: str, new: list[Matter]
) -> None:
    """Create the next stage's tasks; existing ones are kept if they are the same.

    They have the same unit, so that nobody verifies their own choice.
    """
    rows = [task_row(study.plan, stage.rules, stage.id, matter, unit) for matter in new]
    there = conn.execute(select(_T.matter).where(_T.parent_id == parent, _T.state != "void"))
    if sorted(there.scalars()) == sorted(row["matter"] for row in rows):
        return
    take_back(conn, parent)
    for row in rows:
        conn.execute(insert(t.task).values(**row, parent_id=parent))

"""What becomes of a task: it closes, asks for more, opens again, and leads to the next stage.

Where several rows of different tables change, the order is assignment, task, judgement: everyone
keeps to it, so that transactions do not wait for each other in a circle.
"""

from __future__ import annotations

import json

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from tellapart.annotate.filling import task_row
from tellapart.annotate.opening import OpenStage, OpenStudy
from tellapart.annotate.questions.question import Following, Matter
from tellapart.annotate.store import tables as t
from tellapart.annotate.verdicts import Said, missing, verdict

_A, _J, _T = t.assignment.c, t.judgement.c, t.task.c
_SAID = (
    select(_J.choice, _J.is_right)
    .where(_J.task_id == bindparam("task"), _J.void.is_(False))
    .order_by(_J.answered_at, _J.assignment_id)
)
_STORED = select(_T.stage_id, _T.unit, _T.matter, _T.full_number, _T.wanted)


def settle(conn: Connection, study: OpenStudy, task: int) -> None:
    """Close a task that has what it wanted, or ask for more; one that is kept goes on."""
    stored = conn.execute(_STORED.where(_T.id == task)).one()
    stage, said = study.stage(stored.stage_id), _said(conn, task)
    matter = Matter.from_json(json.loads(stored.matter))
    rules, full = stage.rules, max(stored.full_number, len(said))
    if rules.stop == "decided":
        more = missing(rules.keep, full, said, matter.truth is not None)
        if more:
            _set(conn, task, wanted=len(said) + more)
            return
    options = frozenset(option.key for option in stage.question.form(matter).options)
    found = verdict(rules.keep, full, said, options)
    outcome = {"kept": found.kept, "chosen": found.chosen}
    _set(conn, task, state="closed", closed_at=study.clock(), **outcome)
    following = study.after(stage)
    if following is not None:
        going_on = found.chosen if found.kept else None
        _lead_on(conn, study, following, task, stored.unit, _followers(following, matter, going_on))


def reopen(conn: Connection, study: OpenStudy, task: int) -> None:
    """Decide a task anew after its judgements changed.

    What it led to stays while judgements are left that may lead there again.
    """
    stored = conn.execute(_STORED.where(_T.id == task)).one()
    given = len(_said(conn, task))
    _set(conn, task, given=given, state="open", kept=None, chosen=None, closed_at=None)
    if given >= stored.wanted:
        settle(conn, study, task)
    elif not given:
        take_back(conn, task)


def ask_again(conn: Connection, task: int) -> None:
    """Ask for one more judgement of a task than it was to get."""
    given = len(_said(conn, task))
    _set(
        conn, task, state="open", kept=None, chosen=None, closed_at=None, wanted=given + 1,
        full_number=func.max(_T.full_number, given + 1)
        if conn.dialect.name == "sqlite"
        else func.greatest(_T.full_number, given + 1),
    )  # fmt: skip


def take_back(conn: Connection, task: int) -> None:
    """Undo what a task led to: untouched tasks go, those that people were given become void."""
    children = select(_T.id, _T.key).where(_T.parent_id == task, _T.state != "void")
    for child in conn.execute(children.order_by(_T.id)).all():
        take_back(conn, child.id)
        open_ = _A.task_id == child.id, _A.state.in_(("open", "expired"))
        conn.execute(update(t.assignment).where(*open_).values(state="lost"))
        given_out = select(func.count()).where(_A.task_id == child.id)
        if not conn.execute(given_out).scalar_one():
            conn.execute(delete(t.task).where(_T.id == child.id))
            continue
        # the key makes room for a task that may follow anew
        _set(conn, child.id, state="void", held=0, key=f"{child.key}#void-{child.id}")
        conn.execute(update(t.judgement).where(_J.task_id == child.id).values(void=True))


def _said(conn: Connection, task: int) -> list[Said]:
    rows = conn.execute(_SAID, {"task": task})
    return [Said(row.choice, row.is_right) for row in rows]


def _set(conn: Connection, task: int, **values: object) -> None:
    conn.execute(update(t.task).where(_T.id == task).values(**values))


def _followers(stage: OpenStage, matter: Matter, chosen: str | None) -> list[Matter]:
    question = stage.question
    assert isinstance(question, Following)  # checked with the plan
    return [] if chosen is None else list(question.follow(matter, chosen))


def _lead_on(
    conn: Connection, study: OpenStudy, stage: OpenStage, parent: int, unit: str, new: list[Matter]
) -> None:
    """The next stage's tasks; those that are there already stay if they are the same.

    They keep the unit, so that nobody verifies what they picked.
    """
    rows = [task_row(study.plan, stage.rules, stage.id, matter, unit) for matter in new]
    there = conn.execute(select(_T.matter).where(_T.parent_id == parent, _T.state != "void"))
    if sorted(there.scalars()) == sorted(row["matter"] for row in rows):
        return
    take_back(conn, parent)
    for row in rows:
        conn.execute(insert(t.task).values(**row, parent_id=parent))

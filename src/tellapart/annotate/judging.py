"""Answers: taken once, corrected while that is possible, and what they decide about an item."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from tellapart.annotate.assignment import Assigned, assigned, take_up
from tellapart.annotate.opening import OpenStage, OpenStudy, task_row
from tellapart.annotate.people import Seat
from tellapart.annotate.plan import Stage
from tellapart.annotate.questions.question import Answer, Following, Matter
from tellapart.annotate.questions.showing import is_right, read_answer
from tellapart.annotate.store import tables as t
from tellapart.errors import TellapartError


class Conflict(TellapartError):
    """An answer that cannot be taken now: given before, or too late."""


class NotThere(TellapartError):
    """Something that this person was not given."""


@dataclass(frozen=True, slots=True)
class Said:
    """An answer as it comes from the page."""

    number: int
    value: str
    word: int | None = None
    milliseconds: int | None = None
    revise: bool = False


def answer(conn: Connection, study: OpenStudy, seat: Seat, said: Said) -> Assigned:
    """Take an answer; the same one sent again changes nothing."""
    given = assigned(conn, study, seat, said.number)
    if given is None:
        raise NotThere(f"there is no task {said.number}", todo="ask for the next task")
    question = given.stage.rules.question
    meant = read_answer(question, given.matter, given.order, said.value, said.word)
    if given.state == "done":
        _again(conn, given, meant, said)
        return given
    if given.state == "lost" or (
        given.state == "expired"
        and not take_up(conn, study, given.id, given.task_id, given.stage.id)
    ):
        raise Conflict("this task went to someone else meanwhile", todo="go on with the next one")
    conn.execute(
        insert(t.judgement).values(
            assignment_id=given.id,
            task_id=given.task_id,
            person_id=seat.id,
            choice=meant.choice,
            word=meant.word,
            is_right=is_right(given.matter, meant),
            answered_at=study.clock(),
            milliseconds=said.milliseconds,
        )
    )
    conn.execute(update(t.assignment).where(t.assignment.c.id == given.id).values(state="done"))
    counts = conn.execute(
        update(t.task)
        .where(t.task.c.id == given.task_id)
        .values(given=t.task.c.given + 1, held=t.task.c.held - 1)
        .returning(t.task.c.given, t.task.c.wanted)
    ).one()
    if given.role == "item" and counts.given >= counts.wanted:
        settle(conn, study, given.stage, given.task_id, given.matter)
    return given


def _again(conn: Connection, given: Assigned, meant: Answer, said: Said) -> None:
    row = conn.execute(
        select(t.judgement.c.choice, t.judgement.c.word).where(
            t.judgement.c.assignment_id == given.id
        )
    ).one()
    if Answer(row.choice, row.word) != meant:
        raise Conflict(f"task {said.number} was answered before", todo="say that you revise it")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What judgements decide: whether the item is kept, and what was chosen."""

    kept: bool
    chosen: str | None


def settle(
    conn: Connection, study: OpenStudy, stage: OpenStage, task_id: int, matter: Matter
) -> None:
    """Close a task that has what it wanted, or ask for one more; a kept one goes on."""
    rows = conn.execute(
        select(t.judgement.c.choice, t.judgement.c.is_right).where(
            t.judgement.c.task_id == task_id, t.judgement.c.void.is_(False)
        )
    ).all()
    choices = [row.choice for row in rows]
    rights = [row.is_right for row in rows]
    rules = stage.rules
    if rules.stop == "decided" and not rules.twice and not decided(rules, choices, rights):
        conn.execute(
            update(t.task).where(t.task.c.id == task_id).values(wanted=t.task.c.wanted + 1)
        )
        return
    verdict = decide(rules, matter, choices, rights)
    conn.execute(
        update(t.task)
        .where(t.task.c.id == task_id)
        .values(state="closed", kept=verdict.kept, chosen=verdict.chosen, closed_at=study.clock())
    )
    following = study.after(stage)
    if verdict.kept and verdict.chosen is not None and following is not None:
        _follow(conn, study, following, task_id, matter, verdict.chosen)


def decided(rules: Stage, choices: list[str], rights: list[bool | None]) -> bool:
    """Whether more judgements could not change what becomes of an item."""
    if len(choices) >= rules.judgements:
        return True
    most = max(Counter(choices).values())
    if rules.keep == "all":
        return most < len(choices) or False in rights
    return most > rules.judgements / 2


def decide(rules: Stage, matter: Matter, choices: list[str], rights: list[bool | None]) -> Verdict:
    """What becomes of an item: by the truth where it is known, else by what people chose."""
    (first, most), *others = Counter(choices).most_common()
    enough = len(choices) if rules.keep == "all" else len(choices) // 2 + 1
    chosen = first if most >= enough and (not others or others[0][1] < most) else None
    if None not in rights:
        return Verdict(sum(map(bool, rights)) >= enough, chosen)
    options = {option.key for option in rules.question.form(matter).options}
    return Verdict(chosen is not None and (chosen in options or not options), chosen)


def _follow(
    conn: Connection, study: OpenStudy, stage: OpenStage, parent: int, matter: Matter, chosen: str
) -> None:
    question = stage.rules.question
    unit = conn.execute(select(t.task.c.unit).where(t.task.c.id == parent)).scalar_one()
    following: Following = question  # type: ignore[assignment]  # checked with the plan
    for made in following.follow(matter, chosen):
        row = task_row(study.plan, stage.rules, stage.id, made, unit)
        conn.execute(insert(t.task).values(**row, parent_id=parent))


def stored_answer(conn: Connection, given: Assigned) -> dict[str, object] | None:
    """What a person said before, for going back."""
    row = conn.execute(
        select(t.judgement.c.choice, t.judgement.c.word).where(
            t.judgement.c.assignment_id == given.id
        )
    ).first()
    return None if row is None else json.loads(json.dumps(row._asdict()))

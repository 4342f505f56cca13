"""What a person's page is told: who they are, what is before them, how far they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, bindparam, func, select

from tellapart.annotate.assigned import Assigned, arrive
from tellapart.annotate.assignment import held
from tellapart.annotate.extras import due
from tellapart.annotate.judging import Reply, Taken, answer
from tellapart.annotate.opening import OpenStage, OpenStudy
from tellapart.annotate.questions.showing import shown_value, view
from tellapart.annotate.seats import NotAllowed, Seat
from tellapart.annotate.store import tables as t

Addresses = Callable[[Seat, int, int], str]
"""From a person, the number of their task and a place among its pictures to an address."""

_A, _T = t.assignment.c, t.task.c
_LAST = (
    select(func.max(_A.number))
    .join(t.task, _T.id == _A.task_id)
    .where(_A.person_id == bindparam("person"), _A.state == "done", _T.role != "training")
)


def about(study: OpenStudy, seat: Seat) -> dict[str, Any]:
    """What a person's page needs before any task: all that stays the same."""
    plan = study.plan
    return {
        "study": {
            "name": plan.name,
            "contact": plan.contact,
            "consent": plan.consent,
            "thanks": plan.thanks,
            "stages": [
                {
                    "name": stage.rules.name,
                    "type": stage.rules.ask,
                    "instructions": stage.rules.instructions,
                    "training": stage.training,
                }
                for stage in study.stages
            ],
        },
        "person": {
            "code": seat.code,
            "consented": seat.consented_at is not None,
            "state": seat.state,
        },
    }


def work(conn: Connection, study: OpenStudy, session: str, addresses: Addresses) -> dict[str, Any]:
    """The task before a person and the one after it, reserved for them."""
    seat, waiting = arrive(conn, study, session)
    if seat.consented_at is None:
        return _nothing("consent")
    if seat.state != "active":
        return _nothing("stopped")
    last = conn.execute(_LAST, {"person": seat.id}).scalar()
    return _work(conn, study, seat, addresses, waiting, last)


def answer_and_work(
    conn: Connection, study: OpenStudy, session: str, addresses: Addresses, reply: Reply
) -> dict[str, Any]:
    """Take an answer, then give the next task, in one transaction."""
    seat, waiting = arrive(conn, study, session)
    if seat.consented_at is None or seat.state != "active":
        raise NotAllowed("answers are taken after consent only", todo="reload the page")
    taken = answer(conn, study, seat, reply, waiting)
    left = [given for given in waiting if given.number != reply.number]
    last = None if taken.given.role == "training" else reply.number
    return {
        **_work(conn, study, seat, addresses, left, last),
        "feedback": feedback(taken),
    }


def _work(
    conn: Connection,
    study: OpenStudy,
    seat: Seat,
    addresses: Addresses,
    waiting: list[Assigned],
    last: int | None,
) -> dict[str, Any]:
    mine = held(conn, study, seat, waiting)
    state = "work" if mine else "wait" if _more_to_come(conn, study, seat) else "done"
    views = [shown(seat, given, addresses) for given in mine]
    return {
        "state": state,
        "stage": None if seat.stage_id is None else study.stage(seat.stage_id).rules.name,
        "progress": _progress(study, seat, mine),
        "task": views[0] if views else None,
        "ahead": views[1] if len(views) > 1 else None,
        "back": last,
        "completion_code": "" if mine else study.plan.completion_code,
    }


def shown(seat: Seat, given: Assigned, addresses: Addresses) -> dict[str, Any]:
    """A task as this person sees it; only training is told apart from the rest."""
    places = {image: place for place, image in enumerate(given.pictures())}

    def address(image: int) -> str:
        return addresses(seat, given.number, places[image])

    return {
        "number": given.number,
        "stage": given.stage.rules.name,
        "training": given.role == "training",
        **view(given.stage.question, given.matter, given.order, address),
    }


def feedback(taken: Taken) -> dict[str, Any] | None:
    """What a training example says after the answer; of nothing else is the truth ever told."""
    given, truth = taken.given, taken.given.matter.truth
    if given.role != "training" or truth is None:
        return None
    right = sorted(truth.choices)
    return {
        "right": bool(taken.right),
        "value": shown_value(given.form(), given.order, right[0]),
        "words": sorted(truth.words),
        "explanation": given.matter.explanation,
    }


def _nothing(state: str) -> dict[str, Any]:
    nothing = ("stage", "progress", "task", "ahead", "back")
    return {"state": state, **dict.fromkeys(nothing), "completion_code": ""}


def _progress(study: OpenStudy, seat: Seat, mine: list[Assigned]) -> dict[str, Any]:
    """How far a person is. Checks and gold items count, or the count would tell them."""
    training = sum(given.role == "training" for given in mine)
    done = seat.served + seat.checks + seat.golds - (len(mine) - training)
    stage = None if seat.stage_id is None else study.stage(seat.stage_id)
    return {
        "done": max(0, done),
        "of": None if stage is None else _limit(study, seat, stage),
        "training": {"done": seat.trained - training, "of": stage.training if stage else 0},
    }


def _limit(study: OpenStudy, seat: Seat, stage: OpenStage) -> int | None:
    most, seed, code = stage.rules.at_most, study.plan.seed, seat.code
    if not most:
        return None
    checks = min(stage.checks, due(stage.rules.checks, most - 1, seed, code, "check"))
    return most + checks + min(stage.golds, due(stage.rules.gold, most - 1, seed, code, "gold"))


def _more_to_come(conn: Connection, study: OpenStudy, seat: Seat) -> bool:
    """Whether a task that others hold, or one that follows from it, may yet come to this person."""
    rows = conn.execute(
        select(_T.stage_id, func.count().label("items"))
        .join(t.assignment, _A.task_id == _T.id)
        .where(_A.person_id == seat.id, _T.role == "item")
        .group_by(_T.stage_id)
    )
    served = {row.stage_id: row.items for row in rows}
    limits = [(one, one.rules.at_most or float("inf")) for one in study.stages]
    last = max((one.place for one, most in limits if served.get(one.id, 0) < most), default=-1)
    seen = select(_A.id).where(_A.person_id == seat.id, _A.unit == _T.unit).exists()
    open_ = select(_T.id).where(
        _T.stage_id.in_([one.id for one in study.stages if one.place <= last]),
        _T.state == "open",
        _T.role == "item",
        ~seen,
    )
    return conn.execute(open_.limit(1)).first() is not None

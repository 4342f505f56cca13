"""What a person's page is told: who they are, what is before them, how far they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, select

from tellapart.annotate.assignment import Assigned, held
from tellapart.annotate.opening import OpenStudy
from tellapart.annotate.people import Seat, save
from tellapart.annotate.questions.showing import shown_value, view
from tellapart.annotate.store import tables as t

Addresses = Callable[[Seat, int, int], str]
"""From a person, the number of their task and a place among its pictures to an address."""


def about(study: OpenStudy, seat: Seat) -> dict[str, Any]:
    """What a person's page needs before any task."""
    plan = study.plan
    return {
        "study": {"name": plan.name, "contact": plan.contact, "consent": plan.consent},
        "person": {"code": seat.code, "consented": seat.consented_at is not None},
    }


def work(conn: Connection, study: OpenStudy, seat: Seat, addresses: Addresses) -> dict[str, Any]:
    """The task before a person and the one after it, reserved for them."""
    mine = held(conn, study, seat) if seat.state == "active" else []
    save(conn, study, seat)
    views = [shown(study, seat, given, addresses) for given in mine]
    ended = not mine and not _more_to_come(conn, study, seat)
    return {
        "state": "work" if mine else "done" if ended else "wait",
        "stage": _stage(study, seat),
        "progress": _progress(study, seat, mine),
        "task": views[0] if views else None,
        "ahead": views[1] if len(views) > 1 else None,
        "completion_code": "" if mine else study.plan.completion_code,
        "thanks": "" if mine else study.plan.thanks,
    }


def shown(study: OpenStudy, seat: Seat, given: Assigned, addresses: Addresses) -> dict[str, Any]:
    """A task as this person sees it; only training is told apart from the rest."""
    question = given.stage.rules.question
    seen = view(
        question,
        given.matter,
        given.order,
        lambda image: addresses(seat, given.number, place_of(given, image)),
    )
    return {
        "number": given.number,
        "stage": given.stage.rules.name,
        "training": given.role == "training",
        **seen,
    }


def feedback(given: Assigned, right: bool | None) -> dict[str, Any] | None:
    """What a training example says after the answer; nothing else is ever told."""
    if given.role != "training" or given.matter.truth is None:
        return None
    question = given.stage.rules.question
    best = sorted(given.matter.truth.choices)[0]
    return {
        "right": bool(right),
        "value": shown_value(question, given.matter, given.order, best),
        "words": sorted(given.matter.truth.words),
        "explanation": given.matter.explanation,
    }


def place_of(given: Assigned, image: int) -> int:
    """Where a picture stands on the page: its address must not tell its place in the matter."""
    return picture_places(given).index(image)


def picture_places(given: Assigned) -> list[int]:
    """The matter's pictures in the order in which they stand on the page."""
    form = given.stage.rules.question.form(given.matter)
    fixed = [one.image for one in form.shown] + [form.options[k].image for k in given.order]
    return [image for image in fixed if image is not None]


def _stage(study: OpenStudy, seat: Seat) -> dict[str, Any] | None:
    if seat.stage_id is None:
        return None
    stage = study.stage(seat.stage_id)
    return {
        "name": stage.rules.name,
        "type": stage.rules.ask,
        "instructions": stage.rules.instructions,
        "training": stage.training,
    }


def _progress(study: OpenStudy, seat: Seat, mine: list[Assigned]) -> dict[str, Any]:
    before_them = sum(given.role == "item" for given in mine)
    limit = study.stage(seat.stage_id).rules.at_most if seat.stage_id is not None else 0
    return {"done": seat.served - before_them, "of": limit or None}


def _more_to_come(conn: Connection, study: OpenStudy, seat: Seat) -> bool:
    """Whether a task that others hold, or one that follows from it, may yet come to this person."""
    if seat.state != "active":
        return False
    full = [
        stage.id
        for stage in study.stages[-1:]
        if stage.rules.at_most and seat.stage_id == stage.id and seat.served >= stage.rules.at_most
    ]
    a, task = t.assignment.c, t.task.c
    seen = select(a.id).where(a.person_id == seat.id, a.unit == task.unit).exists()
    ours = [stage.id for stage in study.stages if stage.id not in full]
    if len(study.stages) == 1 and full:
        return False
    found = conn.execute(
        select(task.id)
        .where(task.stage_id.in_(ours), task.state == "open", task.role == "item", ~seen)
        .limit(1)
    ).first()
    return found is not None

"""The API of the annotators' page: join, consent, next task, answers, going back, leaving.

A page learns who the person is, their current task and their progress; never which tasks are checks
or gold, nor what is right.
"""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Cookie, Path, Response
from pydantic import Field
from sqlalchemy import Connection, bindparam, func, select

from tellapart.study import people, sessions
from tellapart.study.assignment import Assignment, arrive, extras_due, find_assigned, held
from tellapart.study.judgements import (
    NotThere,
    SentAnswer,
    TakenAnswer,
    answer,
    may_revise,
    stored_answer,
)
from tellapart.study.questions.page import shown_value, view
from tellapart.study.server.calls import Here, Nothing, TokenBody
from tellapart.study.server.guard import COOKIE
from tellapart.study.sessions import NotAllowed, Seat
from tellapart.study.store import schema as t
from tellapart.study.study import OpenStage, OpenStudy
from tellapart.web.host import Body, json_response

router = APIRouter(prefix="/api", tags=["annotators"])
Session = Annotated[str, Cookie(alias=COOKIE, max_length=100)]
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
PlatformId = Annotated[str, Field(min_length=8, max_length=64, pattern=r"^[0-9A-Za-z_-]+$")]
_A, _T = t.assignment.c, t.task.c
_LAST = (
    select(func.max(_A.number))
    .join(t.task, _T.id == _A.task_id)
    .where(_A.person_id == bindparam("person"), _A.state == "done", _T.role != "training")
)
_ANSWERED = (
    select(_A.id)
    .join(t.task, _T.id == _A.task_id)
    .where(_A.person_id == bindparam("person"), _A.state == "done", _T.role == "item")
    .limit(1)
)


class Visit(Body):
    """The three ids in a Prolific link."""

    PROLIFIC_PID: PlatformId
    STUDY_ID: PlatformId
    SESSION_ID: PlatformId


class Agreed(Body):
    """Consent."""

    agree: bool


class AnswerBody(Body):
    """An answer to a task; `value` is the option's name.

    `milliseconds` is the time from shown to answered as reported by the page; the server measures
    its own.
    """

    number: int = Field(ge=1, le=2**31 - 1)
    value: str = Field(min_length=1, max_length=40)
    word: int | None = Field(None, ge=0, le=10_000)
    milliseconds: int | None = Field(None, ge=0, le=2**31 - 1)
    revise: bool = False


class Confirmed(Body):
    """The word that must be sent to confirm the deletion."""

    confirm: str = Field(pattern="^delete$", max_length=10)


@router.post("/join")
async def join(here: Here, body: TokenBody) -> Response:
    """Start a session with a personal link's token."""
    return await here.begin(lambda conn: people.join(conn, here.study, body.token), COOKIE, "/")


@router.post("/join/prolific")
async def join_from_prolific(here: Here, body: Visit) -> Response:
    """Start a session with the ids in a Prolific link."""
    visitor = people.Visitor(body.PROLIFIC_PID, body.STUDY_ID, body.SESSION_ID)
    return await here.begin(
        lambda conn: people.join_from_prolific(conn, here.study, visitor), COOKIE, "/"
    )


@router.get("/me")
async def me(here: Here, session: Session = "") -> Response:
    """Who is signed in, and the study's texts."""
    seat = await here.read(lambda conn: sessions.seat_of(conn, here.study, session, lock=False))
    return json_response(about(here.study, seat))


@router.post("/consent")
async def consent(here: Here, body: Agreed, session: Session = "") -> Response:
    """Agree to take part; then the first task."""

    def job(conn: Connection) -> dict[str, Any]:
        if body.agree:
            sessions.consent(conn, here.study, sessions.seat_of(conn, here.study, session))
        return work(conn, here.study, session)

    return json_response(await here.run(job))


@router.post("/next")
async def following(here: Here, _body: Nothing, session: Session = "") -> Response:
    """The person's current task, and the one after it."""
    return json_response(await here.run(lambda conn: work(conn, here.study, session)))


@router.post("/answers")
async def answers(here: Here, body: AnswerBody, session: Session = "") -> Response:
    """Accept an answer and return the next task; the same answer may be sent again."""
    sent = SentAnswer(**dict(body))
    return json_response(
        await here.run(lambda conn: answer_and_work(conn, here.study, session, sent))
    )


@router.get("/tasks/{number}")
async def task(here: Here, number: Number, session: Session = "") -> Response:
    """A task of this person with their answer, for going back."""

    def job(conn: Connection) -> dict[str, Any]:
        seat = sessions.seat_of(conn, here.study, session, lock=False)
        assignment = find_assigned(conn, here.study, seat.id, number)
        if assignment is None:
            raise NotThere(f"there is no task {number}", todo="request the next task")
        before = stored_answer(conn, assignment)
        value = before and shown_value(assignment.form(), assignment.order, before.choice)
        return {
            "task": shown(here.study, seat, assignment),
            "answer": before and {"value": value, "word": before.word},
            "may_revise": may_revise(conn, seat, assignment),
        }

    return json_response(await here.read(job))


@router.post("/pause")
async def pause(here: Here, _body: Nothing, session: Session = "") -> Response:
    """Release the person's reservations; `next` continues later."""

    def job(conn: Connection) -> dict[str, Any]:
        people.pause(conn, sessions.seat_of(conn, here.study, session).id)
        return {"paused": True}

    return json_response(await here.run(job))


@router.post("/leave")
async def leave(here: Here, _body: Nothing, session: Session = "") -> Response:
    """End the session on this browser."""
    return await here.leave(session, COOKIE, "/")


@router.post("/delete-me")
async def delete_me(here: Here, _body: Confirmed, session: Session = "") -> Response:
    """Delete this person and all data about them."""

    def job(conn: Connection) -> dict[str, Any]:
        people.forget(conn, here.study, sessions.seat_of(conn, here.study, session).code)
        return {"deleted": True}

    response = json_response(await here.run(job))
    response.delete_cookie(COOKIE, path="/")
    return response


def about(study: OpenStudy, seat: Seat) -> dict[str, Any]:
    """What a person's page needs before any task, and what does not change."""
    plan = study.plan
    return {
        "study": {
            "name": plan.name,
            "contact": plan.contact,
            "consent": plan.consent,
            "thanks": plan.thanks,
            "stages": [_stage(stage) for stage in study.stages],
        },
        "person": {
            "code": seat.code,
            "consented": seat.consented_at is not None,
            "state": seat.state,
        },
    }


def _stage(stage: OpenStage) -> dict[str, Any]:
    shown = {
        "name": stage.rules.name,
        "type": stage.rules.ask,
        "instructions": stage.rules.instructions,
        "training": stage.training,
    }
    if stage.question.script:
        shown["script"] = f"/questions/{stage.rules.ask}.js"
    return shown


def work(conn: Connection, study: OpenStudy, session: str) -> dict[str, Any]:
    """A person's current task and the one after it, both reserved for them."""
    seat, waiting = arrive(conn, study, session)
    if seat.consented_at is None or seat.state != "active":
        state = "consent" if seat.consented_at is None else "stopped"
        nothing = ("stage", "progress", "task", "ahead", "back")
        return {"state": state, **dict.fromkeys(nothing), "completion_code": ""}
    last = conn.execute(_LAST, {"person": seat.id}).scalar()
    return _work(conn, study, seat, waiting, last)


def answer_and_work(
    conn: Connection, study: OpenStudy, session: str, sent: SentAnswer
) -> dict[str, Any]:
    """Accept an answer and assign the next task in one transaction."""
    seat, waiting = arrive(conn, study, session)
    if seat.consented_at is None or seat.state != "active":
        raise NotAllowed("answers are accepted only after consent", todo="reload the page")
    taken = answer(conn, study, seat, sent, waiting)
    left = [assignment for assignment in waiting if assignment.number != sent.number]
    last = None if taken.assignment.role == "training" else sent.number
    return {**_work(conn, study, seat, left, last), "feedback": feedback(taken)}


def _work(
    conn: Connection, study: OpenStudy, seat: Seat, waiting: list[Assignment], last: int | None
) -> dict[str, Any]:
    mine = held(conn, study, seat, waiting)
    state = "work" if mine else "wait" if _more_to_come(conn, study, seat) else "done"
    views = [shown(study, seat, assignment) for assignment in mine]
    return {
        "state": state,
        "stage": None if seat.stage_id is None else study.stage(seat.stage_id).rules.name,
        "progress": _progress(study, seat, mine),
        "task": views[0] if views else None,
        "ahead": views[1] if len(views) > 1 else None,
        "back": last,
        "completion_code": _code(conn, study, seat) if state == "done" else "",
    }


def _code(conn: Connection, study: OpenStudy, seat: Seat) -> str:
    """The completion code for the platform; empty if the person answered nothing."""
    answered = conn.execute(_ANSWERED, {"person": seat.id}).first() is not None
    return study.plan.completion_code if answered else ""


def shown(study: OpenStudy, seat: Seat, assignment: Assignment) -> dict[str, Any]:
    """A task as this person sees it; only training tasks are marked as such."""
    places = {image: place for place, image in enumerate(assignment.pictures())}

    def address(image: int) -> str:
        number, place = assignment.number, places[image]
        return f"/images/{number}-{place}-{study.keys.picture(seat.id, number, place)}"

    return {
        "number": assignment.number,
        "stage": assignment.stage.rules.name,
        "training": assignment.role == "training",
        **view(assignment.stage.question, assignment.matter, assignment.order, address),
    }


def feedback(taken: TakenAnswer) -> dict[str, Any] | None:
    """The feedback on a training example; the truth of other tasks is never sent."""
    assignment, truth = taken.assignment, taken.assignment.matter.truth
    if assignment.role != "training" or truth is None:
        return None
    return {
        "right": bool(taken.right),
        "value": shown_value(assignment.form(), assignment.order, min(truth.choices)),
        "words": sorted(truth.words),
        "explanation": assignment.matter.explanation,
    }


def _progress(study: OpenStudy, seat: Seat, mine: list[Assignment]) -> dict[str, Any]:
    """A person's progress. Checks and gold items count, or the count would reveal them."""
    training = sum(assignment.role == "training" for assignment in mine)
    done = seat.served + seat.checks + seat.golds - (len(mine) - training)
    stage = None if seat.stage_id is None else study.stage(seat.stage_id)
    limit = None
    if stage is not None and stage.rules.at_most:
        most = stage.rules.at_most
        limit = most + sum(extras_due(study, seat.code, stage, most - 1).values())
    return {
        "done": max(0, done),
        "of": limit,
        "training": {"done": seat.trained - training, "of": stage.training if stage else 0},
    }


def _more_to_come(conn: Connection, study: OpenStudy, seat: Seat) -> bool:
    """Whether a task held by others, or one that follows from it, may still reach this person."""
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

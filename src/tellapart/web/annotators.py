"""What annotators' pages call: join, consent, the next task, answers, going back, leaving."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Cookie, Path, Response
from pydantic import Field
from sqlalchemy import Connection

from tellapart.annotate import desk, judging, leaving, people, seats, sessions
from tellapart.annotate.assigned import find_assigned
from tellapart.annotate.judging import NotThere
from tellapart.annotate.questions.showing import shown_value
from tellapart.annotate.seats import Seat
from tellapart.web.calls import Body, Here, Nothing, Server, Token, said, with_session

router = APIRouter(prefix="/api", tags=["annotators"])
COOKIE = "tellapart"
Session = Annotated[str, Cookie(alias=COOKIE, max_length=100)]
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
PlatformId = Annotated[str, Field(min_length=8, max_length=64, pattern=r"^[0-9A-Za-z_-]+$")]


class Visit(Body):
    """The three ids in a link of Prolific."""

    PROLIFIC_PID: PlatformId
    STUDY_ID: PlatformId
    SESSION_ID: PlatformId


class Agreed(Body):
    """Consent."""

    agree: bool


class Reply(Body):
    """An answer to a task; `value` is the option's, `milliseconds` from shown to answered."""

    number: int = Field(ge=1, le=2**31 - 1)
    value: str = Field(min_length=1, max_length=40)
    word: int | None = Field(None, ge=0, le=10_000)
    milliseconds: int | None = Field(None, ge=0, le=2**31 - 1)
    revise: bool = False


class Confirmed(Body):
    """The word that must be typed before everything is deleted."""

    confirm: str = Field(pattern="^delete$", max_length=10)


@router.post("/join")
async def join(here: Here, body: Token) -> Response:
    """Begin a session with a personal link's token."""
    token = await here.run(lambda conn: people.join(conn, here.study, body.token))
    return with_session(said({"joined": True}), here, COOKIE, token, "/")


@router.post("/join/prolific")
async def join_from_prolific(here: Here, body: Visit) -> Response:
    """Begin a session with the ids that Prolific puts into its links."""
    visitor = people.Visitor(body.PROLIFIC_PID, body.STUDY_ID, body.SESSION_ID)
    token = await here.run(lambda conn: people.join_from_prolific(conn, here.study, visitor))
    return with_session(said({"joined": True}), here, COOKIE, token, "/")


@router.get("/me")
async def me(here: Here, session: Session = "") -> Response:
    """Who is signed in, and what the study says."""

    def job(conn: Connection) -> dict[str, Any]:
        return desk.about(here.study, seats.seat_of(conn, here.study, session, lock=False))

    return said(await here.read(job))


@router.post("/consent")
async def consent(here: Here, body: Agreed, session: Session = "") -> Response:
    """Agree to take part; then the first task."""

    def job(conn: Connection) -> dict[str, Any]:
        if body.agree:
            seats.consent(conn, here.study, seats.seat_of(conn, here.study, session))
        return desk.work(conn, here.study, session, _addresses(here))

    return said(await here.run(job))


@router.post("/next")
async def following(here: Here, _body: Nothing, session: Session = "") -> Response:
    """The task before this person, and the one after it."""

    def job(conn: Connection) -> dict[str, Any]:
        return desk.work(conn, here.study, session, _addresses(here))

    return said(await here.run(job))


@router.post("/answers")
async def answers(here: Here, body: Reply, session: Session = "") -> Response:
    """Take an answer and give the next task; the same answer may be sent again."""
    reply = judging.Reply(body.number, body.value, body.word, body.milliseconds, body.revise)

    def job(conn: Connection) -> dict[str, Any]:
        return desk.answer_and_work(conn, here.study, session, _addresses(here), reply)

    return said(await here.run(job))


@router.get("/tasks/{number}")
async def task(here: Here, number: Number, session: Session = "") -> Response:
    """A task that this person was given, with what they said: for going back."""

    def job(conn: Connection) -> dict[str, Any]:
        seat = seats.seat_of(conn, here.study, session, lock=False)
        given = find_assigned(conn, here.study, seat.id, number)
        if given is None:
            raise NotThere(f"there is no task {number}", todo="ask for the next task")
        told = judging.stored_answer(conn, given)
        value = told and shown_value(given.form(), given.order, told.choice)
        return {
            "task": desk.shown(seat, given, _addresses(here)),
            "answer": told and {"value": value, "word": told.word},
            "may_revise": judging.may_revise(conn, seat, given),
        }

    return said(await here.read(job))


@router.post("/pause")
async def pause(here: Here, _body: Nothing, session: Session = "") -> Response:
    """Let others have what is reserved; `next` goes on later."""

    def job(conn: Connection) -> dict[str, Any]:
        leaving.pause(conn, seats.seat_of(conn, here.study, session).id)
        return {"paused": True}

    return said(await here.run(job))


@router.post("/leave")
async def leave(here: Here, _body: Nothing, session: Session = "") -> Response:
    """End the session on this browser."""
    await here.run(lambda conn: sessions.end_session(conn, session))
    response = said({"left": True})
    response.delete_cookie(COOKIE, path="/")
    return response


@router.post("/delete-me")
async def delete_me(here: Here, _body: Confirmed, session: Session = "") -> Response:
    """Delete this person and all that is stored about them."""

    def job(conn: Connection) -> dict[str, Any]:
        leaving.forget(conn, here.study, seats.seat_of(conn, here.study, session).code)
        return {"deleted": True}

    response = said(await here.run(job))
    response.delete_cookie(COOKIE, path="/")
    return response


def _addresses(here: Server) -> desk.Addresses:
    def address(seat: Seat, number: int, place: int) -> str:
        return f"/images/{number}-{place}-{here.study.keys.picture(seat.id, number, place)}"

    return address

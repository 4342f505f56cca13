"""What annotators' pages call: join, consent, the next task, answers, going back, leaving."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Cookie, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from tellapart.annotate import desk, judging, people
from tellapart.annotate.people import NotAllowed, Seat
from tellapart.web.app import Server

router = APIRouter(prefix="/api", tags=["annotators"])
COOKIE = "tellapart"
Session = Annotated[str, Cookie(alias=COOKIE, max_length=100)]


def server_of(request: Request) -> Server:
    """The server that a request came to."""
    found: Server = request.app.state.server
    return found


Here = Annotated[Server, Depends(server_of)]


class Body(BaseModel):
    """Every body: nothing beside what is named."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Token(Body):
    """A personal link's token."""

    token: str = Field(min_length=16, max_length=100)


class Agreed(Body):
    """Consent."""

    agree: bool


class Reply(Body):
    """An answer to a task."""

    number: int = Field(ge=1, le=2**31 - 1)
    value: str = Field(min_length=1, max_length=40)
    word: int | None = Field(None, ge=0, le=10_000)
    milliseconds: int | None = Field(None, ge=0, le=2**31 - 1)
    revise: bool = False


@router.post("/join")
async def join(here: Here, body: Token, response: Response) -> dict[str, Any]:
    """Begin a session with a personal link's token."""
    session = await here.run(lambda conn: people.join(conn, here.study, body.token))
    set_cookie(response, here, COOKIE, session, "/")
    return {"joined": True}


def set_cookie(response: Response, here: Server, name: str, value: str, path: str) -> None:
    """A cookie that scripts cannot read and that other sites' requests do not carry."""
    response.set_cookie(
        name, value, max_age=people.SESSION_DAYS * 86_400, path=path,
        httponly=True, samesite="strict", secure=here.secure,
    )  # fmt: skip


def _addresses(here: Server) -> desk.Addresses:
    def address(seat: Seat, number: int, place: int) -> str:
        return f"/images/{number}-{place}-{here.study.keys.picture(seat.id, number, place)}"

    return address


def _work(here: Server, conn: Connection, seat: Seat) -> dict[str, Any]:
    if seat.consented_at is None:
        return {**desk.about(here.study, seat), "state": "consent"}
    found = desk.work(conn, here.study, seat, _addresses(here))
    return {**desk.about(here.study, seat), **found}


@router.get("/me")
async def me(here: Here, session: Session = "") -> dict[str, Any]:
    """Who is signed in."""

    def job(conn: Connection) -> dict[str, Any]:
        return desk.about(here.study, people.seat_of(conn, here.study, session))

    return await here.run(job)


@router.post("/consent")
async def consent(here: Here, body: Agreed, session: Session = "") -> dict[str, Any]:
    """Agree to take part; then the first task."""

    def job(conn: Connection) -> dict[str, Any]:
        seat = people.seat_of(conn, here.study, session)
        if body.agree:
            people.consent(conn, here.study, seat)
        return _work(here, conn, seat)

    return await here.run(job)


@router.post("/next")
async def following(here: Here, session: Session = "") -> dict[str, Any]:
    """The task before this person, and the one after it."""

    def job(conn: Connection) -> dict[str, Any]:
        return _work(here, conn, people.seat_of(conn, here.study, session))

    return await here.run(job)


@router.post("/answers")
async def answers(here: Here, body: Reply, session: Session = "") -> dict[str, Any]:
    """Take an answer and give the next task; the same answer may be sent again."""
    said = judging.Said(body.number, body.value, body.word, body.milliseconds, body.revise)

    def job(conn: Connection) -> dict[str, Any]:
        seat = people.seat_of(conn, here.study, session)
        if seat.consented_at is None:
            raise NotAllowed("consent comes first", todo="POST /api/consent")
        given = judging.answer(conn, here.study, seat, said)
        told = desk.feedback(given, None)
        return {"feedback": told, **_work(here, conn, seat)}

    return await here.run(job)

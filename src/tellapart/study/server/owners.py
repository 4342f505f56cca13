"""What the owner's page calls: progress, people, items, export."""

from __future__ import annotations

import asyncio
import io
from dataclasses import asdict
from typing import Annotated, Any, Literal, TypeVar

import polars as pl
from fastapi import APIRouter, Cookie, Path, Query, Response
from pydantic import Field
from sqlalchemy import Connection

from tellapart.study import people, sessions
from tellapart.study.agreement import COHEN
from tellapart.study.export import flat_table, judgement_table
from tellapart.study.progress import crew, look_at_items, read_status, reopen_item
from tellapart.study.results import agreements, read_record
from tellapart.study.server.calls import (
    Body,
    Here,
    Nothing,
    Server,
    TokenBody,
    json_response,
    with_session,
)
from tellapart.study.store.database import Job

T = TypeVar("T")
router = APIRouter(prefix="/api/owner", tags=["owner"])
COOKIE = "tellapart-owner"
WHERE = "/api/owner"
Session = Annotated[str, Cookie(alias=COOKIE, max_length=100)]
Code = Annotated[str, Path(pattern=r"^p-[a-z0-9]{8}$")]
CHANGES = {
    "exclude": people.exclude,
    "restore": people.restore,
    "revoke": people.revoke,
}


class Guests(Body):
    """How many links to make, with a note about the people."""

    people: int = Field(ge=1, le=1000)
    label: str = Field("", max_length=200)


@router.post("/join")
async def join(here: Here, body: TokenBody) -> Response:
    """Begin a session with the owner's token."""
    token = await here.run(lambda conn: sessions.join_as_owner(conn, here.study, body.token))
    return with_session(json_response({"joined": True}), here, COOKIE, token, WHERE)


@router.post("/leave")
async def leave(here: Here, _body: Nothing, session: Session = "") -> Response:
    """End the owner's session on this browser."""
    await here.run(lambda conn: sessions.end_session(conn, session))
    response = json_response({"left": True})
    response.delete_cookie(COOKIE, path=WHERE)
    return response


@router.get("/status")
async def progress(here: Here, session: Session = "") -> Response:
    """How far the study is."""
    found = await _read(here, session, lambda conn: read_status(conn, here.study))
    return json_response(found.to_json())


@router.get("/agreement")
async def agreement(here: Here, session: Session = "") -> Response:
    """How much people agree, over everyone; pairs of people are in the export."""
    record = await _read(here, session, lambda conn: read_record(conn, here.study))
    rows = await asyncio.to_thread(agreements, record, here.study.plan.seed)
    return json_response([asdict(row) for row in rows if row.measure != COHEN])


@router.get("/people")
async def everyone(here: Here, session: Session = "") -> Response:
    """The people, with how much, how fast and how well they judge."""
    return json_response(await _read(here, session, lambda conn: crew(conn, here.study)))


@router.post("/people/{code}/delete")
async def forget(here: Here, code: Code, _body: Nothing, session: Session = "") -> Response:
    """Delete a person and all that is stored about them."""
    await _run(here, session, lambda conn: people.forget(conn, here.study, code))
    return json_response({"deleted": True})


@router.post("/people/{code}/{change}")
async def change_person(
    here: Here,
    code: Code,
    change: Literal["exclude", "restore", "revoke"],
    _body: Nothing,
    session: Session = "",
) -> Response:
    """Exclude a person, take that back, or end their link."""

    def job(conn: Connection) -> dict[str, Any]:
        CHANGES[change](conn, here.study, code)
        return crew(conn, here.study, code)[0]

    return json_response(await _run(here, session, job))


@router.post("/invite")
async def invite(here: Here, body: Guests, session: Session = "") -> Response:
    """Make personal links; each is shown once."""

    def job(conn: Connection) -> list[dict[str, str]]:
        invited = people.invite(conn, here.study, body.people, body.label)
        return [{"person": one.code, "link": f"{here.url}/#{one.token}"} for one in invited]

    return json_response(await _run(here, session, job))


@router.get("/items")
async def items(
    here: Here,
    stage: Annotated[str, Query(max_length=60)] = "",
    state: Annotated[str, Query(max_length=10)] = "",
    after: Annotated[int, Query(ge=0, le=2**53)] = 0,
    session: Session = "",
) -> Response:
    """A page of items with what became of them."""
    page = await _read(
        here, session, lambda conn: look_at_items(conn, here.study, stage, state, after)
    )
    return json_response(page)


@router.post("/items/{task}/reopen")
async def reopen(
    here: Here, task: Annotated[int, Path(ge=1, le=2**53)], _body: Nothing, session: Session = ""
) -> Response:
    """Ask for one more judgement of an item."""
    item = await _run(here, session, lambda conn: reopen_item(conn, here.study, task))
    return json_response(item)


@router.get("/judgements.csv")
async def as_csv(here: Here, session: Session = "") -> Response:
    """Every judgement as CSV."""
    table = await _judgements(here, session)
    return _file(flat_table(table).write_csv().encode(), "text/csv", "csv")


@router.get("/judgements.parquet")
async def as_parquet(here: Here, session: Session = "") -> Response:
    """Every judgement as Parquet."""
    written = io.BytesIO()
    (await _judgements(here, session)).write_parquet(written)
    return _file(written.getvalue(), "application/vnd.apache.parquet", "parquet")


@router.get("/judgements.json")
async def as_json(here: Here, session: Session = "") -> Response:
    """Every judgement as JSON."""
    return json_response((await _judgements(here, session)).to_dicts())


async def _judgements(here: Server, session: str) -> pl.DataFrame:
    return await _read(here, session, lambda conn: judgement_table(conn, here.study))


async def _run(here: Server, session: str, job: Job[T]) -> T:
    """Run a job in one transaction with the check that the owner asks for it."""
    return await here.run(_checked(here, session, job))


async def _read(here: Server, session: str, job: Job[T]) -> T:
    return await here.read(_checked(here, session, job))


def _checked(here: Server, session: str, job: Job[T]) -> Job[T]:
    def checked(conn: Connection) -> T:
        sessions.check_owner(conn, here.study, session)
        return job(conn)

    return checked


def _file(data: bytes, kind: str, ending: str) -> Response:
    name = f'attachment; filename="judgements.{ending}"'
    return Response(data, media_type=kind, headers={"Content-Disposition": name})

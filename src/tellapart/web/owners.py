"""What the owner's page calls: progress, people, export."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Cookie, Response
from sqlalchemy import Connection

from tellapart.annotate import people
from tellapart.annotate.exporting import judgements
from tellapart.annotate.status import status
from tellapart.web.annotators import Here, Token, set_cookie

router = APIRouter(prefix="/api/owner", tags=["owner"])
COOKIE = "tellapart-owner"
Session = Annotated[str, Cookie(alias=COOKIE, max_length=100)]


@router.post("/join")
async def join(here: Here, body: Token, response: Response) -> dict[str, Any]:
    """Begin a session with the owner's token."""
    session = await here.run(lambda conn: people.join_as_owner(conn, here.study, body.token))
    set_cookie(response, here, COOKIE, session, "/api/owner")
    return {"joined": True}


@router.get("/status")
async def progress(here: Here, session: Session = "") -> dict[str, Any]:
    """How far the study is."""

    def job(conn: Connection) -> dict[str, Any]:
        people.check_owner(conn, here.study, session)
        return status(conn, here.study)

    return await here.read(job)


@router.get("/judgements.csv")
async def table(here: Here, session: Session = "") -> Response:
    """Every judgement as CSV."""

    def job(conn: Connection) -> str:
        people.check_owner(conn, here.study, session)
        import polars as pl

        found = judgements(conn, here.study)
        order = pl.col("order").cast(pl.List(pl.String)).list.join(" ")
        return found.with_columns(order).write_csv()

    return Response(await here.read(job), media_type="text/csv")

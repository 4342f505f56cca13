"""The pages themselves and the pictures on them."""

from __future__ import annotations

import asyncio
import hmac
from functools import cache
from importlib.resources import files
from typing import Annotated

from fastapi import APIRouter, Path, Response
from fastapi.responses import HTMLResponse
from sqlalchemy import Connection

from tellapart.annotate.assigned import Assigned, find_assigned
from tellapart.annotate.judging import NotThere
from tellapart.annotate.seats import seat_of
from tellapart.web.annotators import Session
from tellapart.web.calls import Here

router = APIRouter()
KEPT = "private, max-age=3600, immutable"
"""How long a browser may keep a picture: its address is one person's alone."""


@router.get("/", include_in_schema=False)
@router.get("/prolific", include_in_schema=False)
async def annotator() -> HTMLResponse:
    """The annotators' page; a personal link is this address with the token behind a #."""
    return HTMLResponse(_page("annotator.html"))


@router.get("/owner", include_in_schema=False)
async def owner() -> HTMLResponse:
    """The owner's page."""
    return HTMLResponse(_page("owner.html"))


@router.get("/images/{number}-{place}-{mark}")
async def image(
    here: Here,
    number: Annotated[int, Path(ge=1, le=2**31 - 1)],
    place: Annotated[int, Path(ge=0, le=100)],
    mark: Annotated[str, Path(max_length=64)],
    session: Session = "",
) -> Response:
    """A picture of a task that this person was given."""

    def job(conn: Connection) -> Assigned:
        seat = seat_of(conn, here.study, session, lock=False)
        given = find_assigned(conn, here.study, seat.id, number)
        expected = here.study.keys.picture(seat.id, number, place)
        if given is None or not hmac.compare_digest(mark.encode(), expected.encode()):
            raise NotThere("there is no such picture")
        return given

    given = await here.read(job)
    shown = given.pictures()
    if place >= len(shown):
        raise NotThere("there is no such picture")
    image_id = given.matter.images[shown[place]]
    data = await asyncio.to_thread(here.pictures.read, given.role, image_id)
    return Response(data, media_type="image/webp", headers={"Cache-Control": KEPT})


@cache
def _page(name: str) -> str:
    return (files("tellapart.web") / "static" / name).read_text(encoding="utf-8")

"""The pages themselves and the pictures on them."""

from __future__ import annotations

from importlib.resources import files

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse
from sqlalchemy import Connection

from tellapart.annotate import people
from tellapart.annotate.assignment import assigned
from tellapart.annotate.desk import picture_places
from tellapart.annotate.judging import NotThere
from tellapart.web.annotators import Here, Session

router = APIRouter()


def _page(name: str) -> str:
    return (files("tellapart.web") / "static" / name).read_text(encoding="utf-8")


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
async def image(here: Here, number: int, place: int, mark: str, session: Session = "") -> Response:
    """A picture of a task that this person was given."""

    def job(conn: Connection) -> str:
        seat = people.seat_of(conn, here.study, session)
        given = assigned(conn, here.study, seat, number)
        expected = here.study.keys.picture(seat.id, number, place)
        shown = picture_places(given) if given is not None else []
        if given is None or mark != expected or not 0 <= place < len(shown):
            raise NotThere("there is no such picture")
        return given.matter.images[shown[place]]

    image_id = await here.read(job)
    import asyncio

    data = await asyncio.to_thread(here.pictures.read, image_id)
    headers = {"Cache-Control": "private, max-age=3600, immutable"}
    return Response(data, media_type="image/webp", headers=headers)

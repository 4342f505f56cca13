"""A study's web application and its server.

The application combines the routes of both pages with the pages themselves, their pictures and
scripts, and turns errors into responses. It runs on uvicorn, on this machine by default.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Annotated

from fastapi import APIRouter, FastAPI, Path, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from sqlalchemy import Connection

from tellapart.errors import BadImage, TellapartError, UnknownName
from tellapart.study.assignment import Assignment, expire, find_assigned
from tellapart.study.judgements import Conflict, NotThere
from tellapart.study.server import annotators, monitoring, owners
from tellapart.study.server.annotators import Session
from tellapart.study.server.calls import Here, Server
from tellapart.study.server.guard import Guard, RateLimits
from tellapart.study.server.pictures import Pictures
from tellapart.study.sessions import NotAllowed, seat_of
from tellapart.study.store.database import Gone
from tellapart.study.study import OpenStudy
from tellapart.web.connections import ConnectionLimits
from tellapart.web.host import ServerAddress, add_shared, listen, serve_app, served_app

STATUSES = {
    NotAllowed: 401,
    NotThere: 404,
    UnknownName: 404,
    BadImage: 404,
    Conflict: 409,
    Gone: 503,
}
INSTEAD = {
    BadImage: "this picture cannot be shown",
    Gone: "the study cannot be reached at the moment",
}
SWEEP_SECONDS = 5.0
PICTURE_CACHE = "private, max-age=3600, immutable"
"""How long a browser may cache a picture; its address is specific to one person."""
LOG = logging.getLogger("tellapart.study")
router = APIRouter()


def make_app(study: OpenStudy, url: str, proxy: str = "") -> FastAPI:
    """The application for one open study at its public address.

    `proxy` is the header in which a proxy passes the client's address; without it, no header is
    trusted.
    """
    server = Server(study, Pictures(study), RateLimits(), url.rstrip("/"))

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        sweeping = asyncio.create_task(_sweep(server))
        yield
        sweeping.cancel()

    app = FastAPI(
        title="tellapart study", lifespan=lifespan, docs_url=None, redoc_url=None,
        openapi_url="/api/openapi.json",
    )  # fmt: skip
    app.state.server = server
    app.add_exception_handler(TellapartError, _refused)
    for routes in (annotators.router, owners.router, monitoring.router, router):
        app.include_router(routes)
    add_shared(app, "tellapart.study.server")
    app.add_middleware(Guard, url=server.url, limits=server.limits, proxy=proxy)
    return app


async def _sweep(server: Server) -> None:
    """Release expired reservations regularly."""
    while True:
        with contextlib.suppress(Gone):  # the database may come back
            await server.run(lambda conn: expire(conn, server.study))
        await asyncio.sleep(SWEEP_SECONDS)


@router.get("/", include_in_schema=False)
@router.get("/prolific", include_in_schema=False)
async def annotator() -> HTMLResponse:
    """The annotators' page; a personal link is this address with the token after a #."""
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
    """A picture of one of this person's tasks."""

    def job(conn: Connection) -> Assignment:
        seat = seat_of(conn, here.study, session, lock=False)
        assignment = find_assigned(conn, here.study, seat.id, number)
        expected = here.study.keys.picture(seat.id, number, place)
        if assignment is None or not hmac.compare_digest(mark.encode(), expected.encode()):
            raise NotThere("there is no such picture")
        return assignment

    assignment = await here.read(job)
    shown = assignment.pictures()
    if place >= len(shown):
        raise NotThere("there is no such picture")
    image_id = assignment.matter.images[shown[place]]
    data = await asyncio.to_thread(here.pictures.read, assignment.role, image_id)
    return Response(data, media_type="image/webp", headers={"Cache-Control": PICTURE_CACHE})


@router.get("/questions/{name}.js", include_in_schema=False)
async def question_script(here: Here, name: Annotated[str, Path(max_length=60)]) -> Response:
    """The script that a question of this study adds to the page."""
    scripts = {stage.rules.ask: stage.question.script for stage in here.study.stages}
    if not scripts.get(name):
        raise NotThere("there is no such script")
    return Response(scripts[name], media_type="text/javascript")


@cache
def _page(name: str) -> str:
    return (files("tellapart.study.server") / "static" / name).read_text(encoding="utf-8")


async def _refused(_request: Request, error: Exception) -> JSONResponse:
    """An error as JSON, in its parts.

    Details about the database or a picture go to the owner's log only: names of pictures and paths
    on the server could reveal more than annotators should know.
    """
    assert isinstance(error, TellapartError)
    status = next((code for sort, code in STATUSES.items() if isinstance(error, sort)), 422)
    instead = next((text for sort, text in INSTEAD.items() if isinstance(error, sort)), None)
    parts = {name: text for name, text in error.parts().items() if name != "where"}
    if instead:
        LOG.warning("%s: %s", error.what, error.where)
        parts = {"what": instead, "todo": "try again in a moment"}
    return JSONResponse({"error": parts}, status, {"Retry-After": "2"} if status == 503 else None)


def serve(study: OpenStudy, where: ServerAddress, ready: Callable[[], None] = lambda: None) -> None:
    """Serve until stopped; `ready` is called once the server is listening."""
    listening = listen(where)
    limits = ConnectionLimits()
    if where.behind_proxy:  # all connections come from the proxy
        limits = replace(limits, of_address=limits.of_server)
    serve_app(make_app(study, where.url, where.behind_proxy), listening, ready, limits)


@contextmanager
def served(study: OpenStudy) -> Iterator[str]:
    """Serve a study on this machine for the duration of the block; yields the address."""
    with served_app(lambda url: make_app(study, url)) as url:
        yield url

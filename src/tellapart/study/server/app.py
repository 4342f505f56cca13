"""A study's application and its server.

The application puts the routes of both pages together with the pages themselves, their pictures
and scripts, and turns errors into answers. It runs behind uvicorn, on this machine unless told
otherwise.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import re
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import ceil
from typing import Annotated, Any
from urllib.parse import urlsplit

import uvicorn
from fastapi import APIRouter, FastAPI, Path, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from sqlalchemy import Connection
from starlette.exceptions import HTTPException

from tellapart.errors import BadImage, BadInput, TellapartError, UnknownName
from tellapart.study.assignment import Assignment, expire, find_assigned
from tellapart.study.judgements import Conflict, NotThere
from tellapart.study.server import annotators, owners
from tellapart.study.server.annotators import Session
from tellapart.study.server.calls import Here, Server
from tellapart.study.server.connections import ConnectionLimits, watched
from tellapart.study.server.guard import Guard, RateLimits
from tellapart.study.server.pictures import Pictures
from tellapart.study.sessions import NotAllowed, seat_of
from tellapart.study.store.database import Gone
from tellapart.study.study import OpenStudy

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
"""How long a browser may keep a picture: its address is one person's alone."""
WAITING = 1024
"""Connections that may wait to be taken."""
AT_ONCE = 2000
"""Requests at a time; beyond them the answer is to come back later."""
PATIENCE = 30.0
"""Seconds that a server may take to start."""
HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,60}")
LOCAL = ("127.0.0.1", "localhost", "::1")
LOG = logging.getLogger("tellapart.study")
router = APIRouter()


def make_app(study: OpenStudy, url: str, proxy: str = "") -> FastAPI:
    """The application for one open study, at the address that people know.

    `proxy` names the header in which a proxy says where a request comes from; without it no header
    is believed.
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
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _not_found)
    for routes in (annotators.router, owners.router, router):
        app.include_router(routes)
    app.mount("/static", StaticFiles(packages=[("tellapart.study.server", "static")]))
    app.add_middleware(Guard, url=server.url, limits=server.limits, proxy=proxy)
    return app


async def _sweep(server: Server) -> None:
    """Give back reservations that ran out, now and then."""
    while True:
        with contextlib.suppress(Gone):  # the database may come back
            await server.run(lambda conn: expire(conn, server.study))
        await asyncio.sleep(SWEEP_SECONDS)


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
    """What a question of this study adds to the page."""
    scripts = {stage.rules.ask: stage.question.script for stage in here.study.stages}
    if not scripts.get(name):
        raise NotThere("there is no such script")
    return Response(scripts[name], media_type="text/javascript")


@cache
def _page(name: str) -> str:
    return (files("tellapart.study.server") / "static" / name).read_text(encoding="utf-8")


async def _refused(_request: Request, error: Exception) -> JSONResponse:
    """An error in its parts.

    What is wrong with the database or a picture is for the owner, in the log: names of pictures and
    where things lie on the server's disk could tell annotators more than they should know.
    """
    assert isinstance(error, TellapartError)
    status = next((code for sort, code in STATUSES.items() if isinstance(error, sort)), 422)
    instead = next((text for sort, text in INSTEAD.items() if isinstance(error, sort)), None)
    parts = {name: text for name, text in error.parts().items() if name != "where"}
    if instead:
        LOG.warning("%s: %s", error.what, error.where)
        parts = {"what": instead, "todo": "try again in a moment"}
    return JSONResponse({"error": parts}, status, {"Retry-After": "2"} if status == 503 else None)


async def _not_found(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": {"what": str(error.detail)}}, error.status_code, error.headers)


async def _not_valid(_request: Request, error: Exception) -> JSONResponse:
    """Which field is wrong and why, without repeating what was sent."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][:4])[:100]
    return JSONResponse({"error": {"what": f"{where}: {first['msg']}"}}, 422)


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where the server listens, and the address that people know it by.

    `behind_proxy` is the header in which a proxy in front says where a request comes from.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    public_url: str = ""
    behind_proxy: str = ""

    @property
    def url(self) -> str:
        """The address in links."""
        return (self.public_url or f"http://{self.host}:{self.port}").rstrip("/")

    @property
    def open_to_others(self) -> bool:
        """Whether links and answers travel over a network without encryption."""
        return self.host not in LOCAL and not self.url.startswith("https:")


def serve(study: OpenStudy, where: ServerAddress, ready: Callable[[], None] = lambda: None) -> None:
    """Serve until told to stop; `ready` is called once the server listens.

    Requests are not logged: their addresses belong to people.
    """
    listening = _listen(where)
    limits = ConnectionLimits()
    if where.behind_proxy:  # all connections are the proxy's
        limits = replace(limits, of_address=limits.of_server)
    app = make_app(study, where.url, where.behind_proxy)
    config = server_config(app, limits, log_level="warning")
    try:
        ready()
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # how a server is stopped
    finally:
        listening.close()


def server_config(
    app: FastAPI,
    limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008 (frozen)
    **more: Any,
) -> uvicorn.Config:
    """How the server runs: nobody is believed where they come from, and nobody takes for ever."""
    limits = limits.on_this_machine()
    return uvicorn.Config(
        app, http=watched(limits), ws="none", proxy_headers=False, access_log=False,
        server_header=False, timeout_keep_alive=ceil(limits.idle), limit_concurrency=AT_ONCE,
        h11_max_incomplete_event_size=16_384, backlog=WAITING, **more,
    )  # fmt: skip


def _listen(where: ServerAddress) -> socket.socket:
    if urlsplit(where.url).scheme not in ("http", "https"):
        raise BadInput(f"--public-url {where.url}", allowed="http://... or https://...")
    if where.behind_proxy and not HEADER_NAME.fullmatch(where.behind_proxy):
        raise BadInput(
            f"--behind-proxy {where.behind_proxy}",
            allowed="the name of a header, such as X-Forwarded-For",
        )
    try:
        return socket.create_server(
            (where.host, where.port),
            family=socket.AF_INET6 if ":" in where.host else socket.AF_INET,
            backlog=WAITING,
        )
    except (OSError, OverflowError) as error:
        raise BadInput(
            f"cannot listen at {where.host}, port {where.port}: {error}",
            todo="stop what listens there, or choose another --port",
        ) from None


@contextmanager
def served(study: OpenStudy) -> Iterator[str]:
    """Serve a study on this machine while the block lasts; gives the address."""
    listening = _listen(ServerAddress(port=0))  # any port that is free
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = uvicorn.Server(server_config(make_app(study, url), log_level="error"))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    try:
        end = time.monotonic() + PATIENCE
        while not server.started:
            if not thread.is_alive() or time.monotonic() > end:
                raise TellapartError("the server did not start", todo="see what it said above")
            time.sleep(0.01)
        yield url
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listening.close()

"""The application: routes put together, and errors turned into answers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from tellapart.annotate.judging import Conflict, NotThere
from tellapart.annotate.opening import OpenStudy
from tellapart.annotate.reservations import expire
from tellapart.annotate.seats import NotAllowed
from tellapart.annotate.store.database import Gone
from tellapart.errors import BadImage, TellapartError, UnknownName
from tellapart.web import annotators, owners, pages
from tellapart.web.calls import Server
from tellapart.web.guard import Guard
from tellapart.web.limits import Limits
from tellapart.web.pictures import Pictures

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
LOG = logging.getLogger("tellapart.study")


def make_app(study: OpenStudy, url: str) -> FastAPI:
    """The application for one open study, at the address that people know."""
    server = Server(study, Pictures(study), Limits(), url.rstrip("/"))

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
    app.add_exception_handler(TellapartError, _told)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _not_found)
    for module in (annotators, owners, pages):
        app.include_router(module.router)
    app.mount("/static", StaticFiles(packages=[("tellapart.web", "static")]))
    app.add_middleware(Guard, url=server.url, limits=server.limits)
    return app


async def _sweep(server: Server) -> None:
    """Give back reservations that ran out, now and then."""
    while True:
        with contextlib.suppress(Gone):  # the database may come back
            await server.run(lambda conn: expire(conn, server.study))
        await asyncio.sleep(SWEEP_SECONDS)


async def _told(_request: Request, error: Exception) -> JSONResponse:
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

"""The application: routes put together, and errors turned into answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from sqlalchemy import Connection

from tellapart.annotate.assignment import expire
from tellapart.annotate.judging import Conflict, NotThere
from tellapart.annotate.opening import OpenStudy
from tellapart.annotate.people import NotAllowed
from tellapart.annotate.store.database import Gone
from tellapart.errors import BadImage, TellapartError
from tellapart.web.guard import Guard
from tellapart.web.pictures import Pictures

T = TypeVar("T")
STATUSES = {NotAllowed: 401, NotThere: 404, BadImage: 404, Conflict: 409, Gone: 503}
SWEEP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Server:
    """What every route works with."""

    study: OpenStudy
    pictures: Pictures
    secure: bool

    async def run(self, job: Callable[[Connection], T]) -> T:
        """Run a job of the database without holding up other requests."""
        return await asyncio.wrap_future(self.study.database.submit(job))

    async def read(self, job: Callable[[Connection], T]) -> T:
        """Run a job that only reads."""
        return await asyncio.wrap_future(self.study.database.read(job))


def make_app(study: OpenStudy, public_url: str = "") -> FastAPI:
    """The application for one open study."""
    from tellapart.web import annotators, owners, pages

    server = Server(study, Pictures(study), public_url.startswith("https:"))

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
    for module in (annotators, owners, pages):
        app.include_router(module.router)
    app.mount("/static", StaticFiles(packages=[("tellapart.web", "static")]))
    app.add_middleware(Guard, public_url=public_url)
    return app


async def _sweep(server: Server) -> None:
    """Give back reservations that ran out, now and then."""
    while True:
        try:
            await server.run(lambda conn: expire(conn, server.study))
        except Gone:
            pass  # the database is away; it may come back
        await asyncio.sleep(SWEEP_SECONDS)


async def _told(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, TellapartError)
    status = next((code for sort, code in STATUSES.items() if isinstance(error, sort)), 422)
    headers = {"Retry-After": "2"} if status == 503 else None
    return JSONResponse({"error": error.parts()}, status, headers)

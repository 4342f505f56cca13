"""Shared code of the routes: the server behind them, request bodies, cookies."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Request, Response
from pydantic import Field

from tellapart.study.server.guard import RateLimits
from tellapart.study.server.pictures import Pictures
from tellapart.study.sessions import DAYS, end_session
from tellapart.study.store.database import Job
from tellapart.study.study import OpenStudy
from tellapart.web.host import Body, json_response

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Server:
    """The objects that every route needs; `url` is the public address."""

    study: OpenStudy
    pictures: Pictures
    limits: RateLimits
    url: str

    async def run(self, job: Job[T]) -> T:
        """Run a database job without blocking other requests."""
        return await asyncio.wrap_future(self.study.database.submit(job))

    async def read(self, job: Job[T]) -> T:
        """Run a job that only reads."""
        return await asyncio.wrap_future(self.study.database.read(job))

    async def begin(self, job: Job[str], cookie: str, path: str) -> Response:
        """Run a job that starts a session, and put the session's token into a cookie.

        Scripts cannot read the cookie, and requests from other sites do not include it.
        """
        response = json_response({"joined": True})
        response.set_cookie(
            cookie, await self.run(job), max_age=DAYS * 86_400, path=path,
            httponly=True, samesite="strict", secure=self.url.startswith("https:"),
        )  # fmt: skip
        return response

    async def leave(self, session: str, cookie: str, path: str) -> Response:
        """End a session and delete its cookie."""
        await self.run(lambda conn: end_session(conn, session))
        response = json_response({"left": True})
        response.delete_cookie(cookie, path=path)
        return response


async def server_of(request: Request) -> Server:
    """The server of a request (async, or FastAPI would use a thread for each request)."""
    server: Server = request.app.state.server
    return server


Here = Annotated[Server, Depends(server_of)]


class TokenBody(Body):
    """The token of a link."""

    token: str = Field(min_length=16, max_length=100)


class Nothing(Body):
    """An empty object."""

"""What routes share: the server behind them, bodies that hold only what they should, cookies."""

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
    """What every route works with; `url` is the address that people know."""

    study: OpenStudy
    pictures: Pictures
    limits: RateLimits
    url: str

    async def run(self, job: Job[T]) -> T:
        """Run a job of the database without holding up other requests."""
        return await asyncio.wrap_future(self.study.database.submit(job))

    async def read(self, job: Job[T]) -> T:
        """Run a job that only reads."""
        return await asyncio.wrap_future(self.study.database.read(job))

    async def begin(self, job: Job[str], cookie: str, path: str) -> Response:
        """Put the token of the session that a job begins into a cookie.

        Scripts cannot read the cookie, and requests of other sites do not carry it.
        """
        response = json_response({"joined": True})
        response.set_cookie(
            cookie, await self.run(job), max_age=DAYS * 86_400, path=path,
            httponly=True, samesite="strict", secure=self.url.startswith("https:"),
        )  # fmt: skip
        return response

    async def leave(self, session: str, cookie: str, path: str) -> Response:
        """End a session and take its cookie away."""
        await self.run(lambda conn: end_session(conn, session))
        response = json_response({"left": True})
        response.delete_cookie(cookie, path=path)
        return response


async def server_of(request: Request) -> Server:
    """The server that a request came to (async, or each request would go through a thread)."""
    server: Server = request.app.state.server
    return server


Here = Annotated[Server, Depends(server_of)]


class TokenBody(Body):
    """The token of a link."""

    token: str = Field(min_length=16, max_length=100)


class Nothing(Body):
    """An empty object."""

"""What routes share: the server behind them, bodies that hold only what they should, cookies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from tellapart.study.server.guard import RateLimits
from tellapart.study.server.pictures import Pictures
from tellapart.study.sessions import DAYS
from tellapart.study.study import OpenStudy

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Server:
    """What every route works with; `url` is the address that people know."""

    study: OpenStudy
    pictures: Pictures
    limits: RateLimits
    url: str

    async def run(self, job: Callable[[Connection], T]) -> T:
        """Run a job of the database without holding up other requests."""
        return await asyncio.wrap_future(self.study.database.submit(job))

    async def read(self, job: Callable[[Connection], T]) -> T:
        """Run a job that only reads."""
        return await asyncio.wrap_future(self.study.database.read(job))


async def server_of(request: Request) -> Server:
    """The server that a request came to (async, or each request would go through a thread)."""
    server: Server = request.app.state.server
    return server


Here = Annotated[Server, Depends(server_of)]


class Body(BaseModel):
    """Every body: nothing beside what is named, nothing converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class TokenBody(Body):
    """The token of a link."""

    token: str = Field(min_length=16, max_length=100)


class Nothing(Body):
    """An empty object."""


def json_response(value: Any) -> Response:
    """A value as JSON, written at once: it consists of plain values."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(body, media_type="application/json")


def with_session(response: Response, here: Server, name: str, token: str, path: str) -> Response:
    """Add a cookie that scripts cannot read and that other sites' requests do not carry."""
    response.set_cookie(
        name, token, max_age=DAYS * 86_400, path=path,
        httponly=True, samesite="strict", secure=here.url.startswith("https:"),
    )  # fmt: skip
    return response

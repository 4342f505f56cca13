"""A server on this machine: its address, how it runs, and its responses."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from tellapart.errors import BadInput, TellapartError
from tellapart.web.connections import ConnectionLimits, watched

WAITING = 1024
"""Maximum number of connections waiting to be accepted."""
AT_ONCE = 2000
"""Maximum number of concurrent requests; further ones are told to retry later."""
PATIENCE = 30.0
"""Seconds to wait for a server to start."""
HEADER_NAME = re.compile(r"[A-Za-z0-9-]{1,60}")
LOCAL = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where the server listens, and its public address.

    `behind_proxy` is the header in which a proxy passes the client's address.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    public_url: str = ""
    behind_proxy: str = ""

    @property
    def url(self) -> str:
        """The address in links."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (self.public_url or f"http://{host}:{self.port}").rstrip("/")

    @property
    def open_to_others(self) -> bool:
        """Whether links and answers travel over a network unencrypted."""
        return self.host not in LOCAL and not self.url.startswith("https:")


def listen(where: ServerAddress) -> socket.socket:
    """A listening socket; port 0 means any free port."""
    if urlsplit(where.url).scheme not in ("http", "https"):
        raise BadInput(f"--public-url {where.url}", allowed="http://... or https://...")
    if where.behind_proxy and not HEADER_NAME.fullmatch(where.behind_proxy):
        raise BadInput(
            f"--behind-proxy {where.behind_proxy}",
            allowed="the name of a header, such as X-Forwarded-For",
        )
    try:
        listening = socket.create_server(
            (where.host, where.port),
            family=socket.AF_INET6 if ":" in where.host else socket.AF_INET,
            backlog=WAITING,
        )
    except (OSError, OverflowError) as error:
        raise BadInput(
            f"cannot listen on {where.host}, port {where.port}: {error}",
            todo="stop the program that listens there, or choose another --port",
        ) from None
    # Connections inherit it. asyncio does not set it on a given socket, and a response that is sent
    # in two parts would then wait 40 ms for the client to acknowledge the first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def server_config(
    app: FastAPI,
    limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008 (frozen)
    **more: Any,
) -> uvicorn.Config:
    """The configuration of a server: no proxy headers are trusted, and everything has time limits.

    Requests are not logged, to protect people's addresses.
    """
    limits = limits.on_this_machine()
    return uvicorn.Config(
        app, http=watched(limits), ws="none", proxy_headers=False, access_log=False,
        server_header=False, timeout_keep_alive=ceil(limits.idle), limit_concurrency=AT_ONCE,
        h11_max_incomplete_event_size=16_384, backlog=WAITING, **more,
    )  # fmt: skip


def serve_app(
    app: FastAPI,
    listening: socket.socket,
    ready: Callable[[], None] = lambda: None,
    limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008 (frozen)
) -> None:
    """Serve until stopped; `ready` is called once the server can be reached."""
    config = server_config(app, limits, log_level="warning")
    try:
        ready()
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # the normal way to stop a server
    finally:
        listening.close()


class BackgroundServer:
    """An application served by a thread of this process until it is stopped."""

    def __init__(self, app: FastAPI, listening: socket.socket) -> None:
        self._listening = listening
        self._server = uvicorn.Server(server_config(app, log_level="error"))
        self._thread = threading.Thread(target=self._server.run, args=([listening],), daemon=True)
        self._thread.start()
        end = time.monotonic() + PATIENCE
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > end:
                self.stop()
                raise TellapartError("the server did not start", todo="see its output above")
            time.sleep(0.01)

    def stop(self) -> None:
        """Stop the server."""
        self._server.should_exit = True
        self._thread.join(PATIENCE)
        self._listening.close()


@contextmanager
def served_app(make: Callable[[str], FastAPI]) -> Iterator[str]:
    """Serve an application for the duration of the block; yields its address."""
    listening = listen(ServerAddress(port=0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = BackgroundServer(make(url), listening)
    try:
        yield url
    finally:
        server.stop()


# Answers


class Body(BaseModel):
    """Base of request bodies: no unknown fields, no type conversion."""

    model_config = ConfigDict(extra="forbid", strict=True)


def json_response(value: Any) -> Response:
    """Plain values as JSON, faster than FastAPI's encoder, which inspects each of them."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(body, media_type="application/json")


def add_shared(app: FastAPI, package: str) -> None:
    """Serve the package's own static files and the shared ones."""
    app.mount("/static", StaticFiles(packages=[(package, "static")]))
    app.mount("/shared", StaticFiles(packages=[("tellapart.web", "static")]))
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _not_found)


async def _not_found(_request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": {"what": str(error.detail)}}, error.status_code, error.headers)


async def _not_valid(_request: Request, error: Exception) -> JSONResponse:
    """Say which field is invalid and why, without echoing the input."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][:4])[:100]
    return JSONResponse({"error": {"what": f"{where}: {first['msg']}"}}, 422)

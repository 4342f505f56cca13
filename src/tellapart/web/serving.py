"""The verb `study serve`: the application behind uvicorn, on this machine unless told otherwise."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

import uvicorn

from tellapart.annotate.opening import OpenStudy
from tellapart.errors import BadInput
from tellapart.web.app import make_app

WAITING = 1024
"""Connections that may wait to be taken."""
AT_ONCE = 2000
"""Requests at a time; beyond them the answer is to come back later."""
LOCAL = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Where the server listens, and the address that people know it by."""

    host: str = "127.0.0.1"
    port: int = 8000
    public_url: str = ""

    @property
    def url(self) -> str:
        """The address in links."""
        return (self.public_url or f"http://{self.host}:{self.port}").rstrip("/")

    @property
    def open_to_others(self) -> bool:
        """Whether links and answers travel over a network without encryption."""
        return self.host not in LOCAL and not self.url.startswith("https:")


def serve(
    study: OpenStudy, options: ServeOptions, ready: Callable[[], None] = lambda: None
) -> None:
    """Serve until told to stop; `ready` is called once the server listens.

    Requests are not logged: their addresses belong to people.
    """
    listening = _listen(options)
    ready()
    config = uvicorn.Config(
        make_app(study, options.url), access_log=False, log_level="warning", server_header=False,
        timeout_keep_alive=30, limit_concurrency=AT_ONCE, h11_max_incomplete_event_size=16_384,
    )  # fmt: skip
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # how a server is stopped
    finally:
        listening.close()


def _listen(options: ServeOptions) -> socket.socket:
    if urlsplit(options.url).scheme not in ("http", "https"):
        raise BadInput(f"--public-url {options.url}", allowed="http://... or https://...")
    try:
        return socket.create_server(
            (options.host, options.port),
            family=socket.AF_INET6 if ":" in options.host else socket.AF_INET,
            backlog=WAITING,
        )
    except (OSError, OverflowError) as error:
        raise BadInput(
            f"cannot listen at {options.host}, port {options.port}: {error}",
            todo="stop what listens there, or choose another --port",
        ) from None

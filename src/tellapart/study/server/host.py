"""Where a study is served: behind uvicorn, on this machine unless told otherwise."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import uvicorn

from tellapart.errors import BadInput, TellapartError
from tellapart.study.server.app import make_app
from tellapart.study.study import OpenStudy

WAITING = 1024
"""Connections that may wait to be taken."""
AT_ONCE = 2000
"""Requests at a time; beyond them the answer is to come back later."""
PATIENCE = 30.0
"""Seconds that a server may take to start."""
LOCAL = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class ServerAddress:
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


def serve(study: OpenStudy, where: ServerAddress, ready: Callable[[], None] = lambda: None) -> None:
    """Serve until told to stop; `ready` is called once the server listens.

    Requests are not logged: their addresses belong to people.
    """
    listening = _listen(where)
    ready()
    config = uvicorn.Config(
        make_app(study, where.url), access_log=False, log_level="warning", server_header=False,
        timeout_keep_alive=30, limit_concurrency=AT_ONCE, h11_max_incomplete_event_size=16_384,
    )  # fmt: skip
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # how a server is stopped
    finally:
        listening.close()


def _listen(where: ServerAddress) -> socket.socket:
    if urlsplit(where.url).scheme not in ("http", "https"):
        raise BadInput(f"--public-url {where.url}", allowed="http://... or https://...")
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
def served(study: OpenStudy, port: int = 0) -> Iterator[str]:
    """Serve a study while the block lasts; gives the address."""
    port = port or free_port()
    url = f"http://127.0.0.1:{port}"
    config = uvicorn.Config(make_app(study, url), port=port, log_level="error", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        _wait_for_start(server, thread)
        yield url
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def free_port() -> int:
    """A port that nobody listens at just now."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port: int = asked.getsockname()[1]
    return port


def _wait_for_start(server: uvicorn.Server, thread: threading.Thread) -> None:
    end = time.monotonic() + PATIENCE
    while not server.started:
        if not thread.is_alive() or time.monotonic() > end:
            raise TellapartError("the server did not start", todo="see what it said above")
        time.sleep(0.01)

"""A server in a thread of this process, at a free port of this machine."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from tellapart.annotate.opening import OpenStudy
from tellapart.errors import TellapartError
from tellapart.web.app import make_app

PATIENCE = 30.0
"""Seconds that a server may take to start."""


def free_port() -> int:
    """A port that nobody listens at just now."""
    with socket.socket() as asked:
        asked.bind(("127.0.0.1", 0))
        port: int = asked.getsockname()[1]
    return port


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
        _wait(server, thread)
        yield url
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def _wait(server: uvicorn.Server, thread: threading.Thread) -> None:
    end = time.monotonic() + PATIENCE
    while not server.started:
        if not thread.is_alive() or time.monotonic() > end:
            raise TellapartError("the server did not start", todo="see what it said above")
        time.sleep(0.01)

"""The verb `study serve`: the application behind uvicorn, on this machine unless told otherwise."""

from __future__ import annotations

from dataclasses import dataclass

import uvicorn

from tellapart.annotate.opening import OpenStudy
from tellapart.web.app import make_app


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


def serve(study: OpenStudy, options: ServeOptions) -> None:
    """Serve until told to stop. Requests are not logged: their addresses belong to people."""
    app = make_app(study, options.url)
    config = uvicorn.Config(
        app, host=options.host, port=options.port, access_log=False, log_level="warning",
        server_header=False, timeout_keep_alive=30, limit_concurrency=2000,
    )  # fmt: skip
    uvicorn.Server(config).run()

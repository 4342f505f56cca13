"""An object store on this machine (moto's server) that can go away in the middle and come back."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class ObjectStore:
    """A server that counts what is written to it; while it is `down` it hangs up on everybody."""

    down: bool = False
    puts_left: int | None = None
    puts: list[str] = field(default_factory=list)
    hung_up: int = 0

    def __post_init__(self) -> None:
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.moto = DomainDispatcherApplication(create_backend_app)
        self.server = make_server("127.0.0.1", 0, self.answer, threaded=True)
        self.url = f"http://127.0.0.1:{self.server.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        """Answer, or hang up; `puts_left` writings from now on the store goes away."""
        if environ["REQUEST_METHOD"] in ("PUT", "DELETE") and not self.down:
            if self.puts_left == 0:
                self.down = True
            elif self.puts_left is not None:
                self.puts_left -= 1
        if self.down:
            self.hung_up += 1
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            return []
        if environ["REQUEST_METHOD"] == "PUT":
            self.puts.append(environ["PATH_INFO"])
        return self.moto(environ, start)

    def fail_after(self, puts: int) -> None:
        """Go away after so many more writings."""
        self.down, self.puts_left, self.hung_up = False, puts, 0

    def back(self) -> None:
        """Be there again."""
        self.down, self.puts_left = False, None

    def end(self) -> None:
        """Stop for good."""
        self.server.shutdown()
        self.server.server_close()

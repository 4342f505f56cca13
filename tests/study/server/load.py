"""People who answer as fast as a server lets them, all in one process.

Just enough HTTP for that: a real client would cost more than the server.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

PAUSE = 0.05
"""Seconds until someone tries again who was not answered."""


class Connection:
    """JSON over one connection that is kept open."""

    def __init__(self, port: int) -> None:
        self.port, self.cookie = port, ""
        self.writer: asyncio.StreamWriter | None = None

    async def open(self) -> None:
        """Connect."""
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    def close(self) -> None:
        """Let go."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None

    async def post(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Send a body and wait for the answer: its status and what it says."""
        if self.writer is None:
            await self.open()
        assert self.writer is not None
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"X-Tellapart: 1\r\nCookie: {self.cookie}\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        self.writer.write(head.encode() + data)
        raw = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = 0
        for line in raw.split("\r\n")[1:]:
            name, _, value = line.partition(":")
            if name.lower() == "content-length":
                length = int(value)
            elif name.lower() == "set-cookie":
                self.cookie = value.strip().partition(";")[0]
        text = await self.reader.readexactly(length)
        return int(raw.split(" ", 2)[1]), json.loads(text) if text else {}


@dataclass
class Stubborn:
    """Someone who sends everything again until it is answered, whatever becomes of the server.

    `acknowledged` has the answer to each task (by its number) that the server confirmed; `statuses`
    counts what came instead.
    """

    token: str
    lot: random.Random
    acknowledged: dict[int, str] = field(default_factory=dict)
    statuses: dict[int | str, int] = field(default_factory=dict)
    finished: bool = False

    async def work(self, port: int, stop: Callable[[], bool]) -> None:
        """Answer at random until nothing is left, or until told to stop."""
        connection = Connection(port)
        state: dict[str, Any] = {}
        for path, body in (
            ("/api/join", {"token": self.token}),
            ("/api/consent", {"agree": True}),
        ):
            state = await self._insist(connection, path, body, stop)
        while state and not stop():
            if state["state"] in ("done", "stopped"):
                self.finished = True
                break
            if state["state"] == "wait":
                await asyncio.sleep(4 * PAUSE)
                state = await self._insist(connection, "/api/next", {}, stop)
                continue
            number, values = state["task"]["number"], state["task"]["options"]
            value = self.lot.choice(values)["value"]
            reply = {"number": number, "value": value, "milliseconds": 1}
            state = await self._insist(connection, "/api/answers", reply, stop)
            if state.get("taken"):
                self.acknowledged[number] = value
        connection.close()

    async def _insist(
        self, connection: Connection, path: str, body: dict[str, Any], stop: Callable[[], bool]
    ) -> dict[str, Any]:
        """What the server says in the end; nothing if it was told to stop before that."""
        while not stop():
            try:
                status, said = await asyncio.wait_for(connection.post(path, body), 60)
            except (OSError, EOFError, TimeoutError):
                connection.close()
                self._count("no answer")
            else:
                if status == 200:
                    return {**said, "taken": path == "/api/answers"}
                self._count(status)
                if status == 409:  # the task went to someone else meanwhile
                    path, body = "/api/next", {}
            await asyncio.sleep(PAUSE * (1 + self.lot.random()))
        return {}

    def _count(self, status: int | str) -> None:
        self.statuses[status] = self.statuses.get(status, 0) + 1


SLOW = (b"", b"POST /api/ne", b"POST /api/next HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{")
"""What slow ones have sent: nothing, a part of a head, a part of a body."""


@dataclass
class SlowCrowd:
    """Connections that send nothing more; whoever is let go comes back at once.

    `seen` counts how often one was let go, or not let in.
    """

    port: int
    number: int
    pause: float = 0.05
    seen: int = 0

    async def hold(self, until: asyncio.Event) -> None:
        """Hold them until told to stop."""
        await asyncio.gather(*(self._one(SLOW[k % len(SLOW)], until) for k in range(self.number)))

    async def _one(self, start: bytes, until: asyncio.Event) -> None:
        while not until.is_set():
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                self.seen += 1
                await asyncio.sleep(self.pause)
                continue
            writer.write(start)
            gone, told = asyncio.ensure_future(reader.read()), asyncio.ensure_future(until.wait())
            await asyncio.wait((gone, told), return_when=asyncio.FIRST_COMPLETED)
            self.seen += gone.done()
            for task in (gone, told):
                task.cancel()
            await asyncio.gather(gone, told, return_exceptions=True)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            await asyncio.sleep(self.pause)

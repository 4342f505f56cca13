"""Connection limits: time for a request to arrive, and connections per address.

uvicorn closes connections that are idle after a response, but waits forever for a request that
arrives byte by byte, or not at all. Here, a request's head and its body have a time limit each, and
so do clients that do not read the response.

If an address or the server has reached its number of connections, the one that has kept the server
waiting longest is closed for a new one. Connections whose request is being answered are never
closed, so active people stay connected while slow clients push each other out.
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD, BODY, ANSWER, IDLE = "head", "body", "answer", "idle"
KEPT_FREE = 200
"""Open files reserved for the database, pictures and the log."""
AHEAD = 64 * 1024
"""Bytes of further requests accepted before a response; browsers send none."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Seconds for a request's head, its body, reading the response, and idling after it.

    `of_address` and `of_server` limit the connections per address and in total.
    """

    head: float = 10.0
    body: float = 20.0
    reading: float = 60.0
    idle: float = 30.0
    of_address: int = 300
    of_server: int = 1500

    def seconds(self, phase: str) -> float:
        """How long a connection may stay in a phase."""
        return {HEAD: self.head, BODY: self.body, ANSWER: self.reading, IDLE: self.idle}[phase]

    def on_this_machine(self) -> ConnectionLimits:
        """The same limits, reduced to the number of files this process may open."""
        if sys.platform == "win32":
            return self
        import resource

        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        if files == resource.RLIM_INFINITY:
            return self
        return replace(self, of_server=max(1, min(self.of_server, files - KEPT_FREE)))


@dataclass(slots=True)
class Connections:
    """The connections of one server, by address."""

    limits: ConnectionLimits
    _open: defaultdict[str, set[WatchedConnection]] = field(
        default_factory=lambda: defaultdict(set)
    )
    _total: int = 0

    def add(self, new: WatchedConnection) -> None:
        """Add a connection; if there are too many, close one that is waiting."""
        mine = self._open[new.address]
        mine.add(new)
        self._total += 1
        if len(mine) > self.limits.of_address:
            _close_one(mine)
        elif self._total > self.limits.of_server:
            _close_one({one for some in self._open.values() for one in some})

    def remove(self, old: WatchedConnection) -> None:
        """Remove a connection that has ended."""
        mine = self._open[old.address]
        if old in mine:
            mine.remove(old)
            self._total -= 1
        if not mine:
            del self._open[old.address]


def _close_one(among: set[WatchedConnection]) -> None:
    """Close the connection whose request has been arriving longest, else the one idle longest."""
    waiting = [one for one in among if one.phase != ANSWER and not one.transport.is_closing()]
    if waiting:
        min(waiting, key=lambda one: (one.phase == IDLE, one.since)).transport.abort()


class WatchedConnection(H11Protocol):
    """One connection with its phase and the time since it started."""

    everyone: Connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for a request."""
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        self.phase, self.since = HEAD, self.loop.time()
        self.stuck: float | None = None
        self.everyone.add(self)
        self._timer = self.loop.call_later(self.everyone.limits.head, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Remove the connection."""
        self._timer.cancel()
        self.everyone.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass bytes on, and update the phase."""
        super().data_received(data)
        if len(self.conn.trailing_data[0]) > AHEAD:
            self.transport.abort()
        self._see()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._see()

    def pause_writing(self) -> None:
        """Record when the client stopped reading."""
        super().pause_writing()
        self.stuck = self.loop.time()

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        self.stuck = None

    def _see(self) -> None:
        """Update the phase; each phase has its own time limit."""
        phase = {h11.IDLE: HEAD, h11.SEND_BODY: BODY}.get(self.conn.their_state, ANSWER)
        if phase == HEAD and self.cycle is not None and not self.conn.trailing_data[0]:
            phase = IDLE
        if phase != self.phase:
            self.phase, self.since = phase, self.loop.time()

    def _look(self) -> None:
        """Close the connection if its time is up, else check again later."""
        now, limits = self.loop.time(), self.everyone.limits
        if self.phase == ANSWER or self.transport.is_closing():
            since, most = self.stuck or now, limits.reading
            if self.transport.is_closing():  # the client still has to read the last response
                since = self.stuck = self.stuck or now
        else:
            since, most = self.since, limits.seconds(self.phase)
        left = since + most - now
        if left <= 0:
            self.transport.abort()
        else:
            self._timer = self.loop.call_later(min(left, limits.head), self._look)


def watched(limits: ConnectionLimits) -> type[Any]:
    """The protocol of a server with these limits, for uvicorn's `http`."""
    return type("WatchedConnection", (WatchedConnection,), {"everyone": Connections(limits)})

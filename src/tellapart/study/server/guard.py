"""What stands before every route of a study: limits, beside what every server refuses.

Limits are a bucket of permits for each caller, refilled at a steady rate, kept in memory: each
server limits what comes to itself. A caller is a session, or without one an address. Sessions that
opened something are known; others, from an address where many attempts failed, have to wait, so
that guessing is slow and nobody at work beside it is held up.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Scope

from tellapart.study.keys import hashed
from tellapart.web.gate import Gate, Refused

CALLERS = 20_000
"""Callers that are remembered; beyond them the one longest silent is forgotten."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Permits a second, and how many can be saved up."""

    per_second: float
    burst: float


SESSION = Rate(20.0, 100.0)
ADDRESS = Rate(100.0, 1000.0)
"""Without a session: a page is a handful of files, and many people can share an address."""
FAILURES = Rate(0.5, 30.0)
"""Links and sessions that open nothing, by address."""


@dataclass(slots=True)
class RateLimits:
    """Who asked how often; not for use from several threads."""

    now: Callable[[], float] = time.monotonic
    _buckets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    _known: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def asks(self, session: str, address: str) -> float:
        """Let a request in: 0, or how many seconds it has to wait."""
        wait = self.wait(session or address, SESSION if session else ADDRESS)
        if wait or session in self._known:
            return wait
        return self.wait(f"failures {address}", FAILURES, take=False)

    def ended(self, session: str, address: str, failed: bool) -> None:
        """Learn from how a request ended; `failed` says that it was nobody's we know."""
        if failed:
            self._known.pop(session, None)
            self.wait(f"failures {address}", FAILURES)
        elif session:
            self._known[session] = None
            _forget_oldest(self._known)

    def wait(self, caller: str, rate: Rate, take: bool = True) -> float:
        """Take a permit (or only look): 0 if there is one, else the seconds until there will be."""
        now = self.now()
        permits, since = self._buckets.pop(caller, (rate.burst, now))
        permits = min(rate.burst, permits + max(0.0, now - since) * rate.per_second)
        there = permits >= 1
        self._buckets[caller] = (permits - 1 if there and take else permits, now)
        _forget_oldest(self._buckets)
        return 0.0 if there else (1 - permits) / rate.per_second


def _forget_oldest(entries: OrderedDict[str, Any]) -> None:
    if len(entries) > CALLERS:
        entries.popitem(last=False)


class Guard(Gate):
    """The gate of a study, which counts requests."""

    def __init__(self, app: ASGIApp, url: str, limits: RateLimits) -> None:
        super().__init__(app, url)
        self._limits = limits

    def admit(self, scope: Scope, headers: Headers) -> None:
        """Whoever asks too often has to wait."""
        wait = self._limits.asks(*_caller(scope))
        if wait:
            raise Refused(429, "too many requests", wait)

    def ended(self, scope: Scope, status: int) -> None:
        """Attempts that opened nothing are remembered."""
        self._limits.ended(*_caller(scope), failed=status == 401)


def _caller(scope: Scope) -> tuple[str, str]:
    """(session, address): what is told apart is a hash of the cookies, empty without ours."""
    cookies = Headers(scope=scope).get("cookie", "")
    client = scope.get("client")
    return hashed(cookies) if "tellapart" in cookies else "", str(client[0]) if client else ""

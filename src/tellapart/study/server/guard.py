"""Rate limits in front of a study's routes, in addition to the gate of every server.

Limits are token buckets, refilled at a steady rate and kept in memory: each server limits its own
requests. Every session has its own bucket, so that people do not slow each other down. Every
address has one for invalid links and sessions: the routes check first, and invalid ones are refused
once the bucket is empty, whatever cookies they bring. So a valid link always works, however many
others fail from the same address. Pages and static files are never refused.
"""

from __future__ import annotations

import ipaddress
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Scope

from tellapart.study.keys import hashed
from tellapart.web.gate import Gate, Refused

LIMITED = ("/api/", "/images/")
"""Paths that need a session; everything else is public."""
COOKIE, OWNER_COOKIE = "tellapart", "tellapart-owner"
OWNER_PATH = "/api/owner"
UNKNOWN = 401
LONGEST_NAME = 100
"""Maximum length of a client name from a proxy that is not an IP address."""
CALLERS = 20_000
"""Maximum number of remembered callers; the least recent one is forgotten first."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Permits per second, and how many can accumulate."""

    per_second: float
    burst: float


SESSION = Rate(20.0, 100.0)
FAILURES = Rate(0.5, 30.0)
"""Limit for invalid links and sessions, per address."""
Buckets = OrderedDict[str, tuple[float, float]]


@dataclass(slots=True)
class RateLimits:
    """Counts requests per caller; not thread-safe."""

    now: Callable[[], float] = time.monotonic
    answers: Counter[int] = field(default_factory=Counter)
    """Number of answered requests, by status."""
    _sessions: Buckets = field(default_factory=OrderedDict)
    _failures: Buckets = field(default_factory=OrderedDict)

    def asks(self, session: str) -> float:
        """Admit a session's request: 0, or the seconds it has to wait."""
        return self._take(self._sessions, session, SESSION)

    def fails(self, address: str) -> float:
        """Count an invalid attempt: 0, or the seconds until the next one is allowed."""
        return self._take(self._failures, address, FAILURES)

    def _take(self, buckets: Buckets, caller: str, rate: Rate) -> float:
        """Take a permit: 0 if there is one, else the seconds until there is."""
        now = self.now()
        permits, since = buckets.pop(caller, (rate.burst, now))
        permits = min(rate.burst, permits + max(0.0, now - since) * rate.per_second)
        there = permits >= 1
        buckets[caller] = (permits - there, now)
        if len(buckets) > CALLERS:
            buckets.popitem(last=False)
        return 0.0 if there else (1 - permits) / rate.per_second


class Guard(Gate):
    """The gate of a study, which limits and counts requests."""

    def __init__(self, app: ASGIApp, url: str, limits: RateLimits, proxy: str = "") -> None:
        super().__init__(app, url)
        self._limits, self._proxy = limits, proxy

    def admit(self, scope: Scope, headers: Headers) -> None:
        """Refuse a session that sends too many requests."""
        session = _session(scope)
        wait = self._limits.asks(session) if session else 0.0
        if wait:
            raise Refused(429, "too many requests", wait)

    def ended(self, scope: Scope, status: int) -> None:
        """Count invalid attempts, and refuse them once there are too many."""
        self._limits.answers[status] += 1
        wait = self._limits.fails(_address(scope, self._proxy)) if status == UNKNOWN else 0.0
        if wait:
            raise Refused(429, "too many failed attempts", wait)


def _session(scope: Scope) -> str:
    """A hash of a request's session; empty if none is needed or given.

    Other cookies do not identify callers, or changing them would make a new caller each time.
    """
    path = scope["path"]
    if not path.startswith(LIMITED):
        return ""
    name = OWNER_COOKIE if path.startswith(OWNER_PATH) else COOKIE
    session = cookie_parser(Headers(scope=scope).get("cookie", "")).get(name, "")
    return hashed(session) if session else ""


def _address(scope: Scope, proxy: str) -> str:
    """The address of a request's client: the last entry of the proxy's header, if there is one.

    For IPv6, it is the /64 network, which is what one subscriber has.
    """
    named = Headers(scope=scope).get(proxy, "").rpartition(",")[2].strip() if proxy else ""
    client = scope.get("client")
    text = named or (str(client[0]) if client else "")
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text[:LONGEST_NAME]
    network = 64 if address.version == 6 else 32
    return str(ipaddress.ip_network((address, network), strict=False))

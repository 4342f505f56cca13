"""What stands before every route of a study: limits, beside what every server refuses.

Limits are buckets of permits, refilled at a steady rate, kept in memory: each server limits what
comes to itself. A session has a bucket of its own, so that nobody is held up by others. An address
has one for links and sessions that open nothing: the routes look first, and what they do not know
is refused once the bucket is empty, whatever cookies it brings. So a valid link opens the study
however many others fail beside it. Pages and static files are never refused.
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
"""Where sessions are needed; everything else is a file that anybody may have."""
COOKIE, OWNER_COOKIE = "tellapart", "tellapart-owner"
OWNER_PATH = "/api/owner"
UNKNOWN = 401
LONGEST_NAME = 100
"""Of what a proxy says that is no address."""
CALLERS = 20_000
"""Callers that are remembered; beyond them the one longest silent is forgotten."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Permits a second, and how many can be saved up."""

    per_second: float
    burst: float


SESSION = Rate(20.0, 100.0)
FAILURES = Rate(0.5, 30.0)
"""Links and sessions that open nothing, by address."""
Buckets = OrderedDict[str, tuple[float, float]]


@dataclass(slots=True)
class RateLimits:
    """Who asked how often; not for use from several threads."""

    now: Callable[[], float] = time.monotonic
    answers: Counter[int] = field(default_factory=Counter)
    """How many requests were answered, by status."""
    _sessions: Buckets = field(default_factory=OrderedDict)
    _failures: Buckets = field(default_factory=OrderedDict)

    def asks(self, session: str) -> float:
        """Let a session's request in: 0, or how many seconds it has to wait."""
        return self._take(self._sessions, session, SESSION)

    def fails(self, address: str) -> float:
        """Note an attempt that opened nothing: 0, or how many seconds the next has to wait."""
        return self._take(self._failures, address, FAILURES)

    def _take(self, buckets: Buckets, caller: str, rate: Rate) -> float:
        """Take a permit: 0 if there is one, else the seconds until there will be."""
        now = self.now()
        permits, since = buckets.pop(caller, (rate.burst, now))
        permits = min(rate.burst, permits + max(0.0, now - since) * rate.per_second)
        there = permits >= 1
        buckets[caller] = (permits - there, now)
        if len(buckets) > CALLERS:
            buckets.popitem(last=False)
        return 0.0 if there else (1 - permits) / rate.per_second


class Guard(Gate):
    """The gate of a study, which counts requests."""

    def __init__(self, app: ASGIApp, url: str, limits: RateLimits, proxy: str = "") -> None:
        super().__init__(app, url)
        self._limits, self._proxy = limits, proxy

    def admit(self, scope: Scope, headers: Headers) -> None:
        """Whoever asks too often has to wait."""
        session = _session(scope)
        wait = self._limits.asks(session) if session else 0.0
        if wait:
            raise Refused(429, "too many requests", wait)

    def ended(self, scope: Scope, status: int) -> None:
        """Attempts that open nothing are counted, and refused once there were too many."""
        self._limits.answers[status] += 1
        wait = self._limits.fails(_address(scope, self._proxy)) if status == UNKNOWN else 0.0
        if wait:
            raise Refused(429, "too many attempts that open nothing", wait)


def _session(scope: Scope) -> str:
    """A hash of the session that a request brings; empty where none is needed or brought.

    Other cookies do not tell callers apart, or a new one would be a new caller each time.
    """
    path = scope["path"]
    if not path.startswith(LIMITED):
        return ""
    name = OWNER_COOKIE if path.startswith(OWNER_PATH) else COOKIE
    session = cookie_parser(Headers(scope=scope).get("cookie", "")).get(name, "")
    return hashed(session) if session else ""


def _address(scope: Scope, proxy: str) -> str:
    """Where a request comes from: what the proxy's header ends with, where there is one.

    Of an IPv6 address the network, which is what one subscriber has.
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

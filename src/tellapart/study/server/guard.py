"""What stands before every route: limits, refusal of other sites' requests, security headers.

Limits are a bucket of permits for each caller, refilled at a steady rate, kept in memory: each
server limits what comes to itself. A caller is a session, or without one an address. Sessions that
opened something are known; others, from an address where many attempts failed, have to wait, so
that guessing is slow and nobody at work beside it is held up.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tellapart.study.keys import hashed

MAX_BODY = 16 * 1024
SAFE = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; font-src 'self'; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
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


class Refused(Exception):
    """A request that goes no further: its status, why, and after how many seconds to come back."""

    def __init__(self, status: int, why: str, wait: float = 0.0) -> None:
        super().__init__(why)
        self.status, self.why, self.wait = status, why, wait


class Guard:
    """Pure ASGI, because it runs for every request."""

    def __init__(self, app: ASGIApp, url: str, limits: RateLimits) -> None:
        self.app = app
        self._origin = urlsplit(url)
        self._limits = limits
        headers = dict(HEADERS)
        if self._origin.scheme == "https":
            headers["Strict-Transport-Security"] = "max-age=31536000"
        self._headers = [(name.lower().encode(), text.encode()) for name, text in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body = _CountedBody(receive)

        async def sealed(message: Message) -> None:
            if body.too_large:  # whatever the route made of half a body
                return
            if message["type"] == "http.response.start":
                self._seal(scope, message)
            await send(message)

        try:
            self._check(scope)
            await self.app(scope, body, sealed)
            body.check()
        except Refused as refused:
            await self._refuse(scope, send, refused)

    def _seal(self, scope: Scope, message: Message) -> None:
        """Add the headers that every response has, and learn from how the request ended."""
        message["headers"] = [*message.get("headers", ()), *self._headers]
        MutableHeaders(scope=message).setdefault("Cache-Control", "no-store")
        self._limits.ended(*_caller(scope), failed=message["status"] == 401)

    async def _refuse(self, scope: Scope, send: Send, refused: Refused) -> None:
        body = json.dumps({"error": {"what": refused.why}}).encode()
        headers = [(b"content-type", b"application/json")]
        headers.append((b"content-length", str(len(body)).encode()))
        if refused.wait:
            headers.append((b"retry-after", str(ceil(refused.wait)).encode()))
        start = {"type": "http.response.start", "status": refused.status, "headers": headers}
        self._seal(scope, start)
        await send(start)
        await send({"type": "http.response.body", "body": body})

    def _check(self, scope: Scope) -> None:
        wait = self._limits.asks(*_caller(scope))
        if wait:
            raise Refused(429, "too many requests", wait)
        headers = Headers(scope=scope)
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_BODY:
            raise _too_large()
        if scope["method"] not in SAFE:
            self._check_origin(headers)

    def _check_origin(self, headers: Headers) -> None:
        """Requests that change something must come from our own pages (or from no page)."""
        origin = headers.get("origin")
        ours = {self._origin.netloc, headers.get("host", "")}
        if origin is not None and urlsplit(origin).netloc not in ours:
            raise Refused(403, "the request comes from another site")
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Refused(403, "the request comes from another site")
        if headers.get("x-tellapart") != "1":
            raise Refused(403, "the header X-Tellapart: 1 is missing")


class _CountedBody:
    """A body that does not say how long it is may not be longer either."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._seen = receive, 0
        self.too_large = False

    async def __call__(self) -> Message:
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        self.too_large = self._seen > MAX_BODY
        self.check()
        return message

    def check(self) -> None:
        """Raise once too much has come."""
        if self.too_large:
            raise _too_large()


def _too_large() -> Refused:
    return Refused(413, f"the request is larger than {MAX_BODY:,} bytes")


def _caller(scope: Scope) -> tuple[str, str]:
    """(session, address): what is told apart is a hash of the cookies, empty without ours."""
    cookies = Headers(scope=scope).get("cookie", "")
    client = scope.get("client")
    return hashed(cookies) if "tellapart" in cookies else "", str(client[0]) if client else ""

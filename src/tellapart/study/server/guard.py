"""What stands before every route: limits, refusal of other sites' requests, security headers.

Limits are buckets of permits, refilled at a steady rate, kept in memory: each server limits what
comes to itself. A session has a bucket of its own, so that nobody is held up by others. An address
has one for links and sessions that open nothing: the routes look first, and what they do not know
is refused once the bucket is empty, whatever cookies it brings. So a valid link opens the study
however many others fail beside it. Pages and static files are never refused.
"""

from __future__ import annotations

import ipaddress
import json
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from math import ceil
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tellapart.study.keys import hashed

MAX_BODY = 16 * 1024
SAFE = ("GET", "HEAD")
LIMITED = ("/api/", "/images/")
"""Where sessions are needed; everything else is a file that anybody may have."""
COOKIE, OWNER_COOKIE = "tellapart", "tellapart-owner"
OWNER_PATH = "/api/owner"
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


class Refused(Exception):
    """A request that goes no further: its status, why, and after how many seconds to come back."""

    def __init__(self, status: int, why: str, wait: float = 0.0) -> None:
        super().__init__(why)
        self.status, self.why, self.wait = status, why, wait


class Guard:
    """Pure ASGI, because it runs for every request."""

    def __init__(self, app: ASGIApp, url: str, limits: RateLimits, proxy: str = "") -> None:
        self.app = app
        self._origin = urlsplit(url)
        self._limits, self._proxy = limits, proxy
        headers = dict(HEADERS)
        if self._origin.scheme == "https":
            headers["Strict-Transport-Security"] = "max-age=31536000"
        self._headers = [(name.lower().encode(), text.encode()) for name, text in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body, wait = _CountedBody(receive), 0.0

        async def sealed(message: Message) -> None:
            nonlocal wait
            if message["type"] == "http.response.start":
                if message["status"] == UNKNOWN:
                    wait = self._limits.fails(_address(scope, self._proxy))
                self._seal(message)
            if not (body.too_large or wait):  # else: whatever the route said
                await send(message)

        try:
            self._check(scope)
            await self.app(scope, body, sealed)
            body.check()
            if wait:
                raise Refused(429, "too many attempts that open nothing", wait)
        except Refused as refused:
            await self._refuse(send, refused)

    def _seal(self, message: Message) -> None:
        """Add the headers that every response has."""
        message["headers"] = [*message.get("headers", ()), *self._headers]
        MutableHeaders(scope=message).setdefault("Cache-Control", "no-store")

    async def _refuse(self, send: Send, refused: Refused) -> None:
        body = json.dumps({"error": {"what": refused.why}}).encode()
        headers = [(b"content-type", b"application/json")]
        headers.append((b"content-length", str(len(body)).encode()))
        if refused.wait:
            headers.append((b"retry-after", str(ceil(refused.wait)).encode()))
        start = {"type": "http.response.start", "status": refused.status, "headers": headers}
        self._seal(start)
        await send(start)
        await send({"type": "http.response.body", "body": body})

    def _check(self, scope: Scope) -> None:
        session = _session(scope)
        wait = self._limits.asks(session) if session else 0.0
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

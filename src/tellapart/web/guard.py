"""What stands before every route: limits, refusal of other sites' requests, security headers."""

from __future__ import annotations

import json
from math import ceil
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tellapart.annotate.keys import hashed
from tellapart.web.limits import Limits

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


class Refused(Exception):
    """A request that goes no further: its status, why, and after how many seconds to come back."""

    def __init__(self, status: int, why: str, wait: float = 0.0) -> None:
        super().__init__(why)
        self.status, self.why, self.wait = status, why, wait


class Guard:
    """Pure ASGI, because it runs for every request."""

    def __init__(self, app: ASGIApp, url: str, limits: Limits) -> None:
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

"""The gate in front of every route of a server: checks of origin and size, and headers.

A server adds its own admission check (`admit`) and its reaction to responses (`ended`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import ceil
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY = 16 * 1024
SAFE = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src "
    "'self'; font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors {frames}"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


def security_headers(url: str, frames: Sequence[str] = ()) -> dict[str, str]:
    """The headers of every response of a server at this address.

    `frames` are the origins whose pages may embed ours in a frame (default: none).
    """
    policy = POLICY.format(frames=" ".join(frames) or "'none'")
    headers = {"Content-Security-Policy": policy, **HEADERS}
    if not frames:
        headers["X-Frame-Options"] = "DENY"
    if urlsplit(url).scheme == "https":
        headers["Strict-Transport-Security"] = "max-age=31536000"
    return headers


class Refused(Exception):
    """A refused request: its status, the reason, and after how many seconds to retry."""

    def __init__(self, status: int, why: str, wait: float = 0.0) -> None:
        super().__init__(why)
        self.status, self.why, self.wait = status, why, wait


class Gate:
    """Checks every request; pure ASGI for speed."""

    def __init__(self, app: ASGIApp, url: str, frames: Sequence[str] = ()) -> None:
        self.app = app
        self.origin = urlsplit(url)
        headers = security_headers(url, frames)
        self._headers = [(name.lower().encode(), text.encode()) for name, text in headers.items()]

    def admit(self, scope: Scope, headers: Headers) -> None:
        """Raise `Refused` if a request is not allowed."""

    def ended(self, scope: Scope, status: int) -> None:
        """React to a route's response; a `Refused` raised here replaces it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        body, refusal = _CountedBody(receive), None

        async def sealed(message: Message) -> None:
            nonlocal refusal
            if message["type"] == "http.response.start":
                try:
                    self.ended(scope, message["status"])
                except Refused as refused:
                    refusal = refused
                self._seal(message)
            if not (body.too_large or refusal):  # otherwise the route's response is replaced
                await send(message)

        try:
            self._check(scope)
            await self.app(scope, body, sealed)
            body.check()
        except Refused as refused:
            refusal = refused
        if refusal:
            await self._refuse(send, refusal)

    def _seal(self, message: Message) -> None:
        """Add the headers of every response."""
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
        headers = Headers(scope=scope)
        self.admit(scope, headers)
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_BODY:
            raise _too_large()
        if scope["method"] not in SAFE:
            self._check_origin(headers)

    def _check_origin(self, headers: Headers) -> None:
        """Refuse requests that change something unless they come from our own pages or no page."""
        origin = headers.get("origin")
        ours = {self.origin.netloc, headers.get("host", "")}
        if origin is not None and urlsplit(origin).netloc not in ours:
            raise Refused(403, "the request comes from another site")
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Refused(403, "the request comes from another site")
        if headers.get("x-tellapart") != "1":
            raise Refused(403, "the header X-Tellapart: 1 is missing")


class _CountedBody:
    """Enforces the size limit for bodies that do not declare their length."""

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
        """Raise once the body is too large."""
        if self.too_large:
            raise _too_large()


def _too_large() -> Refused:
    return Refused(413, f"the request is larger than {MAX_BODY:,} bytes")

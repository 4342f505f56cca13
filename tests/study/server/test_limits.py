"""The gate and its limits, without a server: permits, addresses, sizes, origins and headers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tellapart.study.server import guard as guard_module
from tellapart.study.server.guard import FAILURES, SESSION, Guard, RateLimits, _address, _session
from tellapart.web.gate import MAX_BODY, Gate, Refused, security_headers


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_session_has_a_hundred_permits_and_twenty_more_a_second():
    assert (SESSION.per_second, SESSION.burst) == (20, 100)
    assert (FAILURES.per_second, FAILURES.burst) == (0.5, 30)
    clock = Clock()
    limits = RateLimits(clock)
    assert [limits.asks("a") for _ in range(100)] == [0] * 100
    assert limits.asks("a") == pytest.approx(1 / 20)
    assert limits.asks("b") == 0, "everyone has their own"
    clock.now += 0.025
    assert limits.asks("a") == pytest.approx(0.5 / 20)
    clock.now += 0.025
    assert limits.asks("a") == 0 and limits.asks("a") > 0
    clock.now += 1_000
    assert sum(limits.asks("a") == 0 for _ in range(200)) == 100, "no more than the most"
    clock.now -= 500
    assert limits.asks("b") == 0, "a clock that goes back takes nothing away"
    assert [limits.fails("x") for _ in range(30)] == [0] * 30
    assert limits.fails("x") == pytest.approx(2)


def test_who_came_longest_ago_is_forgotten_first(monkeypatch):
    monkeypatch.setattr(guard_module, "CALLERS", 2)
    limits = RateLimits(Clock())
    for caller in "aab":
        limits.asks(caller)
    assert {k: v[0] for k, v in limits._sessions.items()} == {"a": 98, "b": 99}
    limits.asks("a")
    limits.asks("c")
    assert list(limits._sessions) == ["a", "c"]


def scope(path: str = "/", client: str | None = "1.2.3.4", method: str = "GET", **headers: str):
    named = [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()]
    where = (client, 5) if client is not None else None
    return {"type": "http", "path": path, "method": method, "headers": named, "client": where}


@pytest.mark.parametrize(
    ("path", "cookie", "known"),
    [
        ("/api/next", "tellapart=a", True), ("/images/1", "tellapart=a", True),
        ("/api/next", "tellapart-owner=a", False), ("/api/owner/x", "tellapart-owner=a", True),
        ("/api/owner/x", "tellapart=a", False), ("/", "tellapart=a", False),
        ("/static/a", "tellapart=a", False), ("/api/next", "other=a", False),
        ("/api/next", "tellapart=", False), ("/api/next", "", False),
    ],
)  # fmt: skip
def test_a_session_is_that_of_its_path(path, cookie, known):
    found = _session(scope(path, cookie=cookie))
    assert bool(found) == known and found != "a"
    if known:
        assert found == _session(scope(path, cookie=f"x=1; {cookie}; y=2"))


@pytest.mark.parametrize(
    ("client", "proxy", "header", "address"),
    [
        ("1.2.3.4", "", "9.9.9.9", "1.2.3.4/32"),
        ("1.2.3.4", "x-real", "9.9.9.9", "9.9.9.9/32"),
        ("1.2.3.4", "x-real", "8.8.8.8, 9.9.9.9 ", "9.9.9.9/32"),
        ("1.2.3.4", "x-real", "", "1.2.3.4/32"),
        ("2001:db8:1:2:3:4:5:6", "", "", "2001:db8:1:2::/64"),
        ("somebody", "", "", "somebody"),
        ("x" * 200, "", "", "x" * 100),
        (None, "", "", ""),
    ],
)
def test_an_address_is_the_callers_or_what_the_proxy_says_last(client, proxy, header, address):
    assert _address(scope(client=client, x_real=header), proxy) == address


def test_headers_of_every_response():
    plain = security_headers("http://here")
    assert plain["X-Frame-Options"] == "DENY" and "Strict-Transport-Security" not in plain
    assert plain["Content-Security-Policy"].endswith("frame-ancestors 'none'")
    framed = security_headers("https://here", ["https://a", "https://b"])
    assert framed["Content-Security-Policy"].endswith("frame-ancestors https://a https://b")
    assert "X-Frame-Options" not in framed
    assert framed["Strict-Transport-Security"] == "max-age=31536000"
    assert plain["X-Content-Type-Options"] == "nosniff"


async def route(scope: Any, receive: Any, send: Any) -> None:
    """Reads the whole body and says how long it is."""
    size = 0
    if scope["type"] == "http":
        while True:
            message = await receive()
            size += len(message.get("body", b""))
            if not message.get("more_body"):
                break
    status = scope.get("answers", 200)
    await send({"type": "http.response.start", "status": status, "headers": [(b"a", b"b")]})
    await send({"type": "http.response.body", "body": str(size).encode()})


def asked(gate: Gate, of: Any, *parts: bytes) -> tuple[int, dict[str, str], str]:
    """The status, headers and body that a request gets; its body comes in parts."""
    coming = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    coming.append({"type": "http.request", "body": b"", "more_body": False})
    sent: list[Any] = []

    async def receive() -> Any:
        return coming.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(gate(of, receive, send))
    (start, body) = sent
    headers = {name.decode(): text.decode() for name, text in start["headers"]}
    return start["status"], headers, body["body"].decode()


def post(**headers: str) -> Any:
    return scope("/api/x", method="POST", **{"x_tellapart": "1", "host": "here", **headers})


def test_what_comes_through_gets_the_headers_and_is_not_kept():
    status, headers, body = asked(Gate(route, "http://here"), scope())
    assert (status, body, headers["a"], headers["cache-control"]) == (200, "0", "b", "no-store")
    assert headers["x-frame-options"] == "DENY"
    found: list[str] = []

    async def other(scope: Any, receive: Any, send: Any) -> None:
        found.append(scope["type"])

    asyncio.run(Gate(other, "http://here")({"type": "lifespan"}, None, None))
    assert found == ["lifespan"]


def test_a_body_may_be_as_large_as_allowed_and_not_a_byte_larger():
    gate = Gate(route, "http://here")
    assert asked(gate, post(), bytes(MAX_BODY - 5), bytes(5))[2] == str(MAX_BODY) == "16384"
    for of, parts in (
        (post(), (bytes(MAX_BODY), b"x")), (post(content_length=str(MAX_BODY + 1)), ()),
        (post(content_length="-1"), ()), (post(content_length="x"), ()),
    ):  # fmt: skip
        status, headers, body = asked(gate, of, *parts)
        assert status == 413 and "16,384 bytes" in json.loads(body)["error"]["what"]
        assert headers["content-type"] == "application/json" and "retry-after" not in headers
        assert headers["content-length"] == str(len(body))
    assert asked(gate, post(content_length=str(MAX_BODY)))[0] == 200


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({}, ""), ({"origin": "http://here"}, ""), ({"origin": "http://elsewhere"}, "another site"),
        ({"origin": "http://own", "host": "own"}, ""), ({"origin": "null"}, "another site"),
        ({"sec_fetch_site": "same-origin"}, ""), ({"sec_fetch_site": "none"}, ""),
        ({"sec_fetch_site": "cross-site"}, "another site"),
        ({"sec_fetch_site": "same-site"}, "another site"),
        ({"x_tellapart": "0"}, "X-Tellapart: 1 is missing"),
    ],
)  # fmt: skip
def test_what_changes_something_comes_from_our_own_pages(headers, why):
    status, _, body = asked(Gate(route, "http://here"), post(**headers))
    assert (status == 403) == bool(why) and why in body
    for method in ("GET", "HEAD"):
        assert asked(Gate(route, "http://here"), {**post(**headers), "method": method})[0] == 200


def test_a_study_counts_what_it_answers_and_refuses_who_guesses(monkeypatch):
    limits = RateLimits(Clock())
    gate = Guard(route, "http://here", limits, "x-real")
    unknown = {**scope("/api/next", x_real="9.9.9.9"), "answers": 401}
    for _ in range(30):
        assert asked(gate, unknown)[0] == 401
    status, headers, body = asked(gate, unknown)
    assert (status, headers["retry-after"]) == (429, "2") and "failed attempts" in body
    assert asked(gate, {**unknown, "answers": 404})[0] == 404, "only those that do not know"
    assert asked(gate, scope("/api/next", x_real="9.9.9.9", cookie="tellapart=a"))[0] == 200
    assert dict(limits.answers) == {401: 31, 404: 1, 200: 1}
    monkeypatch.setattr(RateLimits, "asks", lambda self, session: 0.2 if session else 0.0)
    status, headers, body = asked(gate, scope("/api/next", cookie="tellapart=a"))
    assert (status, headers["retry-after"]) == (429, "1") and "too many requests" in body
    assert asked(gate, scope("/", cookie="tellapart=a"))[0] == 200
    assert Refused(429, "no").wait == 0.0

"""Clients that send or read slowly, or not at all, and those who work meanwhile."""

from __future__ import annotations

import asyncio
import random
import socket
import time
from contextlib import ExitStack, contextmanager, suppress

import pytest
from tests.study.server.load import SlowCrowd, Stubborn

from tellapart.web.connections import ConnectionLimits

QUICK = ConnectionLimits(head=0.2, body=0.3, reading=0.3, idle=0.4)
HEAD = b"POST /api/next HTTP/1.1\r\nHost: x\r\nX-Tellapart: 1\r\n"
PATIENCE = 20.0


@contextmanager
def slow(here, start: bytes = b""):
    """A connection that has sent this much of a request."""
    where = ("127.0.0.1", int(here.url.rpartition(":")[2]))
    with socket.create_connection(where, timeout=PATIENCE) as client:
        client.sendall(start)
        yield client


def is_closed(client, drip: bytes = b"") -> bool:
    """Whether the server ends the connection, however it is kept busy; waits for it."""
    end = time.monotonic() + PATIENCE
    client.settimeout(0.02)
    while time.monotonic() < end:
        try:
            if drip:
                client.sendall(drip)
            if not client.recv(65_536):
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


@pytest.mark.parametrize(
    ("start", "drip"),
    [
        (b"", b""),  # nothing
        (b"GET / HT", b""),  # part of a head
        (HEAD, b"X-A: b\r\n"),  # a head without an end
        (HEAD + b"Content-Length: 9000\r\n\r\n{", b""),  # part of a body
        (HEAD + b"Content-Length: 9000\r\n\r\n", b" "),  # a body that drips
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b""),  # a pause after a request
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HT", b""),  # half a request after a whole one
    ],
)
def test_a_request_that_does_not_come_whole_is_given_up(serve, start, drip):
    here = serve(limits=QUICK)
    with slow(here, start) as client:
        assert is_closed(client, drip)


SCRIPT = b"GET /static/annotator.js HTTP/1.1\r\nHost: x\r\n\r\n"


def test_who_does_not_read_is_given_up(serve):
    here = serve(limits=QUICK)
    end = time.monotonic() + PATIENCE
    with slow(here) as client, pytest.raises((ConnectionResetError, BrokenPipeError)):
        while time.monotonic() < end:  # answers pile up until the server waits for its reader
            client.sendall(SCRIPT)
            time.sleep(0.0005)


def test_requests_that_nobody_waits_for_do_not_pile_up(serve):
    here = serve()
    with slow(here) as client:
        with suppress(ConnectionResetError, BrokenPipeError):  # at once, or when it reads on
            for _ in range(2_000):
                client.sendall(SCRIPT * 20)
        assert is_closed(client)


def test_a_request_in_time_is_answered_however_it_is_cut(serve):
    here = serve(limits=ConnectionLimits(head=PATIENCE, body=PATIENCE))
    token = here.invite()[0].token
    body = f'{{"token": "{token}"}}'.encode()
    whole = HEAD.replace(b"next", b"join") + b"Content-Length: %d\r\n" % len(body)
    whole += b"Content-Type: application/json\r\n\r\n" + body
    with slow(here) as client:
        for k in range(len(whole)):
            client.sendall(whole[k : k + 1])
        assert client.recv(100).startswith(b"HTTP/1.1 200")


def test_of_too_many_connections_the_slowest_makes_room(serve):
    here = serve(limits=ConnectionLimits(of_address=5))
    with ExitStack() as stack:
        at_work = here.person()
        idle_or_slow = [stack.enter_context(slow(here, b"GET")) for _ in range(20)]
        assert all(is_closed(client) for client in idle_or_slow[:15])
        assert at_work.get("/api/me").status_code == 200


def test_a_limit_on_all_connections_holds_across_addresses(serve):
    here = serve(limits=ConnectionLimits(of_server=5))
    port = int(here.url.rpartition(":")[2])
    with ExitStack() as stack:
        clients = [
            stack.enter_context(
                socket.create_connection(("127.0.0.1", port), 5, (f"127.0.0.{k + 2}", 0))
            )
            for k in range(12)
        ]
        assert all(is_closed(client) for client in clients[:7])
        assert here.person().get("/api/me").status_code == 200


def test_people_work_while_many_connections_send_nothing(serve, database):
    """A thousand of them beside fifty people are in soak/attack.py."""
    here = serve(limits=ConnectionLimits(head=0.3, of_address=40), database=database)
    port = int(here.url.rpartition(":")[2])
    people = [Stubborn(one.token, random.Random(0)) for one in here.invite(2)]
    crowd = SlowCrowd(port, 80)

    async def everyone():
        done, end = asyncio.Event(), time.monotonic() + 60
        holding = asyncio.create_task(crowd.hold(done))
        await asyncio.gather(*(one.work(port, lambda: time.monotonic() > end) for one in people))
        done.set()
        await holding

    asyncio.run(everyone())
    assert sum(len(one.acknowledged) for one in people) == 2 * 20
    assert crowd.seen > 0

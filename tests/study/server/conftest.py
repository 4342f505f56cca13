"""A real server on loopback, and people who speak HTTP to it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from PIL import Image as Pillow
from PIL.PngImagePlugin import PngInfo
from tests.study.conftest import clock, database, postgres
from tests.study.crowd import Hands

from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark
from tellapart.items import Image, Item, Origin, Slot
from tellapart.study import people
from tellapart.study.folder import StudySetup, write_study
from tellapart.study.plan import Stage
from tellapart.study.server.app import make_app
from tellapart.study.server.guard import RateLimits
from tellapart.study.study import OpenStudy, open_study
from tellapart.web.connections import ConnectionLimits
from tellapart.web.host import server_config

__all__ = ["clock", "database", "postgres"]
HEADERS = {"X-Tellapart": "1"}
ITEMS = 20
TELLAPART = str(Path(sys.executable).with_name("tellapart"))


@dataclass
class Running:
    """A study that is being served."""

    study: OpenStudy
    url: str
    limits: RateLimits = field(default_factory=RateLimits)
    clients: list[httpx.Client] = field(default_factory=list)

    def client(self, **more: Any) -> httpx.Client:
        self.clients.append(httpx.Client(base_url=self.url, headers=HEADERS, **more))
        return self.clients[-1]

    def close(self) -> None:
        for client in self.clients:
            client.close()

    def invite(self, number: int = 1) -> list[people.Invitation]:
        job = self.study.database.submit(lambda conn: people.invite(conn, self.study, number))
        return job.result()

    def person(self, consent: bool = True) -> httpx.Client:
        """Someone who has joined (and agreed)."""
        client = self.client()
        (invited,) = self.invite()
        assert client.post("/api/join", json={"token": invited.token}).status_code == 200
        if consent:
            assert client.post("/api/consent", json={"agree": True}).status_code == 200
        return client

    def owner(self) -> httpx.Client:
        client = self.client()
        token = self.study.keys.owner
        assert client.post("/api/owner/join", json={"token": token}).status_code == 200
        return client


@contextmanager
def serving(
    study: OpenStudy,
    limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008 (frozen)
    proxy: str = "",
) -> Iterator[Running]:
    """Serve a study from a thread of this process."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    app = make_app(study, url, proxy)
    server = uvicorn.Server(server_config(app, limits, port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_for(url)
    running = Running(study, url, app.state.server.limits)
    try:
        yield running
    finally:
        running.close()
        server.should_exit = True
        thread.join(10)


@contextmanager
def server_process(folder: Path, port: int, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """`tellapart study serve` as a process of its own."""
    command = [TELLAPART, "study", "serve", str(folder), "--port", str(port), *more]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet, env=os.environ)
    try:
        wait_for(f"http://127.0.0.1:{port}", process)
        yield process
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(url: str, process: subprocess.Popen[bytes] | None = None) -> None:
    for _ in range(600):
        assert process is None or process.poll() is None, "the server ended"
        try:
            httpx.get(url, timeout=5)
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the server did not start")


MakeServer = Callable[..., Running]


def pictured_benchmark(folder: Path, number: int = ITEMS) -> Benchmark:
    """Items with a foil, of two pictures each, whose files tell more than they should."""
    images, items = [], []
    for k in range(number):
        for name in (f"target-{k}", f"decoy-{k}"):
            told = PngInfo()
            told.add_text("tellapart-scene", name)
            colour = (10 * k % 256, 255 if name.startswith("t") else 0, 100)
            Pillow.new("RGB", (64, 48), colour).save(folder / f"{name}.png", pnginfo=told)
            images.append(Image(name, f"{name}.png"))
        items.append(
            Item.imported(
                "test",
                f"n{k}",
                images=(f"target-{k}", f"decoy-{k}"),
                captions=(f"A green picture {k}.", f"A black picture {k}."),
                true=frozenset({(0, 0), (1, 1)}),
                kind="x",
                origin=Origin("test"),
                original=(0, 0),
                slot=Slot(1, 2, 7, "green", "black"),
            )
        )
    return make_benchmark(Card("pictured"), folder, items, images)


@pytest.fixture(scope="session")
def pictured(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """Twenty of them."""
    return pictured_benchmark(tmp_path_factory.mktemp("pictured"))


@pytest.fixture
def serve(tmp_path: Path, pictured: Benchmark, clock: Hands) -> Iterator[MakeServer]:
    """A server for a study of the twenty items."""
    with_all: list[Any] = []

    def start(*stages: Stage, database: str = "", **more: Any) -> Running:
        chosen = stages or (Stage("ask", "first-second-both", judgements=2),)
        folder = tmp_path / f"study{len(with_all)}"
        more.setdefault("training", False)
        source = more.pop("source", pictured)
        how = {name: more.pop(name) for name in ("limits", "proxy") if name in more}
        write_study(source, folder, StudySetup(chosen, **more))
        study = open_study(folder, database, clock)
        running = serving(study, **how)
        with_all.append((running, study))
        return running.__enter__()

    yield start
    for running, study in with_all:
        running.__exit__(None, None, None)
        study.close()

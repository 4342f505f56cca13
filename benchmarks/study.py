"""Judgements per second of a study's server, against a bare route with one insert.

Two hundred annotators answer as fast as the server lets them; the same load goes to a FastAPI route
that only inserts one row, on the same database with the same guarantee (an acknowledged judgement
is on the disk). Server and annotators share the machine, each in one process. The last line is
JSON: sqlite_per_s, postgres_per_s (judgements), p95_ms, lost (acknowledged but not in the database)
and share_of_limit (of the bare route, the smaller of both databases).

    python benchmarks/study.py [--people 200] [--seconds 10] [--databases sqlite,postgresql]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sqlalchemy import Column, Integer, MetaData, Table, Text, func, select
from sqlalchemy import insert as insert_into

from tellapart.study.folder import StudySetup, write_study
from tellapart.study.people import invite
from tellapart.study.plan import Stage
from tellapart.study.server.app import serve
from tellapart.study.store import schema
from tellapart.study.store.database import open_database, sqlite_url
from tellapart.study.study import opened_study
from tellapart.web.host import ServerAddress

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.study.conftest import pairs_of
from tests.study.postgres import binaries, running_postgres
from tests.study.server.conftest import free_port, wait_for
from tests.study.server.load import Connection

JUDGEMENTS = 3


@dataclass
class Tally:
    """What came of the load."""

    done: int = 0
    refused: int = 0
    computed: float = 0.0
    waits: list[float] = field(default_factory=list)

    def cpu_ms(self) -> float:
        """Milliseconds that the server computed for a judgement."""
        return 1000 * self.computed / max(1, self.done)

    def p95_ms(self) -> float:
        """Nineteen of twenty answers came sooner."""
        return 1000 * statistics.quantiles(self.waits, n=20)[-1] if len(self.waits) > 20 else 0.0


Annotator = Callable[[Connection, dict[str, Any], float, Tally], Awaitable[None]]


async def enter(connection: Connection, token: str) -> dict[str, Any]:
    """Join a study; not part of the load."""
    await connection.post("/api/join", {"token": token})
    return (await connection.post("/api/consent", {"agree": True}))[1]


async def annotate(
    connection: Connection, state: dict[str, Any], until: float, tally: Tally
) -> None:
    """One annotator of a study."""
    while state["state"] == "work" and time.perf_counter() < until:
        reply = {"number": state["task"]["number"], "value": "1", "milliseconds": 1}
        started = time.perf_counter()
        status, answered = await connection.post("/api/answers", reply)
        if status == 200:
            tally.waits.append(time.perf_counter() - started)
            tally.done += 1
            state = answered
        else:
            tally.refused += 1
            await asyncio.sleep(0.1)


async def insert(connection: Connection, state: dict[str, Any], until: float, tally: Tally) -> None:
    """One annotator of the bare route."""
    number = 0
    while time.perf_counter() < until:
        number += 1
        started = time.perf_counter()
        reply = {"number": number, "value": "1", "person": state["person"]}
        status, _ = await connection.post("/answers", reply)
        tally.waits.append(time.perf_counter() - started)
        tally.done += status == 200


async def load(
    port: int,
    tokens: list[str],
    seconds: float,
    work: Annotator,
    computed: Callable[[], float],
) -> tuple[Tally, float]:
    """All annotators at once, for so many seconds; joining is not counted."""
    tally = Tally()
    connections = [Connection(port) for _ in tokens]
    states = []
    for connection, token in zip(connections, tokens, strict=True):
        await connection.open()
        states.append(await enter(connection, token) if work is annotate else {"person": token})
    started, before = time.perf_counter(), computed()
    until = started + seconds
    await asyncio.gather(
        *(work(c, s, until, tally) for c, s in zip(connections, states, strict=True))
    )
    took = time.perf_counter() - started
    tally.computed = computed() - before
    for connection in connections:
        connection.close()
    return tally, took


def serve_study(folder: Path, url: str, port: int) -> None:
    """The study's own server."""
    with opened_study(folder, url) as study:
        serve(study, ServerAddress(port=port))


class Reply(BaseModel):
    """What the bare route takes."""

    person: str
    number: int
    value: str


def serve_bare(url: str, port: int) -> None:
    """The limit: a route that validates a body and inserts a row."""
    table = Table(
        "answer", MetaData(), Column("id", Integer, primary_key=True),
        Column("person", Text), Column("number", Integer), Column("value", Text),
    )  # fmt: skip
    engine = open_database(url).engine
    table.metadata.create_all(engine)
    app = FastAPI()

    @app.post("/answers")
    def answers(reply: Reply) -> dict[str, bool]:
        with engine.begin() as connection:
            connection.execute(insert_into(table).values(**reply.model_dump()))
        return {"taken": True}

    uvicorn.run(app, port=port, log_level="error", access_log=False)


@contextmanager
def started(target: Callable[..., None], *parts: Any) -> Iterator[tuple[int, Callable[[], float]]]:
    """A server in a process of its own; gives its port."""
    port = free_port()
    process = multiprocessing.get_context("spawn").Process(target=target, args=(*parts, port))
    process.start()
    try:
        wait_for(f"http://127.0.0.1:{port}")
        yield port, lambda: computed_by(process.pid)
    finally:
        process.terminate()
        process.join()


def computed_by(pid: int | None) -> float:
    """Seconds that a process has computed, for itself and for the system (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def study_load(folder: Path, url: str, people: int, seconds: float) -> dict[str, float]:
    """A study under load; lost counts acknowledged judgements that the database does not have."""
    with opened_study(folder, url) as study:
        invited = study.database.submit(lambda conn: invite(conn, study, people)).result()
    tokens = [one.token for one in invited]
    with started(serve_study, folder, url) as (port, computed):
        tally, took = asyncio.run(load(port, tokens, seconds, annotate, computed))
    with opened_study(folder, url) as study:
        count = select(func.count()).select_from(schema.judgement)
        stored = study.database.read(lambda conn: conn.execute(count).scalar_one()).result()
    return {
        "per_s": tally.done / took,
        "p95_ms": tally.p95_ms(),
        "lost": tally.done - stored,
        "refused": tally.refused,
        "cpu_ms": tally.cpu_ms(),
    }


def bare_load(url: str, people: int, seconds: float) -> dict[str, float]:
    """The bare route under the same load."""
    tokens = [str(k) for k in range(people)]
    with started(serve_bare, url) as (port, computed):
        tally, took = asyncio.run(load(port, tokens, seconds, insert, computed))
    return {"per_s": tally.done / took, "p95_ms": tally.p95_ms(), "cpu_ms": tally.cpu_ms()}


def compare(options: argparse.Namespace, folder: Path, url: str, bare_url: str) -> dict[str, Any]:
    """A study and the bare route, on one sort of database."""
    stage = Stage("ask", "which-image", judgements=JUDGEMENTS)
    write_study(pairs_of(options.items), folder / "study", StudySetup((stage,), training=False))
    found = study_load(folder / "study", url, options.people, options.seconds)
    limit = bare_load(bare_url, options.people, options.seconds)
    return {"study": found, "bare": limit, "share_of_limit": found["per_s"] / limit["per_s"]}


def main() -> None:
    """Run the load on each database; the last line is JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--databases", default="sqlite,postgresql")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for name in options.databases.split(","):
        with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
            folder = Path(place)
            if name == "sqlite":
                urls = [sqlite_url(folder / f"{n}.sqlite") for n in ("study", "bare")]
            elif binaries() is None:
                continue
            else:
                server = stack.enter_context(running_postgres())
                urls = [server.database(), server.database()]
            results[name] = compare(options, folder, *urls)
            print(name, json.dumps(results[name], indent=1))
    names = {"sqlite": "sqlite_per_s", "postgresql": "postgres_per_s"}
    print(
        json.dumps(
            {names[n]: round(r["study"]["per_s"], 1) for n, r in results.items()}
            | {
                "p95_ms": round(max(r["study"]["p95_ms"] for r in results.values()), 1),
                "lost": sum(r["study"]["lost"] for r in results.values()),
                "share_of_limit": round(min(r["share_of_limit"] for r in results.values()), 3),
            }
        )
    )


if __name__ == "__main__":
    main()

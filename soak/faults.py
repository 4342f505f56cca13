"""Is every acknowledged judgement stored, whatever happens to the server?

Two hundred people answer a study's server as fast as it lets them, and resend unanswered requests.
Meanwhile

- `kills`: the server is killed (SIGKILL) twenty times and restarted;
- `disk`: the disk is full until everyone was refused (needs root, to mount a small one);
- `away`: PostgreSQL is stopped immediately, and comes back when everyone was refused.

Then the people finish. The script counts acknowledged judgements that are missing or different
(`lost`), or stored twice (`doubled`), items with more judgements than wanted (`over`), and tasks
reserved for nobody (`stuck`). The last line is JSON.

    python -P soak/faults.py [--people 200] [--items 6000] [--kills 20]
                             [--databases sqlite,postgresql] [--faults kills,disk,away]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from sqlalchemy import Connection, select
from tests.study.conftest import pairs_of
from tests.study.crowd import check_books
from tests.study.postgres import PostgresServer, running_postgres
from tests.study.server.conftest import TELLAPART, free_port
from tests.study.server.load import Stubborn

from tellapart.study.folder import StudySetup, write_study
from tellapart.study.people import invite
from tellapart.study.plan import Stage
from tellapart.study.store import schema as t
from tellapart.study.store.database import sqlite_url
from tellapart.study.study import OpenStudy, opened_study

JUDGEMENTS = 3
SMALL_DISK_MB = 400
LONGEST = 420.0
"""Seconds after which everything stops, whatever is left."""


@dataclass
class Server:
    """`tellapart study serve` as a process, which can be killed and started again."""

    folder: Path
    url: str
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; people wait until it answers."""
        words = ["study", "serve", str(self.folder), "--port", str(self.port)]
        command = [TELLAPART, *words, "--database", self.url]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(command, stdout=quiet, stderr=quiet)

    def kill(self) -> None:
        """End it at once: nothing is tidied up."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@dataclass
class Run:
    """A study under load, and what is done to it."""

    server: Server
    people: list[Stubborn]
    lot: random.Random
    postgres: PostgresServer | None = None

    def acknowledged(self) -> int:
        """How many judgements were confirmed so far."""
        return sum(len(one.acknowledged) for one in self.people)

    async def more(self, number: int, seconds: float = 60.0) -> None:
        """Wait until so many more judgements were confirmed."""
        wanted, end = self.acknowledged() + number, time.monotonic() + seconds
        while self.acknowledged() < wanted:
            if time.monotonic() > end:
                raise TimeoutError(f"no {number} judgements within {seconds} seconds")
            await asyncio.sleep(0.01)


Fault = Callable[[Run, argparse.Namespace], Awaitable[None]]


async def kills(run: Run, options: argparse.Namespace) -> None:
    """Kill the server again and again, each time after it has worked for a moment."""
    for _ in range(options.kills):
        await run.more(run.lot.randint(1, 8 * len(run.people)))
        run.server.kill()
        run.server.start()


async def disk(run: Run, _options: argparse.Namespace) -> None:
    """Fill the disk until answers are refused, and make room again."""
    await run.more(len(run.people))
    ballast = run.server.folder.parent / "ballast"
    with ballast.open("wb", buffering=0) as file:  # a buffer would be written again on closing
        try:
            while True:
                file.write(bytes(1 << 16))
        except OSError:
            pass  # it is full
    await refused(run)
    ballast.unlink()
    if run.postgres is not None:
        run.postgres.start(check=False)  # it may have ended itself
    await run.more(len(run.people))


async def away(run: Run, _options: argparse.Namespace) -> None:
    """Stop PostgreSQL without a word, and start it again."""
    if run.postgres is None:
        return
    await run.more(len(run.people))
    run.postgres.stop("immediate")
    await refused(run)
    run.postgres.start()
    await run.more(len(run.people))


FAULTS: dict[str, Fault] = {"kills": kills, "disk": disk, "away": away}


async def refused(run: Run) -> None:
    """Wait until everyone was told to try again, several times."""
    end = time.monotonic() + 60
    while told(run.people).get("503", 0) < 4 * len(run.people):
        if time.monotonic() > end:
            raise TimeoutError("nothing was refused")
        await asyncio.sleep(0.05)


def told(people: list[Stubborn]) -> dict[str, int]:
    """How often what came instead of an acknowledgement."""
    every: Counter[str] = Counter()
    for one in people:
        every.update({str(status): number for status, number in one.statuses.items()})
    return dict(sorted(every.items()))


async def under_load(run: Run, fault: Fault, options: argparse.Namespace) -> None:
    """People at work, the fault meanwhile, and then until nothing is left to judge."""
    end = time.monotonic() + LONGEST
    run.server.start()
    work = [one.work(run.server.port, lambda: time.monotonic() > end) for one in run.people]
    crowd = asyncio.gather(*work)
    try:
        await fault(run, options)
        await crowd
    finally:
        crowd.cancel()
        run.server.kill()


def audited(study: OpenStudy, people: dict[str, Stubborn]) -> dict[str, int]:
    """Hold what people were told against what the database has."""
    a, j = t.assignment.c, t.judgement.c
    chosen = (
        select(t.person.c.code, a.number, a.drawn, j.choice)
        .join(t.assignment, a.id == j.assignment_id)
        .join(t.person, t.person.c.id == j.person_id)
    )
    items = select(t.task).where(t.task.c.role == "item")

    def job(conn: Connection) -> tuple[Any, Any]:
        return conn.execute(chosen).all(), conn.execute(items).all()

    rows, tasks = study.database.read(job).result()
    stored: dict[tuple[str, int], list[str]] = {}
    for row in rows:
        stored.setdefault((row.code, row.number), []).append(as_shown(row.choice, row.drawn))
    confirmed = {(code, n): v for code, one in people.items() for n, v in one.acknowledged.items()}
    check_books(study)
    return {
        "acknowledged": len(confirmed),
        "stored": len(rows),
        "lost": sum(value not in stored.get(key, ()) for key, value in confirmed.items()),
        "doubled": sum(len(values) > 1 for values in stored.values()),
        "over": sum(task.given > task.wanted for task in tasks),
        "stuck": sum(task.held > 0 for task in tasks),
        "unfinished": sum(task.state == "open" for task in tasks),
    }


def as_shown(choice: str, drawn: str) -> str:
    """A stored choice as the person saw it: by place where options are drawn."""
    order = json.loads(drawn)
    return str(order.index(int(choice)) + 1) if choice.isdigit() and order else choice


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A file system of a few hundred megabytes, in memory."""
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_MB}m", "tmpfs", str(folder)], check=True
    )
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def campaign(name: str, database: str, options: argparse.Namespace) -> dict[str, Any]:
    """One fault on one database."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if name == "disk":
            stack.enter_context(small_disk(folder))
        folder.chmod(0o755)
        postgres = url = None
        if database == "postgresql":
            postgres = stack.enter_context(running_postgres("-c max_wal_size=64MB", folder))
            url = postgres.database()
        stage = Stage("ask", "which-image", judgements=JUDGEMENTS)
        source = pairs_of(options.items)
        write_study(source, folder / "study", StudySetup((stage,), training=False))
        url = url or sqlite_url(folder / "study" / "study.sqlite")
        with opened_study(folder / "study", url) as study:
            made = study.database.submit(lambda c: invite(c, study, options.people)).result()
        lot = random.Random(options.seed)
        people = {one.code: Stubborn(one.token, random.Random(lot.random())) for one in made}
        run = Run(Server(folder / "study", url), list(people.values()), lot, postgres)
        begun = time.monotonic()
        asyncio.run(under_load(run, FAULTS[name], options))
        with opened_study(folder / "study", url) as study:
            found: dict[str, Any] = audited(study, people)
        return {
            **found,
            "instead": told(run.people),
            "seconds": round(time.monotonic() - begun, 1),
        }


def main() -> None:
    """Every fault on every database."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--items", type=int, default=6000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--databases", default="sqlite,postgresql")
    parser.add_argument("--faults", default=",".join(FAULTS))
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for name in options.faults.split(","):
        for database in options.databases.split(","):
            if (name == "disk" and os.geteuid() != 0) or (name, database) == ("away", "sqlite"):
                continue
            results[f"{name}, {database}"] = found = campaign(name, database, options)
            print(f"{name}, {database}: {json.dumps(found)}", flush=True)
    print(json.dumps(results))
    wrong = ("lost", "doubled", "over", "stuck", "unfinished")
    sys.exit(any(found[name] for found in results.values() for name in wrong))


if __name__ == "__main__":
    main()

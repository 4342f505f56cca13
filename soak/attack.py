"""Does any attack on a served study succeed, by a stranger, an annotator or the owner?

Two studies are made and served on loopback, one for people with personal links and one for people
from Prolific, on SQLite and on PostgreSQL. Every attack in soak/attacks.py is tried on them:
made-up people, guessed links, lock-outs, slow clients (a thousand while fifty people work), others'
tasks, ended sessions. Prints what was tried and what was found; the last line is JSON.

    python -P soak/attack.py [--databases sqlite,postgresql] [--against COMMIT_OR_PATH]
                             [--guesses 300] [--slow 1000] [--people 50]
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from soak.attacks import ATTACKS, PLACES, STUDY_ID, Scene, attempts
from soak.victim import Victim, version_of
from tests.study.postgres import running_postgres
from tests.study.server.conftest import pictured_benchmark

from tellapart.benchmark.benchmark import save_benchmark

ASK = ("--ask", "first-second-both", "--judgements", 1, "--no-training")
DOOR_ITEMS = 8


@contextmanager
def scene_of(code: Path, database: str, options: argparse.Namespace) -> Iterator[Scene]:
    """Two studies, made and served by a version of the code on a database."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        urls = ("", "")
        if database == "postgresql":
            postgres = stack.enter_context(running_postgres())
            urls = (postgres.database(), postgres.database())
        victims = []
        number = max(40, 4 * options.people)
        for name, items, url in zip(("house", "door"), (number, DOOR_ITEMS), urls, strict=True):
            (folder / f"{name}-pictures").mkdir()
            source = pictured_benchmark(folder / f"{name}-pictures", items)
            save_benchmark(source, folder / f"{name}-items")
            victims.append(Victim(code, folder / name, url))
        house, door = victims
        house.create(folder / "house-items", *ASK)
        door.create(
            folder / "door-items", *ASK, "--prolific", STUDY_ID, "--places", PLACES,
            alternatives=((*ASK, "--prolific"),),
        )  # fmt: skip
        process = stack.enter_context(house.served())
        stack.enter_context(door.served())
        hard = {name: getattr(options, name) for name in ("guesses", "slow", "people")}
        yield Scene(house, door, process.pid, **hard)


def attacked(code: Path, database: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Everything that was tried on one database, and what came of it."""
    rows = []
    with scene_of(code, database, options) as scene:
        begun = time.monotonic()
        chosen = [attack for attack in ATTACKS if options.only in attack.what]
        for attack, found in attempts(scene, chosen):
            took = time.monotonic() - begun
            begun = time.monotonic()
            rows.append({"who": attack.who, "what": attack.what, "found": found})
            told = f"{attack.who:9} {attack.what}: {found or 'nothing'} ({took:.1f} s)"
            print(f"{database:10} {told}", flush=True)
    return rows


def main() -> None:
    """Attack on every database; the exit code says whether anything was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--databases", default="sqlite,postgresql")
    parser.add_argument("--against", default="", help="a commit or the path of a checkout")
    parser.add_argument("--only", default="", help="only attacks whose line has these words")
    parser.add_argument("--guesses", type=int, default=300)
    parser.add_argument("--slow", type=int, default=1000)
    parser.add_argument("--people", type=int, default=50)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # servers end with us
    with version_of(options.against) as code:
        rows = {name: attacked(code, name, options) for name in options.databases.split(",")}
    found = {name: [row["what"] for row in some if row["found"]] for name, some in rows.items()}
    tried = sum(map(len, rows.values()))
    print(json.dumps({"tried": tried, "found": sum(map(len, found.values())), "what": found}))
    sys.exit(any(found.values()))


if __name__ == "__main__":
    main()

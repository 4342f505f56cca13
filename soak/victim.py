"""The study under attack: made and served by the command line of one version of the code.

The version is this one, a path, or a commit of this repository, which is checked out temporarily.
Everything goes through commands and HTTP, so that older versions can be tried, too.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from tests.study.server.conftest import HEADERS, free_port, wait_for

ROOT = Path(__file__).parent.parent
MAIN = "from tellapart.cli.main import main; main()"
PATIENCE = 60.0


@contextmanager
def version_of(against: str) -> Iterator[Path]:
    """The folder with the code of a version: "" is this one; else a path, or a commit."""
    if not against or Path(against).is_dir():
        yield Path(against or ROOT).resolve()
        return
    folder = Path(tempfile.mkdtemp(prefix="tellapart-version-")) / "code"
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--detach", "--quiet", str(folder), against], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)
        shutil.rmtree(folder.parent, ignore_errors=True)


@dataclass
class Victim:
    """A served study; `owner_token` opens the owner's page."""

    code: Path
    folder: Path
    database: str = ""
    port: int = field(default_factory=free_port)
    clients: list[httpx.Client] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where it is served."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def owner_token(self) -> str:
        """What the owner's link ends with."""
        return str(json.loads((self.folder / "keys.json").read_text())["owner"])

    def command(self, *words: object, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run `tellapart study ...` of this version."""
        done = subprocess.run(
            self._line(*words), capture_output=True, text=True, env=self._environment(), check=False
        )
        assert not check or not done.returncode, done.stderr
        return done

    def create(self, source: Path, *words: object, alternatives: tuple[Any, ...] = ()) -> None:
        """Set the study up; what an older version does not know is said in its own way."""
        for more in (words, *alternatives):
            done = self.command("create", source, self.folder, *more, check=False)
            if not done.returncode:
                return
        raise AssertionError(done.stderr)

    def invite(self, people: int) -> list[str]:
        """The tokens of new personal links."""
        made = self.owner().post("/api/owner/invite", json={"people": people})
        return [one["link"].partition("#")[2] for one in made.json()]

    @contextmanager
    def served(self) -> Iterator[subprocess.Popen[bytes]]:
        """`study serve` as a process while the block lasts."""
        line = self._line("serve", self.folder, "--port", self.port, *self._where())
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(line, stdout=quiet, stderr=quiet, env=self._environment())
        try:
            wait_for(self.url, process)
            yield process
        finally:
            for client in self.clients:
                client.close()
            process.kill()
            process.wait()

    def client(self, **more: Any) -> httpx.Client:
        """A browser without anything."""
        options: dict[str, Any] = {"base_url": self.url, "headers": HEADERS, "timeout": PATIENCE}
        self.clients.append(httpx.Client(**options | more))
        return self.clients[-1]

    def person(self, token: str) -> httpx.Client:
        """Someone who came by a personal link and agreed."""
        client = self.client()
        patiently(lambda: client.post("/api/join", json={"token": token}))
        patiently(lambda: client.post("/api/consent", json={"agree": True}))
        return client

    def owner(self) -> httpx.Client:
        """Whoever has the owner's link."""
        client = self.client()
        patiently(lambda: client.post("/api/owner/join", json={"token": self.owner_token}))
        return client

    def _where(self) -> tuple[str, ...]:
        return ("--database", self.database) if self.database else ()

    def _line(self, *words: object) -> list[str]:
        return [sys.executable, "-P", "-c", MAIN, "study", *map(str, words)]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self.code / "src")}


def patiently(ask: Any, patience: float = PATIENCE) -> httpx.Response:
    """Ask until it is answered with 200: older versions hold up the innocent."""
    end = time.monotonic() + patience
    while True:
        answer: httpx.Response = ask()
        if answer.status_code == httpx.codes.OK:
            return answer
        assert time.monotonic() < end, f"{answer.request.url} answers {answer.status_code}"
        time.sleep(0.5)


def memory_of(process: int) -> float:
    """Megabytes that a process holds."""
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) / 1024 if found else 0.0


def open_files(process: int) -> int:
    """How many files and connections a process has open."""
    return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())

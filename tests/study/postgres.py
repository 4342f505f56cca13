"""A PostgreSQL server of the tests' own, from whatever binaries the machine has."""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import psycopg

SETTINGS = "-c listen_addresses='' -c max_connections=120"


def binaries() -> Path | None:
    """The folder with initdb and pg_ctl, if there is one."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: p.parts[-3])
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).resolve().parent
    return found[-1].parent if found else None


@cache
def shared_postgres() -> PostgresServer:
    """One server for all tests of a process, in memory where that can be."""
    memory = Path("/dev/shm")
    stack = ExitStack()
    atexit.register(stack.close)
    where = memory if memory.is_dir() else None
    return stack.enter_context(running_postgres("-c fsync=off", where))


@contextmanager
def running_postgres(more: str = "", where: Path | None = None) -> Iterator[PostgresServer]:
    """A server on a socket in a new folder; it does not run as root, so it gets another user."""
    tools = binaries()
    assert tools is not None
    folder = Path(tempfile.mkdtemp(prefix="tellapart-pg-", dir=where))
    user = _other_user() if os.geteuid() == 0 else None
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    server = PostgresServer(tools, folder, user, f"{SETTINGS} {more}")
    try:
        server.call("initdb", "-D", folder / "data", "-U", "tests", "-A", "trust", "--no-sync")
        server.start()
        yield server
    finally:
        server.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)


class PostgresServer:
    """Started and stopped by tests; `database()` makes a new empty one and gives its URL."""

    def __init__(
        self, tools: Path, folder: Path, user: pwd.struct_passwd | None, settings: str
    ) -> None:
        self._tools, self._folder, self._user = tools, folder, user
        self._settings = settings
        self._made = 0

    def start(self, check: bool = True) -> None:
        options = f"{self._settings} -k {self._folder}"
        log = self._folder / "log"
        self.call(
            "pg_ctl",
            "-D",
            self._folder / "data",
            "-o",
            options,
            "-l",
            log,
            "-w",
            "start",
            check=check,
        )

    def stop(self, how: str = "fast") -> None:
        self.call("pg_ctl", "-D", self._folder / "data", "-m", how, "-w", "stop", check=False)

    def database(self) -> str:
        self._made += 1
        where = f"host={self._folder} user=tests dbname=postgres"
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE study_{self._made}")
        return f"postgresql://tests@/study_{self._made}?host={self._folder}"

    def call(self, tool: str, *words: object, check: bool = True) -> None:
        command = [str(self._tools / tool), *map(str, words)]
        if self._user is not None:
            ids = (f"--reuid={self._user.pw_uid}", f"--regid={self._user.pw_gid}")
            command = ["setpriv", *ids, "--clear-groups", *command]
        done = subprocess.run(
            command, cwd="/", check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert not check or done.returncode == 0, done.stderr


def _other_user() -> pwd.struct_passwd:
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise AssertionError("root cannot run PostgreSQL, and there is no other user")

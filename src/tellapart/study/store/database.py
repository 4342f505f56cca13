"""A database and the threads that work on it.

All work is done by jobs: functions of a connection that run in one transaction. SQLite has a single
writer, which commits all jobs that are waiting together, so that many people share one wait for the
disk; PostgreSQL runs jobs in parallel. A job may be rerun from the start if the database requires
it, so it must do nothing but read and write the database.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from sqlalchemy import (
    BindParameter,
    Column,
    Connection,
    Engine,
    Executable,
    bindparam,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from tellapart.errors import BadInput, TellapartError

T = TypeVar("T")
Job = Callable[[Connection], T]
Work = tuple[Job[Any], "Future[Any]"]
BATCH = 64
"""Maximum number of jobs that SQLite's writer commits together."""
CONNECTIONS = 6
"""Connections to PostgreSQL per server; with more, its threads slow each other down."""
AGAIN = {"40001", "40P01", "23505"}
"""PostgreSQL: conflicts with another transaction (serialisation, deadlock, the same key)."""
ATTEMPTS = 4
PRIVATE = 0o600
Outcome = tuple["Future[Any]", Any, BaseException | None]
"""A job's future, and its result or its error."""


class Gone(TellapartError):
    """The database is unreachable or cannot write at the moment; nothing was changed."""


class Interrupted(Gone):
    """Another job changed what a job had read before it could write; it is rerun."""


class Database(Protocol):
    """Runs jobs; a finished job's changes are on the disk."""

    engine: Engine

    def submit(self, job: Job[T]) -> Future[T]:
        """Run a job that may write."""
        ...

    def read(self, job: Job[T]) -> Future[T]:
        """Run a job that only reads."""
        ...

    def close(self) -> None:
        """Finish running jobs and close the database."""
        ...


def open_database(url: str) -> Database:
    """A database by its URL: `sqlite:///path`, or `postgresql://user@host/name`."""
    scheme = url.partition(":")[0]
    if scheme == "sqlite":
        return SQLite(url)
    if scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        return PostgreSQL("postgresql+psycopg" + url[len(scheme) :])
    raise BadInput(
        f"{scheme}: is not a supported database",
        allowed="sqlite:///PATH or postgresql://USER@HOST/NAME",
    )


def sqlite_url(path: Path) -> str:
    """The URL of a file."""
    return f"sqlite:///{path.resolve()}"


class SQLite:
    """One writer thread with its own connection, and readers in parallel (WAL)."""

    def __init__(self, url: str) -> None:
        _keep_private(url)
        # the writer locks the file when it begins: taking the lock later could fail halfway
        self.engine = _sqlite_engine(url, "BEGIN IMMEDIATE", pool_size=1, max_overflow=0)
        self._reading = _sqlite_engine(url, "BEGIN", pool_size=2, max_overflow=2)
        self._jobs: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._readers = ThreadPoolExecutor(2, "study-reader")
        self._writer = threading.Thread(target=self._write, name="study-writer", daemon=True)
        self._writer.start()

    def submit(self, job: Job[T]) -> Future[T]:
        """Hand a job to the writer."""
        future: Future[T] = Future()
        if not self._writer.is_alive():
            future.set_exception(Gone("the database was closed"))
        else:
            self._jobs.put((job, future))
        return future

    def read(self, job: Job[T]) -> Future[T]:
        """Run a job in parallel to the writer, on the last committed state."""
        return self._readers.submit(_in_transaction, self._reading, job)

    def close(self) -> None:
        """Let the writer finish its jobs."""
        self._jobs.put(None)
        self._writer.join()
        self._readers.shutdown()
        self._reading.dispose()
        self.engine.dispose()

    def _write(self) -> None:
        outcomes: Iterable[Outcome]
        while (batch := self._next_batch()) is not None:
            ready = [one for one in batch if one[1].set_running_or_notify_cancel()]
            try:
                outcomes = self._commit(ready)
            except Exception:  # the batch was rolled back: run each job by itself
                outcomes = map(self._alone, ready)
            for future, value, failure in outcomes:
                if failure is None:
                    future.set_result(value)
                else:
                    future.set_exception(failure)

    def _next_batch(self) -> list[Work] | None:
        """The waiting jobs; None once the database is closed."""
        first = self._jobs.get()
        if first is None:
            return None
        batch = [first]
        while len(batch) < BATCH and not self._jobs.empty():
            following = self._jobs.get()
            if following is None:
                self._jobs.put(None)
                break
            batch.append(following)
        return batch

    def _alone(self, work: Work) -> Outcome:
        try:
            return self._commit([work])[0]
        except Exception as error:
            return work[1], None, as_gone(error)

    def _commit(self, batch: list[Work]) -> list[Outcome]:
        """Run jobs in one transaction.

        A job that fails before it has changed anything does not affect the others; any other
        failure rolls back the batch.
        """
        outcomes: list[Outcome] = []
        with self.engine.begin() as connection:
            raw: Any = connection.connection.dbapi_connection
            for job, future in batch:
                changes = raw.total_changes
                try:
                    outcomes.append((future, job(connection), None))
                except TellapartError as error:
                    if raw.total_changes != changes or not raw.in_transaction:
                        raise
                    outcomes.append((future, None, error))
            if (
                not raw.in_transaction
            ):  # SQLite rolled back on its own, for example because the disk is full
                raise Gone("the transaction was rolled back", todo="try again in a moment")
        return outcomes


class PostgreSQL:
    """Several connections, each with its own thread."""

    def __init__(self, url: str) -> None:
        self.engine = create_engine(
            url, pool_size=CONNECTIONS, max_overflow=0, pool_timeout=10, hide_parameters=True,
            connect_args={"connect_timeout": 10},
        )  # fmt: skip
        self._workers = ThreadPoolExecutor(CONNECTIONS, "study-database")

    def submit(self, job: Job[T]) -> Future[T]:
        """Run a job in its own transaction, and rerun it if the database requires it."""
        return self._workers.submit(_in_transaction, self.engine, job)

    def read(self, job: Job[T]) -> Future[T]:
        """Like `submit`: readers do not block writers here."""
        return self.submit(job)

    def close(self) -> None:
        """Finish running jobs and close the connections."""
        self._workers.shutdown()
        self.engine.dispose()


def _in_transaction(engine: Engine, job: Job[T]) -> T:
    """Run a job, and rerun it after a conflict or if the connection was stale.

    If a connection breaks during the commit, it is unknown whether the commit succeeded: the job
    runs again and finds its own changes.
    """
    for attempt in range(ATTEMPTS):
        try:
            with engine.begin() as connection:
                return job(connection)
        except (SQLAlchemyError, Interrupted) as error:
            if attempt + 1 == ATTEMPTS or not _worth_another(error):
                raise as_gone(error) from error
    raise AssertionError("unreachable")


def _worth_another(error: Exception) -> bool:
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    broken = isinstance(error, DBAPIError) and error.connection_invalidated
    return isinstance(error, Interrupted) or state in AGAIN or broken


def as_gone(error: Exception) -> Exception:
    """A database's own error as `Gone`, which can be shown to people; other errors unchanged."""
    if not isinstance(error, SQLAlchemyError):
        return error
    reason = str(getattr(error, "orig", None) or error).partition("\n")[0]
    return Gone(f"database error: {reason}", todo="try again in a moment")


def _keep_private(url: str) -> None:
    """Make a database's file, and SQLite's files beside it, readable only by the owner.

    A new file is created with these permissions, so that it is never readable by others; SQLite
    gives its companions the same ones. Files owned by someone else are left unchanged.
    """
    name = make_url(url).database
    if not name or name == ":memory:" or not Path(name).parent.is_dir():
        return
    with contextlib.suppress(FileExistsError):
        os.close(os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE))
    for path in (Path(f"{name}{ending}") for ending in ("", "-wal", "-shm")):
        if path.exists() and path.stat().st_uid == os.geteuid():
            path.chmod(PRIVATE)


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # we begin transactions explicitly
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=15000"):
        connection.execute(f"PRAGMA {pragma}").close()


def _sqlite_engine(url: str, begin: str, **pool: int) -> Engine:
    engine = create_engine(url, hide_parameters=True, **pool)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine


def new_value(column: Column[Any]) -> BindParameter[Any]:
    """A parameter `_name` for a column's value; a parameter named `name` would set the column."""
    return bindparam(f"_{column.name}", type_=column.type)


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """Changes that belong together: one statement on PostgreSQL, several on SQLite.

    Every statement is a round trip to PostgreSQL's server, which costs more than its execution;
    SQLite has no round trips, and cannot change several tables in one statement.

    If the first step finds nothing to change and returns no row, the others are not executed. On
    PostgreSQL they may have been executed anyway if they do not depend on the first; the caller
    then rolls back the transaction.
    """

    sqlite: tuple[Executable, ...]
    postgresql: Executable

    def run(self, conn: Connection, values: Mapping[str, Any]) -> Any:
        """The row returned by the first step; None if it found nothing."""
        if conn.dialect.name == "postgresql":
            return conn.execute(self.postgresql, dict(values)).first()
        first, *others = self.sqlite
        row = conn.execute(first, dict(values)).first()
        if row is not None:
            for step in others:
                conn.execute(step, dict(values))
        return row

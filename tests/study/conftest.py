"""Studies on both databases, of items that need no pictures."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conftest import benchmark_of, grid_item
from tests.study.crowd import Hands
from tests.study.postgres import PostgresServer, binaries, shared_postgres

from tellapart.benchmark.benchmark import Benchmark
from tellapart.study.folder import StudySetup, write_study
from tellapart.study.plan import Stage
from tellapart.study.store.database import sqlite_url
from tellapart.study.study import OpenStudy, open_study

MakeStudy = Callable[..., OpenStudy]


@pytest.fixture(scope="session")
def postgres() -> PostgresServer:
    if binaries() is None:
        pytest.skip("PostgreSQL is not installed")
    return shared_postgres()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty database; SQLite's lies in memory where it can, to spare the disk."""
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        yield server.database()
        return
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield sqlite_url(Path(folder) / "study.sqlite")


@pytest.fixture
def clock() -> Hands:
    return Hands()


def pairs_of(number: int) -> Benchmark:
    """So many items of two images and a caption that is true of the first."""
    return benchmark_of([grid_item(f"n{k}", 2, 1, {(0, 0)}) for k in range(number)])


@pytest.fixture
def make_study(tmp_path: Path, database: str, clock: Hands) -> Iterator[MakeStudy]:
    """A study of `items` with one stage (or `stages`), opened on the database at hand."""
    opened: list[OpenStudy] = []

    def make(items: Benchmark | int = 6, *stages: Stage, **more: object) -> OpenStudy:
        source = pairs_of(items) if isinstance(items, int) else items
        chosen = stages or (Stage("ask", "which-image", judgements=2),)
        options = StudySetup(chosen, training=bool(more.pop("training", False)), **more)  # type: ignore[arg-type]
        folder = tmp_path / f"study{len(opened)}"
        write_study(source, folder, options)
        study = open_study(folder, database, clock)
        opened.append(study)
        return study

    yield make
    for study in opened:
        study.close()

"""What the verbs of studies share: arguments of most of them, and a study opened for one job."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from tellapart.options import Help

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from sqlalchemy import Connection

    from tellapart.study.study import OpenStudy

T = TypeVar("T")
Folder = Annotated[Path | str, Help("A study's folder.")]
Database = Annotated[str, Help("postgresql://USER@HOST/NAME (default: SQLite in FOLDER).")]
PublicUrl = Annotated[
    str, Help("The address that people know the server by (default: where it was last served).")
]
LOCAL_URL = "http://127.0.0.1:8000"
SERVED = "served.txt"
"""The file of a study's folder that has the address where it was last served."""


def address_of(folder: Path | str, public_url: str) -> str:
    """The address for links: the one that is given, else where the study was last served."""
    kept = Path(folder) / SERVED
    url = public_url or (kept.read_text(encoding="utf-8").strip() if kept.is_file() else LOCAL_URL)
    return url.rstrip("/")


def opened(folder: Path | str, database: str) -> AbstractContextManager[OpenStudy]:
    """A study that is closed when the block ends."""
    check_installed()
    from tellapart.study.study import opened_study

    return opened_study(folder, database)


def in_study(
    folder: Path | str, database: str, job: Callable[[Connection, OpenStudy], T], write: bool = True
) -> T:
    """Run one job of the database of a study."""
    with opened(folder, database) as study:
        run = study.database.submit if write else study.database.read
        return run(lambda conn: job(conn, study)).result()


def check_installed() -> None:
    """Name the package that is missing, where the extra `study` was not installed."""
    import_module("tellapart.study.store")

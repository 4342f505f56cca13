"""What the study verbs share: common arguments, and opening a study for one job."""

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
    str, Help("Public address of the server (default: where the study was last served).")
]
LOCAL_URL = "http://127.0.0.1:8000"
SERVED = "served.txt"
"""File in a study's folder with the address where it was last served."""


def address_of(folder: Path | str, public_url: str) -> str:
    """The address for links: the given one, else where the study was last served."""
    kept = Path(folder) / SERVED
    url = public_url or (kept.read_text(encoding="utf-8").strip() if kept.is_file() else LOCAL_URL)
    return url.rstrip("/")


def opened(folder: Path | str, database: str) -> AbstractContextManager[OpenStudy]:
    """Open a study; it is closed when the block ends."""
    check_installed()
    from tellapart.study.study import opened_study

    return opened_study(folder, database)


def in_study(
    folder: Path | str, database: str, job: Callable[[Connection, OpenStudy], T], write: bool = True
) -> T:
    """Run one job in a study's database."""
    with opened(folder, database) as study:
        run = study.database.submit if write else study.database.read
        return run(lambda conn: job(conn, study)).result()


def check_installed() -> None:
    """Raise an error that names the missing package if the extra `study` is not installed."""
    import_module("tellapart.study.store")

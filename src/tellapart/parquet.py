"""Parquet files, and what Polars does with broken ones, as clear errors.

A damaged file may make Polars raise one of its errors, or panic, which is no `Exception` and tells
of itself on stderr. Whoever reads Parquet does so inside `whole_parquet`.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tellapart.errors import BadInput

BROKEN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, OverflowError)
"""What Polars raises when a file is damaged or has values that Python has no place for."""


@contextlib.contextmanager
def whole_parquet(path: Path) -> Iterator[None]:
    """Raise `BadInput` where a Parquet file that is read inside turns out to be broken."""
    try:
        with _panics_kept_quiet():
            yield
    except BROKEN as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise BadInput(
            f"{path.name} is not a whole .parquet file: {reason}",
            where=str(path),
            todo="fetch or write the file again",
        ) from None


def read_parquet(data: bytes, path: Path) -> pl.DataFrame:
    """The table in the bytes of a file."""
    with whole_parquet(path):
        return pl.read_parquet(io.BytesIO(data))


def rows_of(table: pl.DataFrame, path: Path) -> list[dict[str, Any]]:
    """The rows of a table from Parquet as Python has them."""
    with whole_parquet(path):
        return table.to_dicts()


def typed(
    table: pl.DataFrame, columns: Mapping[str, Any], path: Path, *, filled: Collection[str] = ()
) -> pl.DataFrame:
    """Columns of a table that the toolkit wrote, in their types, which another writer may change.

    Those of `filled` have a value in every row, and lists in them in every place.
    """
    for name, wanted in columns.items():
        found = table.schema[name]
        if found != wanted:
            table = table.with_columns(_cast(table[name], wanted, path))
        if name in filled and _has_holes(table[name]):
            raise BadInput(
                f"{path.name} has a row without {name!r}",
                where=str(path),
                allowed="rows as tellapart wrote them",
                todo="write the folder again",
            )
    return table.select(list(columns))


def _cast(column: pl.Series, wanted: Any, path: Path) -> pl.Series:
    found = column.dtype
    alike = found.is_numeric() == wanted.is_numeric() and found.is_nested() == wanted.is_nested()
    try:
        if alike or found == pl.Null:
            with _panics_kept_quiet():
                return column.cast(wanted)
    except BROKEN:
        pass
    raise BadInput(
        f"the column {column.name!r} of {path.name} holds {found}",
        where=str(path),
        allowed=str(wanted),
        todo="write the folder again",
    )


def _has_holes(column: pl.Series) -> bool:
    """Whether there are nulls, also within lists."""
    while not column.null_count():
        if not isinstance(column.dtype, pl.List):
            return False
        column = column.filter(column.list.len() > 0).explode()
    return True


@contextlib.contextmanager
def _panics_kept_quiet() -> Iterator[None]:
    """Hold back what is written to stderr, and drop it if it tells of a panic.

    Polars is compiled code: only the file descriptor is within reach.
    """
    sys.stderr.flush()
    try:
        stderr = os.dup(2)
    except OSError:  # there is no stderr
        yield
        return
    panicked = False
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except pl.exceptions.PanicException:
            panicked = True
            raise
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            if not panicked and os.fstat(held.fileno()).st_size:
                held.seek(0)
                os.write(2, held.read())

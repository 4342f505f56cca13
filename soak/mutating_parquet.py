"""Mutations of Parquet: columns dropped, renamed, retyped and nested; footers and pages damaged."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import polars as pl
from soak.mutating import LONG, Rng, flip, insert, mutate_bytes, overwrite, pick, take_out

from tellapart.errors import BadInput
from tellapart.parquet import read_parquet

TYPES: tuple[Any, ...] = (
    pl.String, pl.Binary, pl.Int8, pl.Int64, pl.UInt64, pl.Float32, pl.Float64, pl.Boolean, pl.Date,
    pl.Datetime("us"), pl.Datetime("ns", "UTC"), pl.Duration("ms"), pl.Time, pl.Categorical,
    pl.Decimal(20, 2), pl.Null, pl.List(pl.String), pl.List(pl.Int64),
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, "", " ", "a", "7", "x" * LONG, "\x00", "../a.jpg", b"", b"\xff\xd8", 0, -1, 2**40, 2**62,
    1.5, float("nan"), float("inf"), True, [], ["a"], ["a", None], [[1]], {"bytes": None},
    {"bytes": b"a", "path": None}, {"path": "a.jpg"}, {"a": {"b": [1]}},
)  # fmt: skip
NAMES = ("id", "image", "caption", "Image", "caption_id", "objects", "", "a" * 300, "score", "0,0")
COMPRESSIONS = ("zstd", "snappy", "gzip", "lz4", "uncompressed")
CANNOT = (
    BadInput, pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError, ValueError,
    OverflowError,
)  # fmt: skip
"""What is raised where a file is broken, or a table cannot be changed or written that way."""


def mutate_parquet(data: bytes, rng: Rng) -> bytes:
    """The table changed and written again, or the file's bytes damaged."""
    roll = rng.random()
    if roll < 0.5:
        try:
            # Read on trial first: this process must outlive what is broken already.
            table = read_parquet(Path("mutated.parquet"), data)
            return _written(_changed(table, rng), rng)
        except CANNOT:
            return _damaged(data, rng)
    return mutate_bytes(data, rng) if roll < 0.6 else _damaged(data, rng)


def _damaged(data: bytes, rng: Rng) -> bytes:
    """Bytes of the footer changed, which says where everything is, or bytes of the pages."""
    change = pick(rng, (flip, flip, overwrite, insert, take_out))
    length = int.from_bytes(data[-8:-4], "little") if data[-4:] == b"PAR1" else 0
    begin = len(data) - 8 - length
    if not 4 < begin < len(data) - 8:
        return mutate_bytes(data, rng)
    if rng.random() < 0.4:
        return change(data[:begin], rng) + data[begin:]
    footer = change(data[begin:-8], rng)
    size = len(footer) if rng.random() < 0.9 else int(rng.integers(2**32))
    return data[:begin] + footer + size.to_bytes(4, "little") + b"PAR1"


def _changed(table: pl.DataFrame, rng: Rng) -> pl.DataFrame:
    name = pick(rng, table.columns) if table.columns else "a"
    column = table[name] if table.columns else pl.Series("a", [1])
    roll = int(rng.integers(9))
    if roll == 0:
        return table.drop(name)
    if roll == 1:
        return table.rename({name: pick(rng, NAMES)})
    if roll == 2:
        return table.with_columns(column.cast(pick(rng, TYPES), strict=False))
    if roll == 3:
        return table.with_columns(pl.Series(name, [pick(rng, VALUES)] * table.height))
    if roll == 4:
        return table.with_columns(pl.Series(name, [column.to_list()] * table.height))
    if roll == 5:
        inside = pl.col(name).alias(pick(rng, ("bytes", "path", "a")))
        return table.with_columns(pl.struct(inside).alias(name))
    if roll == 6:
        return table.with_columns(_one_changed(column, rng))
    if roll == 7:
        return table.head(0) if rng.random() < 0.2 else pl.concat([table, table])
    return table.with_columns(column.alias(pick(rng, NAMES)))


def _one_changed(column: pl.Series, rng: Rng) -> pl.Series:
    values = column.to_list()
    if values:
        new = pick(rng, (None, pick(rng, values), pick(rng, VALUES)))
        values[int(rng.integers(len(values)))] = new
    return pl.Series(column.name, values, dtype=pick(rng, (None, column.dtype)), strict=False)


def _written(table: pl.DataFrame, rng: Rng) -> bytes:
    file = io.BytesIO()
    table.write_parquet(file, compression=pick(rng, COMPRESSIONS), statistics=bool(rng.integers(2)))
    return file.getvalue()

"""Tables of a source: their rows, and the pictures that their cells name or hold."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import polars as pl

from tellapart.benchmark.published.fields import Row, kind_of
from tellapart.benchmark.published.gathering import Gathering
from tellapart.corpus.coco import coco_id
from tellapart.decoding import can_be_written
from tellapart.errors import BadInput
from tellapart.parquet import on_disk, read_slices, rows_of, schema_of, try_parquet, whole_parquet
from tellapart.tables import read_bytes, read_table, require_columns, suffix

SLICE = 256
"""How many rows of a Parquet file are in memory at a time; they may hold pictures."""


def table_rows(path: Path, needed: Sequence[str], more: Sequence[str] = ()) -> Iterator[Row]:
    """The rows of a table; `needed` columns must be there, those of `more` may be."""
    number = 0
    for table in _tables(path, needed, more):
        for values in rows_of(table, path):
            number += 1
            yield Row(values, f"row {number} of {path.name}", f"{path}, row {number}")


def _tables(path: Path, needed: Sequence[str], more: Sequence[str]) -> Iterator[pl.DataFrame]:
    if suffix(path) != "parquet":
        table = read_table(path)
        require_columns(table, needed, path)
        yield table.select([*needed, *(name for name in more if name in table.columns)])
        return
    packed = path.name.lower().endswith(".gz") or not path.is_file()
    data = read_bytes(path) if packed else None
    with on_disk(path, data) as file:
        try_parquet(path, file, [*needed, *more], SLICE)
    source = path if data is None else io.BytesIO(data)
    with whole_parquet(path):
        require_columns(pl.DataFrame(schema=schema_of(source)), needed, path)
    yield from read_slices(path, source, [*needed, *more], SLICE)


def cell_image(
    gathering: Gathering, row: Row, column: str, file: Path, *, coco: bool = False
) -> str:
    """The id of the image in a cell: a path, bytes, or how Hugging Face datasets hold either.

    `coco` says that a file under one of COCO's usual names is COCO's picture.
    """
    value = row.get(column)
    if isinstance(value, dict):
        value = value.get("bytes") or value.get("path")
    if isinstance(value, bytes):
        number = int(row.where.rpartition(" ")[2]) - 1
        place = f"column={quote(column, safe='')}&row={number}"
        return gathering.stored(hashlib.sha256(value).hexdigest(), file, place)
    if not isinstance(value, str) or not value.strip():
        raise BadInput(
            f'"{column}" of {row.title} is {"empty" if not value else kind_of(value)}',
            allowed="the path of a picture as text; in Parquet also its bytes",
        )
    if not can_be_written(value):
        raise row.wrong(column, f"no Unicode text: {value!a:.60}", "a path that UTF-8 can hold")
    return gathering.image(value, file, (coco and coco_id(value)) or value)

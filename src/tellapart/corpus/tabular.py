"""Tables with an image and a caption in each row: CSV, TSV, JSONL and Parquet.

Optional columns are `caption_id` or `id` (of the caption), `image_id`, and `objects` (a list, or
text separated by `;`). Rows of the same image are merged.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from tellapart.corpus.coco import with_objects
from tellapart.corpus.corpus import Corpus, make_corpus
from tellapart.corpus.reader import ReadOptions, name_of, picture_folder
from tellapart.errors import BadInput, Problems
from tellapart.files import TABLE_KINDS, read_bytes, read_table, require_columns, suffix
from tellapart.parquet import on_disk, read_slices, rows_of, schema_of, try_parquet, whole_parquet

CAPTION_IDS = ("caption_id", "id")
OPTIONAL = (*CAPTION_IDS, "image_id", "objects")

SLICE = 256
"""How many rows with embedded pictures are in memory at a time."""


class TableReader:
    """Reads tables, plain or gzipped; pictures inside Parquet stay there."""

    about = "a table with a column of images and one of captions (.csv .tsv .jsonl .parquet)"

    def fits(self, path: Path) -> bool:
        """Whether the file name ends like a table's."""
        return path.is_file() and suffix(path) in TABLE_KINDS

    def read(self, path: Path, options: ReadOptions) -> Corpus:
        """Read a table."""
        inside, tables = _opened(path, options)
        beside = picture_folder(path, options)
        rows = _TableRows(path, options, path.parent if inside else beside, beside, name_of(path))
        problems = Problems(skip=options.skip_bad)
        number = 0
        for table in tables:
            for values in rows_of(table, path):
                number += 1
                try:
                    rows.add(number, values)
                except BadInput as problem:
                    problem.where = rows.where(number)
                    problems.add(problem)
        corpus = make_corpus(
            rows.name,
            rows.root,
            rows.images.values(),
            rows.captions,
            problems=problems,
            about={"format": "table", "file": path.name},
        )
        return with_objects(corpus, options.objects)


def _opened(path: Path, options: ReadOptions) -> tuple[bool, Iterator[pl.DataFrame]]:
    """Whether the pictures are inside the table, and its relevant columns, a few rows at a time."""
    if suffix(path) != "parquet":
        table = read_table(path)
        return False, iter([table.select(_wanted(table, path, options))])
    columns = (options.image_column, options.caption_column, *OPTIONAL)
    data = read_bytes(path) if path.name.lower().endswith(".gz") else None
    with on_disk(path, data) as file:
        try_parquet(path, file, columns, SLICE)
    source = path if data is None else io.BytesIO(data)
    with whole_parquet(path):
        empty = pl.DataFrame(schema=schema_of(source))
    wanted = _wanted(empty, path, options)
    inside = isinstance(empty.schema[options.image_column], pl.Binary | pl.Struct)
    return inside, read_slices(path, source, wanted, SLICE)


def _wanted(table: pl.DataFrame, path: Path, options: ReadOptions) -> list[str]:
    needed = [options.image_column, options.caption_column]
    require_columns(table, needed, path)
    return list(dict.fromkeys(needed + [name for name in OPTIONAL if name in table.columns]))


@dataclass(slots=True)
class _TableRows:
    """Collects a table's rows as images and captions; an invalid row raises `BadInput`.

    Uris are relative to `root`; paths in the table are relative to `beside`.
    """

    path: Path
    options: ReadOptions
    root: Path
    beside: Path
    name: str
    images: dict[str, dict[str, Any]] = field(default_factory=dict)
    captions: list[dict[str, Any]] = field(default_factory=list)

    def where(self, number: int) -> str:
        return f"{self.path}, row {number}"

    def add(self, number: int, values: dict[str, Any]) -> None:
        title = f"row {number} of {self.path.name}"
        row = self._image(number, values, title)
        objects = _objects(values.get("objects"), title)
        own_id = next((values[n] for n in CAPTION_IDS if values.get(n) is not None), None)
        caption_id = f"{self.name}:{number}" if own_id is None else _id(own_id, title)
        image = self.images.setdefault(row["id"], row)
        if (image["sha256"] or image["uri"]) != (row["sha256"] or row["uri"]):
            raise BadInput(
                f"image {row['id']} is a different picture in {title} than before",
                allowed="one picture per image_id",
                todo="give each picture its own id",
            )
        if objects is not None:
            image["objects"] = sorted({*(image["objects"] or ()), *objects})
        text, where = values[self.options.caption_column], self.where(number)
        texts = {caption_id: text}
        if isinstance(text, list) and text:
            texts = {f"{caption_id}/{k}": one for k, one in enumerate(text, 1)}
        self.captions += [
            {"id": key, "image": row["id"], "text": one, "where": where}
            for key, one in texts.items()
        ]

    def _image(self, number: int, values: dict[str, Any], title: str) -> dict[str, Any]:
        column = self.options.image_column
        value, sha256 = values[column], None
        if isinstance(value, dict):  # how Hugging Face datasets store images
            value = value.get("bytes") or value.get("path")
        if isinstance(value, bytes):
            sha256 = hashlib.sha256(value).hexdigest()
            image_id = sha256[:16]
            uri = f"{self.path.name}#column={quote(column, safe='')}&row={number - 1}"
        elif isinstance(value, str) and value.strip():
            image_id = uri = value
            if self.beside != self.root and "://" not in uri:
                uri = (self.beside / value).absolute().as_posix()
        else:
            missing = value is None or isinstance(value, str)
            raise BadInput(
                f"{title} has no image"
                if missing
                else f"the image in {title} is {type(value).__name__} ({value!r:.60})",
                allowed="the path of a picture as text; in Parquet also its bytes",
                todo=f"fill in the column {column!r}, or name another with --image-column",
            )
        if values.get("image_id") is not None:
            image_id = _id(values["image_id"], title)
        where = self.where(number)
        return {"id": image_id, "uri": uri, "sha256": sha256, "objects": None, "where": where}


def _id(value: object, title: str) -> str:
    if type(value) not in (int, str) or value == "":
        raise BadInput(
            f"an id in {title} is {type(value).__name__} ({value!r:.60})",
            allowed="text or a whole number",
        )
    return str(value)


def _objects(value: object, title: str) -> list[str] | None:
    if value is None:
        return None
    if isinstance(value, str):
        return [name.strip() for name in value.split(";") if name.strip()]
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return value
    raise BadInput(
        f"the objects in {title} are {type(value).__name__} ({value!r:.60})",
        allowed="a list of names, or names separated by ;",
    )


READER = TableReader()

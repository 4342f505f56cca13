"""What captioning systems wrote: COCO results files and tables, read with nothing dropped unsaid.

A results file is a JSON list of {"image_id": ..., "caption": ...}; a table has a column of images
and one of captions. Each image has one caption. An empty caption is an answer, if a poor one; one
that is missing, NaN or a number is a mistake in the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellapart.corpus.reader import name_of
from tellapart.errors import BadInput, Problems
from tellapart.tables import read_json, read_table, require_columns, suffix

TEXT_TABLES = ("csv", "tsv")
IMAGE_COLUMNS = ("image_id", "image")
FORM = '[{"image_id": 42, "caption": "A dog."}, ...]'


@dataclass(frozen=True, slots=True)
class Written:
    """A system's captions by image id; `skipped` tells what `skip_bad` left out."""

    name: str
    captions: Mapping[str, str]
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns of a table to read; without `image` it is image_id or image."""

    image: str = ""
    caption: str = "caption"


def read_written(
    path: Path | str,
    columns: Columns = Columns(),  # noqa: B008 (frozen)
    *,
    skip_bad: bool = False,
) -> Written:
    """Read what a system wrote, plain or gzipped."""
    path = Path(path)
    rows = _json_rows(path) if suffix(path) == "json" else _table_rows(path, columns)
    problems, found = Problems(skip=skip_bad), dict[str, str]()
    for number, row in enumerate(rows, 1):
        try:
            image, caption = _image(row), _caption(row)
            if image in found:
                raise BadInput(
                    f"image {image} has two captions: {found[image]!r:.80} and {caption!r:.80}",
                    allowed="one caption for each image",
                    todo="take all but one out of the file",
                )
            found[image] = caption
        except BadInput as problem:
            problem.where = f"{path}, row {number}"
            problems.add(problem)
    problems.settle()
    if not found:
        raise BadInput(f"{path.name} holds no captions", where=str(path), allowed=FORM)
    return Written(name_of(path), found, tuple(p.what for p in problems))


def _json_rows(path: Path) -> Iterable[Any]:
    rows = read_json(path)
    if not isinstance(rows, list):
        what = "an object" if isinstance(rows, dict) else type(rows).__name__
        raise BadInput(
            f"{path.name} is {what}, not a list of captions",
            where=str(path),
            allowed=f"{FORM}, or a table (.csv .tsv .jsonl .parquet)",
            todo="give a file of results here, and captions by people with --references",
        )
    return rows


def _table_rows(path: Path, columns: Columns) -> Iterable[Any]:
    table = read_table(path)
    there = [name for name in IMAGE_COLUMNS if name in table.columns]
    image = columns.image or (there[0] if there else IMAGE_COLUMNS[-1])
    require_columns(table, [image, columns.caption], path)
    # In these an empty cell is how an empty text is written.
    blank = "" if suffix(path) in TEXT_TABLES else None
    for row in table.select(image, columns.caption).iter_rows():
        yield {"image_id": row[0], "caption": blank if row[1] is None else row[1]}


def _image(row: Any) -> str:
    if not isinstance(row, dict) or "image_id" not in row or "caption" not in row:
        raise BadInput(f"a row is {row!r:.80}", allowed='{"image_id": 42, "caption": "A dog."}')
    image = row["image_id"]
    if isinstance(image, bool) or not isinstance(image, int | str) or image == "":
        raise BadInput(
            f"an image is {type(image).__name__} ({image!r:.60})",
            allowed="the image's id, text or a whole number",
        )
    return str(image)


def _caption(row: Mapping[str, Any]) -> str:
    caption = row["caption"]
    if isinstance(caption, str):
        return caption
    kind = f"{type(caption).__name__} ({caption!r:.60})"
    if caption is None or (isinstance(caption, float) and math.isnan(caption)):
        kind = "missing" if caption is None else "NaN"
    raise BadInput(
        f"the caption of image {row['image_id']} is {kind}, not text",
        allowed="text; an empty caption is written as an empty text and scores 0",
    )

"""COCO-BISON: a caption and two similar images, one of which it describes.

Hu, Misra and van der Maaten 2019. The released captions have white space at their ends (mostly a
carriage return); all white space is collapsed, so that equal captions compare as equal.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from tellapart.benchmark.columns import ITEM_COLUMNS
from tellapart.benchmark.published.fields import (
    SourceRow,
    json_object,
    list_rows,
    plain_columns,
)
from tellapart.benchmark.published.importer import Importer, ItemCollector
from tellapart.errors import BadInput
from tellapart.items import Grid

FORM = '{"data": [{"bison_id", "caption", "image_candidates", "true_image_id"}, ...]}'
COLLAPSED = "captions_with_white_space_collapsed"
ROW = {"bison_id": int, "caption": str, "image_candidates": list, "true_image_id": int}
CANDIDATE = {"image_id": int, "image_filename": str}


def read(collector: ItemCollector) -> None:
    """The items of the annotation files."""
    collector.facts[COLLAPSED] = 0
    for file in collector.files:
        data = json_object(file, FORM).get("data")
        if not _add_columns(collector, file, data):
            collector.each(list_rows(file, FORM, data, "data"), add)


def add(collector: ItemCollector, row: SourceRow) -> None:
    """The item of a row."""
    source_id, stored = row.name("bison_id"), row.text("caption")
    caption = " ".join(stored.split())
    candidates = row.rows("image_candidates")
    ids = [str(candidate.whole("image_id")) for candidate in candidates]
    true = str(row.whole("true_image_id"))
    if true not in ids:
        raise BadInput(
            f'"true_image_id" {true} of {row.title} is not among its candidates',
            allowed=", ".join(ids) or "there are none",
        )
    images = [
        collector.image(row.file, _file_name(candidate, image_id), image_id)
        for candidate, image_id in zip(candidates, ids, strict=True)
    ]
    grid = Grid(tuple(images), (caption,), frozenset({(images.index(true), 0)}))
    collector.add(row, source_id, grid, kind="bison", notes=row.notes("caption_id"))
    collector.facts[COLLAPSED] += caption != stored


def _add_columns(collector: ItemCollector, file: Path, data: Any) -> bool:
    """Add all rows as columns if each has the authors' format; else add nothing, return False."""
    rows = plain_columns(data, ROW)
    pairs = rows["image_candidates"] if rows else []
    if not rows or {len(pair) for pair in pairs} != {2} or collector.options.alike:
        return False
    first, second = (plain_columns([pair[k] for pair in pairs], CANDIDATE) for k in (0, 1))
    if not first or not second:
        return False
    caption_ids = [row.get("caption_id") for row in data]
    if set(map(type, caption_ids)) - {int, type(None)}:
        return False
    one, two, right = pl.col("one"), pl.col("two"), pl.col("right")
    captions = list(map(" ".join, map(str.split, rows["caption"])))
    frame = pl.DataFrame(
        {
            "source_id": rows["bison_id"],
            "one": first["image_id"],
            "two": second["image_id"],
            "right": rows["true_image_id"],
            "caption": captions,
            "note": pl.Series([v if v is None else str(v) for v in caption_ids], dtype=pl.String),
        }
    )
    if not frame.select(((one != two) & ((right == one) | (right == two))).all()).item():
        return False
    truths = pl.Series([[[0, 0]], [[1, 0]]], dtype=ITEM_COLUMNS["true_cells"])
    noted = pl.concat_str(pl.lit('{"caption_id": "'), "note", pl.lit('"}'))
    added = collector.extend(
        file,
        "bison",
        frame.select(
            pl.col("source_id").cast(pl.String),
            images=pl.concat_list(one.cast(pl.String), two.cast(pl.String)),
            captions=pl.concat_list("caption"),
            true_cells=truths.gather(frame.select((right == two).cast(pl.UInt32)).to_series()),
            notes=noted.fill_null("{}"),
        ),
    )
    if added:
        collector.facts[COLLAPSED] += sum(map(str.__ne__, captions, rows["caption"]))
        names: dict[int, str] = {}
        for side in (second, first):  # if an image has several names, the first one counts
            names |= zip(reversed(side["image_id"]), reversed(side["image_filename"]), strict=True)
        for image, name in names.items():
            collector.image(file, name, str(image))
    return added


def _file_name(candidate: SourceRow, image_id: str) -> str:
    if candidate.has("image_filename"):
        return candidate.text("image_filename")
    return f"COCO_val2014_{int(image_id):012d}.jpg"


IMPORTER = Importer(
    name="bison",
    about="COCO-BISON: which of two similar images fits the caption (JSON)",
    read=read,
    endings=("json",),
    page="https://github.com/facebookresearch/binary-image-selection",
    licence="CC BY-NC 4.0",
    citation="Hexiang Hu, Ishan Misra, Laurens van der Maaten: Evaluating Text-to-Image Matching "
    "using Binary Image Selection (BISON). ICCV Workshops 2019",
    verified="by people: one chose a caption that is true of only one image, and two others, who "
    "did not know which, both picked that image",
)

"""What a study is made of: a benchmark, or pairs of images of which people pick a caption.

`tellapart build bison --for-study` writes both. Pairs can come from elsewhere too: `pairs.parquet`
with the columns pair, target, decoy, captions, caption_ids, and `images.parquet` beside it. A pair
becomes an item: the target, the decoy, and the target's captions, all true of it; what is true of
the decoy people will say.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from tellapart.benchmark.benchmark import (
    IMAGE_COLUMNS,
    Benchmark,
    Card,
    load_benchmark,
    make_benchmark,
)
from tellapart.errors import BadInput
from tellapart.items import Image, Item, Origin
from tellapart.tables import read_table, require_columns

PAIRS = "pairs.parquet"
COLUMNS = ("pair", "target", "decoy", "captions", "caption_ids")


def load_source(where: Path | str) -> Benchmark:
    """The items of a benchmark (folder or name), or of a folder with pairs."""
    folder = Path(where)
    if folder.name == PAIRS:
        folder = folder.parent
    if (folder / PAIRS).exists() and not (folder / "benchmark.json").exists():
        return _load_pairs(folder)
    return load_benchmark(folder)


def _load_pairs(folder: Path) -> Benchmark:
    pairs = read_table(folder / PAIRS)
    require_columns(pairs, COLUMNS, folder / PAIRS)
    if not isinstance(pairs.schema["captions"], pl.List):
        raise BadInput("captions are not lists", where=str(folder / PAIRS), allowed="lists of text")
    images = read_table(folder / "images.parquet")
    require_columns(images, list(IMAGE_COLUMNS), folder / "images.parquet")
    known = [Image(*row) for row in images.select(list(IMAGE_COLUMNS)).iter_rows()]
    items = [_item(row) for row in pairs.select(COLUMNS).iter_rows(named=True)]
    card = Card("pairs", about="pairs of images of which people pick a caption", measures=())
    return make_benchmark(card, folder, items, known)


def _item(row: dict[str, Any]) -> Item:
    captions = tuple(row["captions"] or ())
    ids = ",".join(map(str, row["caption_ids"] or ()))
    return Item.imported(
        "pair",
        str(row["pair"]),
        images=(str(row["target"]), str(row["decoy"])),
        captions=captions,
        true=frozenset((0, j) for j in range(len(captions))),
        original=(0, 0),
        kind="pair",
        origin=Origin("tellapart build bison", source_id=str(row["pair"]), notes={"captions": ids}),
    )

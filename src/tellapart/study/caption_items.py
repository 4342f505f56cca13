"""Items of a study from systems' output: captions they wrote, or images they retrieved.

A captioner's results file yields one item per caption, to be rated; the output of `retrieve
--per-query` yields one item for each recall@1 error, with what was found instead of the right
answer. Whether such a caption is true is unknown: that is what people are asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.corpus.reader import name_of
from tellapart.errors import BadInput
from tellapart.files import TABLE_KINDS, read_table, suffix
from tellapart.items import Image, Item, Origin
from tellapart.measures.captions.systems import known_images, read_system
from tellapart.measures.retrieval_queries import COLUMNS, read_queries
from tellapart.study.questions.yes_no import UNKNOWN

KINDS = ("json", *TABLE_KINDS)


def is_caption_file(path: Path) -> bool:
    """Whether a source is a file of captions, not a benchmark or a folder with pairs."""
    return path.is_file() and suffix(path) in KINDS


def load_captions(path: Path, corpus: Corpus | None, limit: int | None, seed: int) -> Benchmark:
    """The items of a results file, or of a table of queries; `corpus` has the pictures.

    `limit` takes a random sample by seed.
    """
    table = suffix(path) != "json" and set(COLUMNS) <= set(read_table(path).columns)
    items = _errors(path) if table else _captions(path)
    if limit is not None:
        if limit < 1:
            raise BadInput(f"--limit {limit}", allowed="1 or more")
        kept = np.sort(seeds.rng(seed, "study", path.name).permutation(len(items))[:limit])
        items = [items[int(k)] for k in kept]
    if not items:
        raise BadInput(f"{path.name} has nothing to judge", where=str(path))
    about = "retrieval errors" if table else f"captions by {name_of(path)}"
    card = Card(name_of(path), about=about, measures=())
    if corpus is None:
        names = dict.fromkeys(image for item in items for image in item.images)
        return make_benchmark(card, path.parent, items, [Image(name, name) for name in names])
    items, images = _with_pictures(items, corpus)
    return make_benchmark(card, corpus.root, items, images)


def _captions(path: Path) -> list[Item]:
    return [
        caption_item(image, image, caption)
        for image, caption in read_system(path).captions.items()
        if caption.strip()
    ]


def _errors(path: Path) -> list[Item]:
    wrong = read_queries(path).filter(pl.col("rank") > 1)
    names = ("query", "found_image", "found_caption")
    return [
        _item("query", query, image, text) for query, image, text in wrong.select(names).iter_rows()
    ]


def caption_item(name: str, image: str, caption: str) -> Item:
    """A caption that a system wrote for an image, to be rated."""
    return _item("caption", name, image, caption)


def _item(source: str, name: str, image: str, caption: str) -> Item:
    return Item.imported(
        source, name, images=(image,), captions=(caption,), true=frozenset(), kind=source,
        origin=Origin("tellapart study create", source_id=name, notes=UNKNOWN),
    )  # fmt: skip


def _with_pictures(items: Sequence[Item], corpus: Corpus) -> tuple[list[Item], list[Image]]:
    """Items with the corpus's image ids; raises for unknown images."""
    known = known_images((item.images[0] for item in items), corpus)
    unknown = [item.images[0] for item in items if item.images[0] not in known]
    if unknown:
        raise BadInput(
            f"{len(unknown):,} of {len(items):,} images are not in {corpus.name}: {unknown[0]}",
            allowed="captions of the corpus's images, by id or by file name",
            todo="name the right corpus with --on",
        )
    renamed = [replace(item, images=(known[item.images[0]],)) for item in items]
    names = dict.fromkeys(item.images[0] for item in renamed)
    return renamed, [corpus.image(name) for name in names]

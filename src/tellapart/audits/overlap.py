"""Overlap: which images of a benchmark are also in another corpus or benchmark."""

from __future__ import annotations

import re
from pathlib import Path

from tellapart.audits.structure import EXAMPLES, Finding
from tellapart.benchmark.benchmark import Benchmark, load_benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.corpus.reading import read_corpus
from tellapart.errors import BadInput, UnknownName

COCO = re.compile(r"(?:COCO_)?(?:train|val|test)\d{4}_")


def plain_id(image_id: str) -> str:
    """An image's id without folder, ending, split name and leading zeros.

    COCO numbers its images through over all splits, so `COCO_val2014_000000000139.jpg`,
    `000000000139.jpg` and `139` are one image.

    >>> plain_id("val2014/COCO_val2014_000000000139.jpg"), plain_id("139"), plain_id("a/dog_01.png")
    ('139', '139', 'dog_01')
    """
    name = re.sub(r"\.(jpe?g|png|webp|gif|bmp|tiff?)$", "", image_id.rpartition("/")[2], flags=re.I)
    name = COCO.sub("", name)
    return (name.lstrip("0") or "0") if name.isdecimal() else name


def open_other(where: Path | str) -> Corpus | Benchmark:
    """A benchmark or a corpus at a path, whichever it is."""
    try:
        return load_benchmark(where)
    except (BadInput, UnknownName):
        return read_corpus(where)


def overlap(benchmark: Benchmark, other: Corpus | Benchmark) -> list[Finding]:
    """Shared images by id, and by sha256 where both sides know it."""
    rows = _images(other)
    ids = {plain_id(name) for name, _ in rows}
    hashes = {sha256 for _, sha256 in rows if sha256}
    own = _images(benchmark)
    same_id = [name for name, _ in own if plain_id(name) in ids]
    hashed = [(name, sha256) for name, sha256 in own if sha256] if hashes else []
    same_hash = [name for name, sha256 in hashed if sha256 in hashes]
    shared = {*same_id, *same_hash}
    touched = [item.id for item in benchmark.items if shared & set(item.images)]
    return [
        _finding("overlap by id", same_id, len(own), f"images have the id of one in {other.name}"),
        _finding(
            "overlap by sha256",
            same_hash,
            len(hashed),
            f"images have the sha256 of one in {other.name}"
            if hashed
            else f"the sha256 of images is not known here, or not in {other.name}",
        ),
        _finding(
            "overlap, items", touched, len(benchmark.items), f"items show an image of {other.name}"
        ),
    ]


def _finding(name: str, found: list[str], total: int, says: str) -> Finding:
    return Finding(name, len(found), total, says, tuple(found[:EXAMPLES]))


def _images(source: Corpus | Benchmark) -> list[tuple[str, str | None]]:
    if isinstance(source, Benchmark):
        return [(image.id, image.sha256) for image in source.images.values()]
    return list(source.images.select("id", "sha256").iter_rows())

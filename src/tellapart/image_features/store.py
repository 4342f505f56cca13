"""A feature store: for each image of a corpus, a vector of the whole and vectors of its regions.

A folder: `features.json` (the card), `index.parquet` (one row per image: its id, the hash of its
bytes, a perceptual hash, the position of its first region, the number of regions, their boxes),
`whole.f16` and `regions.f16` (rows of little-endian float16, memory-mapped). Images are looked up
by id, or by the hash of their bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tellapart import seeds
from tellapart.errors import BadInput
from tellapart.files import (
    can_be_written,
    read_json,
    read_table,
    require_columns,
    write_json,
    write_parquet,
)
from tellapart.types import Ints

SCHEMA = "tellapart-features-1"
CARD, INDEX, WHOLE, REGIONS = "features.json", "index.parquet", "whole.f16", "regions.f16"
HALF = np.dtype("<f2")
MOST = 1_000_000
"""What widths of vectors, and numbers of regions of an image, do not exceed."""
INDEX_COLUMNS: dict[str, Any] = {
    "image": pl.String,
    "sha256": pl.String,
    "look": pl.UInt64,
    "first": pl.Int64,
    "regions": pl.Int32,
    "boxes": pl.List(pl.Float32),
}

Halves = npt.NDArray[np.float16]


@dataclass(frozen=True, slots=True)
class FeatureSpace:
    """The meaning of vectors: two stores of one space can be used together.

    `layout` is the kind of regions: `cells 4x4`, `boxes`, or those of a file.
    """

    backbone: str
    weights: str
    preprocessing: str
    layout: str
    whole_width: int
    region_width: int
    most_regions: int

    @classmethod
    def of(cls, stored: Any) -> FeatureSpace:
        """A space as a card has it; raises KeyError or TypeError if it is none."""
        space = cls(**{f.name: stored[f.name] for f in fields(cls)})
        texts = (space.backbone, space.weights, space.preprocessing, space.layout)
        sizes = (space.whole_width, space.region_width, space.most_regions)
        if not all(isinstance(one, str) and can_be_written(one) for one in texts):
            raise TypeError("its backbone, weights, preprocessing and layout must be texts")
        if not all(type(one) is int and 0 <= one <= MOST for one in sizes):
            raise TypeError(f"its sizes must be whole numbers of at most {MOST:,}")
        return space

    @property
    def key(self) -> str:
        """The hash of all but the number of regions, which differs from corpus to corpus."""
        return seeds.digest("features", *list(asdict(self).values())[:-1])


@dataclass(frozen=True, slots=True)
class FeatureCard:
    """The metadata of a store."""

    corpus: str
    images: int
    regions: int
    space: FeatureSpace
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ImageArrays:
    """Features of some images: (n, d), (n, most regions, d), and the true number of regions.

    Rows of `regions` after an image's own are zero. `regions` is empty if not requested.
    """

    whole: Halves
    regions: Halves
    counts: Ints


@dataclass(frozen=True, eq=False)
class FeatureStore:
    """The features in a folder; its length is the number of images."""

    folder: Path
    card: FeatureCard
    index: pl.DataFrame

    @property
    def space(self) -> FeatureSpace:
        """The space of its vectors."""
        return self.card.space

    @cached_property
    def whole(self) -> Halves:
        """A row for each image."""
        return _mapped(self.folder / WHOLE, self.card.images, self.space.whole_width)

    @cached_property
    def regions(self) -> Halves:
        """A row for each region of each image, in order."""
        return _mapped(self.folder / REGIONS, self.card.regions, self.space.region_width)

    @cached_property
    def by_id(self) -> dict[str, int]:
        """The row of each image."""
        return {image: row for row, image in enumerate(self.index["image"].to_list())}

    @cached_property
    def by_content(self) -> dict[str, int]:
        """The row of a picture with these bytes, by sha256."""
        return {sha256: row for row, sha256 in enumerate(self.index["sha256"].to_list())}

    @cached_property
    def _places(self) -> tuple[Ints, Ints]:
        counts = self.index["regions"].cast(pl.Int64).to_numpy()
        return self.index["first"].to_numpy(), counts

    def take(self, rows: Sequence[int] | Ints, *, regions: bool = True) -> ImageArrays:
        """The features of some images, copied."""
        at = np.asarray(rows, np.int64)
        firsts, counts = (column[at] for column in self._places)
        whole = np.asarray(self.whole[at])
        if not regions:
            return ImageArrays(whole, np.empty((len(at), 0, 0), HALF), counts)
        most = self.space.most_regions
        if (counts == most).all():
            places = firsts[:, None] + np.arange(most)
            return ImageArrays(whole, np.asarray(self.regions[places]), counts)
        padded = np.zeros((len(at), most, self.space.region_width), HALF)
        for k, (first, count) in enumerate(zip(firsts.tolist(), counts.tolist(), strict=True)):
            padded[k, :count] = self.regions[first : first + count]
        return ImageArrays(whole, padded, counts)

    def __len__(self) -> int:
        return self.card.images

    def __str__(self) -> str:
        space = self.space
        return (
            f"{self.card.corpus}: {self.card.images:,} images by {space.backbone}, "
            f"{space.whole_width} numbers each; {self.card.regions:,} regions ({space.layout})"
        )

    def to_json(self) -> dict[str, Any]:
        """The card, for `--json`."""
        return {"features": str(self.folder), **asdict(self.card)}


def _mapped(path: Path, rows: int, width: int) -> Halves:
    if not rows:
        return np.empty((0, width), HALF)
    return np.memmap(path, HALF, "r", shape=(rows, width))


def write_store(folder: Path, card: FeatureCard, index: pl.DataFrame) -> None:
    """Write the card and the index into a folder that already has the rows."""
    write_parquet(folder / INDEX, index.select(list(INDEX_COLUMNS)))
    write_json(folder / CARD, {"schema": SCHEMA, **asdict(card), "skipped": list(card.skipped)})


MOST_ROWS = 1 << 62
"""More rows than any store has; below what 64 bits hold."""


def load_store(folder: Path | str) -> FeatureStore:
    """Open the features in a folder; file sizes are checked, not their contents."""
    folder = Path(folder)
    card = read_json(folder / CARD)
    if not isinstance(card, dict) or card.get("schema") != SCHEMA:
        raise _broken(folder / CARD, f'is not the card of features ("schema": "{SCHEMA}")')
    try:
        known = FeatureCard(
            card["corpus"], card["images"], card["regions"], FeatureSpace.of(card["space"]),
            tuple(map(str, card["skipped"])),
        )  # fmt: skip
    except (KeyError, TypeError):
        raise _broken(folder / CARD, "lacks a field, or has one of another type") from None
    if not isinstance(known.corpus, str):
        raise _broken(folder / CARD, "does not name its corpus")
    counts = (known.images, known.regions)
    if not all(type(one) is int and 0 <= one < MOST_ROWS for one in counts):
        raise _broken(folder / CARD, "does not count its images and regions")
    index = _index(folder / INDEX, known)
    space = known.space
    for name, rows, width in (
        (WHOLE, known.images, space.whole_width),
        (REGIONS, known.regions, space.region_width),
    ):
        path = folder / name
        size = path.stat().st_size if path.is_file() else -1
        if size != rows * width * HALF.itemsize:
            raise _broken(path, f"is incomplete: it should have {rows:,} rows of {width} numbers")
    return FeatureStore(folder, known, index)


def _index(path: Path, card: FeatureCard) -> pl.DataFrame:
    """The rows of a store, each with regions that it has."""
    index = read_table(path)
    require_columns(index, list(INDEX_COLUMNS), path)
    if index.height != card.images:
        raise _broken(path, f"has {index.height:,} rows for {card.images:,} images")
    types = {name: index.schema[name] for name in INDEX_COLUMNS}
    if types != INDEX_COLUMNS or index.select("image", "sha256").null_count().row(0) != (0, 0):
        raise _broken(path, "has columns of other types, or rows without an image")
    first, count = pl.col("first"), pl.col("regions").cast(pl.Int64)
    last = pl.lit(card.regions, pl.Int64) - count  # a sum could exceed what 64 bits hold
    held = (count >= 0) & (count <= card.space.most_regions) & (first >= 0) & (first <= last)
    if not index.select(held.fill_null(False).all()).item():
        raise _broken(path, "names regions that are not there")
    return index


def _broken(path: Path, what: str) -> BadInput:
    return BadInput(
        f"{path.name} {what}",
        where=str(path),
        allowed="a folder that tellapart features wrote",
        todo="compute the features again: tellapart features CORPUS OUT --backbone NAME",
    )

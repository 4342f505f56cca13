"""The plan: what a job asks, with every distinct image and text numbered before any is computed.

All cells of all benchmarks are in one sequence, in the order of the items. A cell has the numbers
of its image and its text; numbers follow the order of first use. Texts are stored as hashes and
rebuilt window by window, so that a plan of millions of cells stays small.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from tellapart.benchmark.benchmark import Benchmark
from tellapart.benchmark.table import ItemTable
from tellapart.errors import BadImage
from tellapart.pictures import Picture, crop_box, split_uri
from tellapart.questions import Ask
from tellapart.score.cells import NO_WAYS, CellTable, text_hash
from tellapart.score.feed import ahead
from tellapart.score.ways import OwnWay
from tellapart.store.rows import Keys
from tellapart.types import Ints, Ints32, Progress

READ_AHEAD = 64
"""How many pictures may be read ahead of hashing."""


@dataclass(frozen=True, slots=True)
class ScoreTask:
    """What is asked of one benchmark: some of its items, and some types of questions."""

    benchmark: Benchmark
    items: ItemTable
    asks: frozenset[Ask]


@dataclass(frozen=True, slots=True)
class DistinctImages:
    """The distinct images: one picture and key of each, and why some could not be read."""

    pictures: list[Picture]
    keys: Keys
    bad: dict[int, BadImage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScorePlan:
    """The cells of a job: the numbers of their images and texts.

    `tables` are the cells of each task, and `begins` says where each task's cells start; `first` is
    the first cell of each distinct text, and `text_keys` are the hashes of the texts.
    """

    tasks: tuple[ScoreTask, ...]
    tables: tuple[CellTable, ...]
    begins: Ints
    images: DistinctImages
    image: Ints32
    text: Ints32
    first: Ints
    text_keys: Keys

    def texts(self, wanted: Ints) -> list[str]:
        """The texts of some cells; faster if the cells of an item are adjacent."""
        owner = np.searchsorted(self.begins, wanted, side="right") - 1
        found = [""] * len(wanted)
        for task in np.unique(owner).tolist():
            places = np.flatnonzero(owner == task)
            texts = self.tables[task].texts(wanted[places] - self.begins[task])
            for place, text in zip(places.tolist(), texts, strict=True):
                found[place] = text
        return found


def make_plan(
    tasks: Sequence[ScoreTask],
    *,
    by_content: bool,
    progress: Progress,
    ways: frozenset[OwnWay] = NO_WAYS,
) -> ScorePlan:
    """Number all that is asked; pictures are read here if they are identified by their bytes.

    `ways` are the model's own procedures.
    """
    pictures, place_of_task = _locations(tasks)
    images, number = distinct_images(pictures, by_content=by_content, progress=progress)
    numbers = np.array(number, np.int64)
    tables = tuple(CellTable.of(task.items, task.asks, ways) for task in tasks)
    image, keys = [], []
    for table, places in zip(tables, place_of_task, strict=True):
        image.append(numbers[places[table.image_places()]])
        keys.append(table.text_keys())
    distinct, first, text = numbered(np.concatenate(keys))
    return ScorePlan(
        tuple(tasks),
        tables,
        np.concatenate([[0], np.cumsum([len(table) for table in tables])]).astype(np.int64),
        images,
        np.concatenate(image).astype(np.int32),
        text.astype(np.int32),
        first,
        distinct,
    )


def numbered(keys: Keys) -> tuple[Keys, Ints, Ints]:
    """Distinct keys in order of first use, the position of that use, and each key's number."""
    if not len(keys):
        return keys, np.empty(0, np.int64), np.empty(0, np.int64)
    order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: equal keys stay in order of use
    ordered = keys[order]
    new = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    firsts = order[new]
    by_use = np.argsort(firsts)
    rank = np.empty(len(firsts), np.int64)
    rank[by_use] = np.arange(len(firsts))
    number = np.empty(len(keys), np.int64)
    number[order] = rank[np.cumsum(new) - 1]
    return keys[firsts[by_use]], firsts[by_use], number


def pair_keys(images: Keys, texts: Keys) -> Keys:
    """The keys of pairs: hashes of the image's key and the text's key."""
    both = np.hstack([images.reshape(-1, 2), texts])
    hashed = (hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in both)
    return np.frombuffer(b"".join(hashed), np.uint64).reshape(-1, 2)


def content_hash(picture: Picture) -> bytes:
    """The key of an image: from the sha256 of its bytes, and its region if it is a part."""
    stored = picture.stored_sha256()
    box = crop_box(split_uri(picture.image.uri)[1])
    return text_hash(stored if box is None else f"{stored} {box}")


def _locations(tasks: Sequence[ScoreTask]) -> tuple[list[Picture], list[Ints]]:
    """The pictures at distinct locations, and which of them each task uses.

    The latter has an entry for each image of each item, in order.
    """
    pictures: list[Picture] = []
    known: dict[tuple[str, str, str], int] = {}
    used: list[Ints] = []
    for task in tasks:
        names = task.items.frame["images"].explode()
        distinct = names.unique(maintain_order=True)
        places = []
        for name in distinct:
            picture = task.benchmark.picture(name)
            path, fragment = split_uri(picture.image.uri)
            where = (name, os.path.normpath(f"{picture.root}/{path}"), fragment)
            places.append(known.setdefault(where, len(pictures)))
            if places[-1] == len(pictures):
                pictures.append(picture)
        used.append(names.replace_strict(distinct, places, return_dtype=pl.Int64).to_numpy())
    return pictures, used


def distinct_images(
    pictures: list[Picture], *, by_content: bool, progress: Progress
) -> tuple[DistinctImages, list[int]]:
    """The distinct images, and the number of the image at each location."""
    if by_content:
        keys, bad = hash_pictures(pictures, progress)
    else:
        roots = {root: root.absolute() for root in {p.root for p in pictures}}
        parts = (f"{p.id} {roots[p.root]}/{p.image.uri}" for p in pictures)
        keys, bad = b"".join(map(text_hash, parts)), {}
    distinct, first, number = numbered(np.frombuffer(keys, np.uint64).reshape(-1, 2))
    kept = [pictures[k] for k in first.tolist()]
    known = DistinctImages(
        _told_apart(kept) if by_content else kept,
        distinct,
        {int(number[k]): error for k, error in bad.items()},
    )
    return known, number.tolist()


def _told_apart(pictures: list[Picture]) -> list[Picture]:
    """The pictures with unique ids: two benchmarks may use one id for different images.

    A model may identify the pictures of a batch by their ids.
    """
    seen: set[str] = set()
    made = []
    for number, picture in enumerate(pictures):
        if picture.id in seen:
            image = replace(picture.image, id=f"{picture.id} (image {number} of the job)")
            picture = replace(picture, image=image)  # noqa: PLW2901
        seen.add(picture.id)
        made.append(picture)
    return made


def hash_pictures(
    pictures: Sequence[Picture], progress: Progress
) -> tuple[bytes, dict[int, BadImage]]:
    """The keys of pictures, concatenated, and the pictures that could not be read."""
    keys, bad = bytearray(), {}
    for k, made in enumerate(ahead(content_hash, pictures, READ_AHEAD)):
        if isinstance(made, BadImage):
            bad[k] = made
            keys += text_hash(f"unreadable {pictures[k].path} {pictures[k].image.uri}")
        elif isinstance(made, Exception):
            raise made
        else:
            keys += made
        if (k + 1) % 64 == 0 or k + 1 == len(pictures):
            progress("reading", k + 1, len(pictures))
    return bytes(keys), bad

"""The plan: what a job asks, with every distinct image and text numbered before any is computed.

All cells of all benchmarks stand in one row, in the order of the items. A cell knows the numbers of
its image and its text; numbers follow the order of first use. Texts are known by their hashes and
written out again window by window, so that a plan of millions of cells stays small.
"""

from __future__ import annotations

import hashlib
import os
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadImage
from tellapart.items import Item
from tellapart.pictures import Picture, crop_box, split_uri
from tellapart.questions import Ask
from tellapart.score.cells import CellText, cells
from tellapart.score.feed import ahead
from tellapart.store.rows import Keys
from tellapart.types import Ints

Progress = Callable[[int, int], None]
Ints32 = npt.NDArray[np.int32]

READ_AHEAD = 64
"""How many pictures may be read and not yet hashed."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked of one benchmark."""

    benchmark: Benchmark
    items: tuple[Item, ...]
    asks: frozenset[Ask]


@dataclass(frozen=True, slots=True)
class Images:
    """The distinct images: one picture of each, its key, and which could not be read, and why."""

    pictures: list[Picture]
    keys: Keys
    bad: dict[int, BadImage] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """The cells of a job: the numbers of their images and texts.

    `first` is the first cell of each distinct text, `begins` the first cell of each item (all
    tasks in one row, with one more at the end), `text_keys` the texts by their hashes.
    """

    tasks: tuple[Task, ...]
    images: Images
    image: Ints32
    text: Ints32
    first: Ints
    begins: Ints
    text_keys: Keys

    def cell_texts(self, wanted: Ints) -> list[CellText]:
        """Some cells written out; those of one item are best asked for together."""
        owners = np.searchsorted(self.begins, wanted, side="right") - 1
        made: dict[int, list[CellText]] = {}
        found = []
        for cell, owner in zip(wanted.tolist(), owners.tolist(), strict=True):
            if owner not in made:
                made = {owner: self.cells_of(owner)}  # one at a time: neighbours come together
            found.append(made[owner][cell - int(self.begins[owner])])
        return found

    def cells_of(self, owner: int) -> list[CellText]:
        """The cells of an item, by its place among the items of all tasks."""
        for task in self.tasks:
            if owner < len(task.items):
                return list(cells(task.items[owner], task.asks))
            owner -= len(task.items)
        raise IndexError(owner)


def make_plan(tasks: Sequence[Task], *, by_content: bool, progress: Progress) -> Plan:
    """Number all that is asked; pictures are read here if they are told apart by their bytes."""
    places, places_of_task = _locations(tasks)
    images, number = distinct_images(places, by_content=by_content, progress=progress)
    image, begins, hashes = array("i"), array("q", [0]), bytearray()
    for task, place in zip(tasks, places_of_task, strict=True):
        for item in task.items:
            numbers = [number[place[name]] for name in item.images]
            for cell in cells(item, task.asks):
                image.append(numbers[cell.image])
                hashes += text_hash(cell.text)
            begins.append(len(image))
    keys, first, text = numbered(np.frombuffer(bytes(hashes), np.uint64).reshape(-1, 2))
    return Plan(
        tuple(tasks),
        images,
        np.frombuffer(image, np.int32) if len(image) else np.empty(0, np.int32),
        text.astype(np.int32),
        first,
        np.frombuffer(begins, np.int64),
        keys,
    )


def numbered(keys: Keys) -> tuple[Keys, Ints, Ints]:
    """Distinct keys in the order of first use, where each is first used, and each one's number."""
    if not len(keys):
        return keys, np.empty(0, np.int64), np.empty(0, np.int64)
    order = np.lexsort((keys[:, 1], keys[:, 0]))  # stable: equal keys stay in the order of use
    ordered = keys[order]
    new = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
    firsts = order[new]
    by_use = np.argsort(firsts)
    rank = np.empty(len(firsts), np.int64)
    rank[by_use] = np.arange(len(firsts))
    number = np.empty(len(keys), np.int64)
    number[order] = rank[np.cumsum(new) - 1]
    return keys[firsts[by_use]], firsts[by_use], number


def text_hash(text: str) -> bytes:
    """The key of a text: 16 bytes that depend on the text alone."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def text_keys(texts: Sequence[str]) -> Keys:
    """The keys of some texts."""
    return np.frombuffer(b"".join(map(text_hash, texts)), np.uint64).reshape(-1, 2)


def pair_keys(images: Keys, texts: Keys) -> Keys:
    """The keys of pairs: hashes of the image's key and the text's."""
    both = np.hstack([images.reshape(-1, 2), texts])
    hashed = (hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in both)
    return np.frombuffer(b"".join(hashed), np.uint64).reshape(-1, 2)


def content_hash(picture: Picture) -> bytes:
    """The key of an image: from the sha256 of its bytes, and the part of it that is meant."""
    stored = picture.stored_sha256()
    box = crop_box(split_uri(picture.image.uri)[1])
    return text_hash(stored if box is None else f"{stored} {box}")


def _locations(tasks: Sequence[Task]) -> tuple[list[Picture], list[dict[str, int]]]:
    """The pictures that are stored at different places, and for each task which id means which."""
    pictures: list[Picture] = []
    known: dict[tuple[str, str, str], int] = {}
    places: list[dict[str, int]] = []
    for task in tasks:
        here: dict[str, int] = {}
        for item in task.items:
            for name in item.images:
                if name in here:
                    continue
                picture = task.benchmark.picture(name)
                path, fragment = split_uri(picture.image.uri)
                where = (name, os.path.normpath(picture.root / path), fragment)
                here[name] = known.setdefault(where, len(pictures))
                if here[name] == len(pictures):
                    pictures.append(picture)
        places.append(here)
    return pictures, places


def distinct_images(
    pictures: list[Picture], *, by_content: bool, progress: Progress
) -> tuple[Images, list[int]]:
    """The distinct images, and for each place the number of the image that is stored there."""
    if by_content:
        keys, bad = hash_pictures(pictures, progress)
    else:
        parts = (f"{p.id} {p.root.absolute() / p.image.uri}" for p in pictures)
        keys, bad = b"".join(map(text_hash, parts)), {}
    distinct, first, number = numbered(np.frombuffer(keys, np.uint64).reshape(-1, 2))
    kept = [pictures[k] for k in first.tolist()]
    known = Images(
        _told_apart(kept) if by_content else kept,
        distinct,
        {int(number[k]): error for k, error in bad.items()},
    )
    return known, number.tolist()


def _told_apart(pictures: list[Picture]) -> list[Picture]:
    """The pictures with an id each: two benchmarks may use one id for different images.

    A model may know the pictures of a batch by their ids.
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
    """The keys of pictures, one after another, and those that could not be read."""
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
            progress(k + 1, len(pictures))
    return bytes(keys), bad

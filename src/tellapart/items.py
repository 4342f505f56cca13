"""The nouns: an image, an item (a small grid of images and captions) and its truth.

Every test in the toolkit is an `Item`: some images, some captions, and which cells of the grid
are true. What is asked of a model is read off the grid (see `questions.py`); there is no other
item type.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self

from tellapart.errors import BadInput
from tellapart.seeds import digest

if TYPE_CHECKING:
    import numpy as np

Cell = tuple[int, int]
"""A place in the grid: (index of the image, index of the caption)."""

KINDS = (
    "replace-object",
    "replace-attribute",
    "replace-relation",
    "swap-object",
    "swap-attribute",
    "add-object",
    "add-attribute",
)
"""SugarCrepe's and BiVLC's kinds of near miss, in the one spelling used everywhere."""


@dataclass(frozen=True, slots=True)
class Image:
    """A reference to a picture; it is opened only when someone needs its pixels.

    `uri` is a path (relative to the folder of the corpus or benchmark), or a path to a Parquet
    file with `#column=NAME&row=N` behind it for bytes inside a table (and `&place=K` in a column of
    lists), or a path with `#crop=LEFT,TOP,WIDTH,HEIGHT` (pixels) behind it for a part of a picture,
    or with `#bytes=OFFSET,SIZE` for a member of an archive.
    """

    id: str
    uri: str
    sha256: str | None = None
    width: int | None = None
    height: int | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """A content word of a caption: caption[start:end]."""

    start: int
    end: int
    noun: bool


@dataclass(frozen=True, slots=True)
class Slot:
    """The foil word of one caption and what could stand in its place (FOIL's T2 and T3).

    The foil is captions[caption][start:end]; `words` are the caption's content words, among
    which T2 asks for the foil; `candidates` are the words among which T3 asks for `target`.
    Candidates are singular; `plural` says that they go into the slot in the plural.
    """

    caption: int
    start: int
    end: int
    target: str
    foil: str
    plural: bool = False
    words: tuple[Word, ...] = ()
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grid:
    """What an item shows and what of it is true: the ways to make one put options into an order.

    `original` is the true cell of the pair that was there before anything was edited, where there
    is such a pair. An order names, place by place, which option stands there: (1, 0) swaps two.
    Builders and importers draw it (see `drawn_order`), so that no place gives the truth away.
    """

    images: tuple[str, ...]
    captions: tuple[str, ...]
    true: frozenset[Cell]
    original: Cell | None = None
    slot: Slot | None = None

    @classmethod
    def image_choice(
        cls, images: Sequence[str], captions: Sequence[str], order: Sequence[int]
    ) -> Self:
        """Captions that are all true of the first of some images (BISON)."""
        place = order.index(0)
        true = frozenset((place, j) for j in range(len(captions)))
        return cls(tuple(images[k] for k in order), tuple(captions), true, (place, 0))

    @classmethod
    def caption_choice(
        cls,
        image: str,
        captions: Sequence[str],
        order: Sequence[int],
        *,
        right: int = 0,
        slot: Slot | None = None,
    ) -> Self:
        """An image, and captions of which one is true of it (MCIC, SugarCrepe, FOIL).

        `right`, and the caption that a slot names, count in the order given.
        """
        cell = (0, order.index(right))
        moved = slot and replace(slot, caption=order.index(slot.caption))
        return cls((image,), tuple(captions[k] for k in order), frozenset({cell}), cell, moved)

    @classmethod
    def square(
        cls,
        images: Sequence[str],
        captions: Sequence[str],
        image_order: Sequence[int],
        caption_order: Sequence[int],
        *,
        original: bool = True,
    ) -> Self:
        """Two images and two captions, each true of the image at its place (BiVLC, Winoground).

        `original` says that the first pair existed before the other was made from it.
        """
        cells = [(image_order.index(k), caption_order.index(k)) for k in (0, 1)]
        return cls(
            tuple(images[k] for k in image_order),
            tuple(captions[k] for k in caption_order),
            frozenset(cells),
            cells[0] if original else None,
        )


def drawn_order(rng: np.random.Generator) -> tuple[int, int]:
    """The order of two options by the toss of a coin."""
    return (0, 1) if int(rng.integers(2)) == 0 else (1, 0)


@dataclass(frozen=True, slots=True)
class Origin:
    """Who made an item, from what, with which seed; `notes` are the maker's own facts."""

    made_by: str
    source: str = ""
    source_id: str = ""
    seed: int | None = None
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Item:
    """One test: images (by id), captions, and the true cells of their grid.

    `original` is the true cell of the pair that was there before anything was edited, where
    there is such a pair. `group` is the cluster for statistics, set when a benchmark is made.
    """

    id: str
    images: tuple[str, ...]
    captions: tuple[str, ...]
    true: frozenset[Cell]
    kind: str
    origin: Origin
    original: Cell | None = None
    slot: Slot | None = None
    group: str = ""
    content: str = ""

    @classmethod
    def built(cls, maker: str, grid: Grid | None = None, **parts: Any) -> Self:
        """An item whose id comes from its content, for what the toolkit builds."""
        bare = cls(id="", **_shown(grid), **parts)
        content = content_of(bare)
        return replace(bare, id=f"{maker}-{content[:12]}", content=content)

    @classmethod
    def imported(cls, source: str, source_id: str, grid: Grid | None = None, **parts: Any) -> Self:
        """An item whose id is its source's own, for what comes from elsewhere."""
        bare = cls(id=f"{source}:{source_id}", **_shown(grid), **parts)
        return replace(bare, content=content_of(bare))


def _shown(grid: Grid | None) -> dict[str, Any]:
    return {f.name: getattr(grid, f.name) for f in fields(grid)} if grid else {}


def content_of(item: Item) -> str:
    """The hash of what is asked: the same grid in another order is the same content."""
    image_order = sorted(range(len(item.images)), key=lambda i: item.images[i])
    caption_order = sorted(range(len(item.captions)), key=lambda j: item.captions[j])
    cells = [[int((i, j) in item.true) for j in caption_order] for i in image_order]
    slot = item.slot
    asked = slot and [item.captions[slot.caption], slot.start, slot.end, slot.target]
    candidates = sorted(slot.candidates) if slot else []
    return digest(
        [item.images[i] for i in image_order],
        [item.captions[j] for j in caption_order],
        cells,
        asked,
        candidates,
    )


def check_item(item: Item) -> None:
    """Raise `BadInput` where an item cannot be asked: the rules that every benchmark keeps."""
    where = f"item {item.id}"
    if not item.images or not item.captions:
        raise BadInput(
            f"{where} has no {'images' if not item.images else 'captions'}",
            allowed="at least one image and one caption",
        )
    for position, caption in enumerate(item.captions):
        if not isinstance(caption, str):
            raise BadInput(
                f"caption {position} of {where} is {type(caption).__name__}, not text",
                allowed="text",
            )
        if not caption.strip():
            raise BadInput(f"caption {position} of {where} is empty", allowed="text")
    for i, j in sorted(item.true):
        if not (0 <= i < len(item.images) and 0 <= j < len(item.captions)):
            raise BadInput(
                f"the true cell ({i}, {j}) of {where} lies outside its grid",
                allowed=f"images 0-{len(item.images) - 1}, captions 0-{len(item.captions) - 1}",
            )
    if item.original is not None and item.original not in item.true:
        raise BadInput(f"the original pair {item.original} of {where} is not a true cell")
    if item.slot is not None:
        _check_slot(item, item.slot, where)


def _check_slot(item: Item, slot: Slot, where: str) -> None:
    if not 0 <= slot.caption < len(item.captions):
        raise BadInput(f"the slot of {where} names caption {slot.caption}, which is not there")
    caption = item.captions[slot.caption]
    stands = caption[slot.start : slot.end]
    if stands.lower() != slot.foil.lower():
        raise BadInput(
            f"the slot of {where} says that the foil is {slot.foil!r}, the caption has {stands!r}",
            where=caption,
        )
    if slot.candidates and slot.target not in slot.candidates:
        raise BadInput(
            f"the target {slot.target!r} of {where} is not among its candidates",
            allowed=", ".join(slot.candidates),
        )


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Do without Python's search for cycles while many small objects without any are made."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

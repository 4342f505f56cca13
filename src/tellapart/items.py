"""The basic objects: an image, an item (a small grid of images and captions) and its truth.

Every test in the toolkit is an `Item`: some images, some captions, and which cells of the grid
are true. The questions follow from the grid (see `questions.py`); there is no other item type.
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
"""A cell of the grid: (index of the image, index of the caption)."""

KINDS = (
    "replace-object",
    "replace-attribute",
    "replace-relation",
    "swap-object",
    "swap-attribute",
    "add-object",
    "add-attribute",
)
"""SugarCrepe's and BiVLC's kinds of near miss, in the spelling used everywhere."""


@dataclass(frozen=True, slots=True)
class Image:
    """A reference to a picture, which is opened only when its pixels are needed.

    `uri` is a path (relative to the folder of the corpus or benchmark), optionally followed by
    `#column=NAME&row=N` for bytes inside a Parquet table (and `&place=K` in a column of lists), by
    `#crop=LEFT,TOP,WIDTH,HEIGHT` (pixels) for part of a picture, or by `#bytes=OFFSET,SIZE` for a
    member of an archive.
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
    """The foil word of one caption and its possible replacements (FOIL's T2 and T3).

    The foil is captions[caption][start:end]; `words` are the caption's content words, from which T2
    asks for the foil; `candidates` are the words from which T3 asks for `target`. Candidates are
    singular; `plural` says that they are inserted in the plural.
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
    """What an item shows and which cells are true; its constructors put options into an order.

    `original` is the true cell of the pair that existed before anything was edited, if there is
    one. An order gives the option at each position: (1, 0) swaps two. Builders and importers draw
    it (see `drawn_order`), so that no position gives the truth away.
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
        """Captions that are all true of the first image (BISON)."""
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
        """An image, and captions one of which is true of it (MCIC, SugarCrepe, FOIL).

        `right` and the slot's caption are indices in the given order.
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
        """Two images and two captions, each true of the image with its index (BiVLC, Winoground).

        `original` means that the first pair existed before the other was derived from it.
        """
        cells = [(image_order.index(k), caption_order.index(k)) for k in (0, 1)]
        return cls(
            tuple(images[k] for k in image_order),
            tuple(captions[k] for k in caption_order),
            frozenset(cells),
            cells[0] if original else None,
        )


def drawn_order(rng: np.random.Generator) -> tuple[int, int]:
    """A random order of two options."""
    return (0, 1) if int(rng.integers(2)) == 0 else (1, 0)


@dataclass(frozen=True, slots=True)
class Origin:
    """Who made an item, from which source, with which seed; `notes` are the maker's own facts."""

    made_by: str
    source: str = ""
    source_id: str = ""
    seed: int | None = None
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Item:
    """One test: images (by id), captions, and the true cells of their grid.

    `original` is the true cell of the pair that existed before anything was edited, if there is
    one. `group` is the cluster for statistics, set when a benchmark is made.
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
        """An item built by the toolkit; its id is derived from its content."""
        bare = cls(id="", **_shown(grid), **parts)
        content = content_of(bare)
        return replace(bare, id=f"{maker}-{content[:12]}", content=content)

    @classmethod
    def imported(cls, source: str, source_id: str, grid: Grid | None = None, **parts: Any) -> Self:
        """An item from elsewhere; its id is the source's own."""
        bare = cls(id=f"{source}:{source_id}", **_shown(grid), **parts)
        return replace(bare, content=content_of(bare))


def _shown(grid: Grid | None) -> dict[str, Any]:
    return {f.name: getattr(grid, f.name) for f in fields(grid)} if grid else {}


def content_of(item: Item) -> str:
    """The hash of an item's content, independent of the order of its images and captions."""
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


def word_pair(item: Item) -> tuple[str, str] | None:
    """Target and foil as words, as noted by the maker: a caption may have "skateboards"."""
    if item.slot is None:
        return None
    return item.slot.target, item.origin.notes.get("foil", item.slot.foil).lower()


def check_item(item: Item) -> None:
    """Raise `BadInput` if an item is invalid; all benchmarks follow these rules."""
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
                f"the true cell ({i}, {j}) of {where} is outside its grid",
                allowed=f"images 0-{len(item.images) - 1}, captions 0-{len(item.captions) - 1}",
            )
    if item.original is not None and item.original not in item.true:
        raise BadInput(f"the original pair {item.original} of {where} is not a true cell")
    if item.slot is not None:
        _check_slot(item, item.slot, where)


def _check_slot(item: Item, slot: Slot, where: str) -> None:
    if not 0 <= slot.caption < len(item.captions):
        raise BadInput(f"the slot of {where} names caption {slot.caption}, which does not exist")
    caption = item.captions[slot.caption]
    stands = caption[slot.start : slot.end]
    if stands.lower() != slot.foil.lower():
        raise BadInput(
            f"the slot of {where} has the foil {slot.foil!r}, but the caption has {stands!r}",
            where=caption,
        )
    if slot.candidates and slot.target not in slot.candidates:
        raise BadInput(
            f"the target {slot.target!r} of {where} is not among its candidates",
            allowed=", ".join(slot.candidates),
        )


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Suspend Python's search for reference cycles while creating many objects without any."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()

"""The order of an item's options in its source, as recorded in the item's notes.

Importers shuffle options, because in most sources the position gives away the truth. The note
`source_order` says for each position which of the source's options is there: `1 0` for captions
of one image, `images 1 0, captions 0 1` if images were shuffled, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from tellapart.benchmark.table import ItemTable
from tellapart.items import Item

NOTE = "source_order"
Side = Literal["images", "captions"]


@dataclass(frozen=True, slots=True)
class SourceOrder:
    """For each position in an item, the position of that option in the source."""

    images: tuple[int, ...]
    captions: tuple[int, ...]

    def moved(self, side: Side) -> bool:
        """Whether any option of a side has another position than in the source."""
        order = getattr(self, side)
        return bool(order != tuple(range(len(order))))

    def here(self, side: Side, place: int) -> int:
        """The position in the item of the option at a position of the source."""
        order: tuple[int, ...] = getattr(self, side)
        return order.index(place)


def order_note(captions: Sequence[int], images: Sequence[int] = ()) -> dict[str, str]:
    """The note that records the order of an item's options.

    >>> order_note((1, 0)), order_note((0, 1), images=(1, 0))
    ({'source_order': '1 0'}, {'source_order': 'images 1 0, captions 0 1'})
    """
    text = " ".join(map(str, captions))
    return {NOTE: f"images {' '.join(map(str, images))}, captions {text}" if images else text}


def source_order(item: Item) -> SourceOrder:
    """The order of an item's options in its source; without the note it is unchanged."""
    sizes = {"images": len(item.images), "captions": len(item.captions)}
    found = {side: tuple(range(size)) for side, size in sizes.items()}
    note = item.origin.notes.get(NOTE, "")
    for side, places in re.findall(r"(images |captions |^)((?:\d+ ?)+)", note):
        order = tuple(map(int, places.split()))
        name = side.strip() or "captions"
        if sorted(order) == list(found[name]):
            found[name] = order
    return SourceOrder(found["images"], found["captions"])


def is_shuffled(items: ItemTable) -> bool:
    """Whether any item has its options in another order than its source."""
    noted = items.frame["origin"].struct.field("notes").str.contains(f'"{NOTE}"', literal=True)
    rows = items.where(pl.Series(noted)) if noted.any() else ()
    return any(o.moved("images") or o.moved("captions") for o in map(source_order, rows))

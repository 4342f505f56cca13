"""Structure: duplicates, near duplicates, sorted options, marks on one side only, no answers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tellapart.audits.cues import capital_first, edge_space, final_stop
from tellapart.audits.learned import caption_options
from tellapart.benchmark.benchmark import Benchmark
from tellapart.items import Item

EXAMPLES = 3
LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to know of the items: how many of how many, and a few of their ids."""

    name: str
    count: int
    of: int
    says: str
    examples: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self) | {"examples": list(self.examples)}


def structure(benchmark: Benchmark) -> list[Finding]:
    """All findings that need nothing but the items, in a fixed order."""
    items = benchmark.items
    return [
        _duplicates(items),
        _items_that("equal options", "two options of one item are the same", items, equal_options),
        _items_that(
            "same words",
            "a wrong caption has the words of a right one, in another order (letters only)",
            items,
            same_words,
        ),
        *_order(items),
        *_marks(items),
        _items_that(
            "no answer", "a question has no right option, or no wrong one", items, unanswerable
        ),
        _unverified(benchmark),
    ]


def _items_that(
    name: str, says: str, items: Iterable[Item], is_so: Callable[[Item], bool]
) -> Finding:
    every = list(items)
    found = [item.id for item in every if is_so(item)]
    return Finding(name, len(found), len(every), says, tuple(found[:EXAMPLES]))


def _duplicates(items: tuple[Item, ...]) -> Finding:
    seen: set[str] = set()
    found = []
    for item in items:
        if item.content in seen:
            found.append(item.id)
        seen.add(item.content)
    says = "the same is asked by an earlier item (equal content)"
    return Finding("duplicates", len(found), len(items), says, tuple(found[:EXAMPLES]))


def equal_options(item: Item) -> bool:
    """Whether two captions, or two images, are one and the same (white space aside)."""
    captions = {" ".join(caption.split()) for caption in item.captions}
    return len(captions) < len(item.captions) or len(set(item.images)) < len(item.images)


def bag_of_words(caption: str) -> tuple[str, ...]:
    """The words of a caption, letters only, lower case, in alphabetical order.

    >>> bag_of_words("On a bench, sitting!") == bag_of_words("sitting on a bench")
    True
    """
    return tuple(sorted(LETTERS.findall(caption.lower())))


def same_words(item: Item) -> bool:
    """Whether a right and a wrong caption have the same bag of words and are not the same."""
    bags = [bag_of_words(caption) for caption in item.captions]
    return any(
        bags[a] == bags[b] and item.captions[a] != item.captions[b]
        for a, b in caption_options(item)
    )


def _order(items: tuple[Item, ...]) -> Iterator[Finding]:
    """Are the captions stored in alphabetical order, and where does the right one stand?"""
    several = [item for item in items if len(item.captions) > 1]
    if several:
        found = [item.id for item in several if list(item.captions) == sorted(item.captions)]
        by_chance = sum(1 / math.factorial(len(item.captions)) for item in several)
        says = f"captions stand in alphabetical order (by chance: {by_chance:,.0f})"
        yield Finding("sorted options", len(found), len(several), says, tuple(found[:EXAMPLES]))
    for noun, places in (("caption", truth_places(items, 1)), ("image", truth_places(items, 0))):
        for place, times in sorted(places.items()):
            says = f"the right {noun} stands at place {place}"
            yield Finding(f"{noun} place {place}", times, places.total(), says)


def truth_places(items: Iterable[Item], side: int) -> Counter[int]:
    """Where the one right option stands, for items that show one image (side 1) or caption (0)."""
    places: Counter[int] = Counter()
    for item in items:
        shown, options = len(item.images), len(item.captions)
        if side == 0:
            shown, options = options, shown
        if shown == 1 and options > 1 and len(item.true) == 1:
            places[next(iter(item.true))[side]] += 1
    return places


MARKS: tuple[tuple[str, str, Callable[[str], float]], ...] = (
    ("final stop", "end with a full stop", final_stop),
    ("capital", "start with a capital", capital_first),
    ("white space", "have white space at their ends", edge_space),
)


def _marks(items: tuple[Item, ...]) -> Iterator[Finding]:
    """Pairs of a right (or original) and a wrong caption of which only one has a mark."""
    for name, says, has in MARKS:
        known: dict[str, bool] = {}
        ids: dict[bool, list[str]] = {True: [], False: []}
        total = 0
        for item in items:
            for right, wrong in caption_options(item):
                total += 1
                first, second = (
                    known.setdefault(text, bool(has(text)))
                    for text in (item.captions[right], item.captions[wrong])
                )
                if first != second:
                    ids[first].append(item.id)
        if not total:
            return
        for right_has in (False, True):
            who = "right captions" if right_has else "wrong captions"
            other = "wrong one does" if right_has else "right one does"
            found = ids[right_has]
            yield Finding(
                f"{name}, {'right' if right_has else 'wrong'} only",
                len(found),
                total,
                f"{who} {says} where the {other} not",
                tuple(found[:EXAMPLES]),
            )


def unanswerable(item: Item) -> bool:
    """Whether a choice among its captions, or its images, has no right or no wrong option."""
    by_image = [{j for i, j in item.true if i == k} for k in range(len(item.images))]
    by_caption = [{i for i, j in item.true if j == k} for k in range(len(item.captions))]
    captions, images = len(item.captions), len(item.images)
    return (
        (captions > 1 and any(len(right) in (0, captions) for right in by_image))
        or (captions > 1 < images and any(len(right) in (0, images) for right in by_caption))
        or (captions == 1 < images and len(by_caption[0]) in (0, images))
    )


def _unverified(benchmark: Benchmark) -> Finding:
    """Items that nobody checked, or that those who did would not confirm (notes: confirmed)."""
    total, by = len(benchmark.items), benchmark.card.verified
    if not by:
        return Finding("unverified", total, total, "nobody verified the items, says the card")
    found = [i.id for i in benchmark.items if i.origin.notes.get("confirmed") == "no"]
    says = "people who were asked did not confirm the item"
    return Finding("unverified", len(found), total, says, tuple(found[:EXAMPLES]))

"""The gallery: which items are shown, spread evenly and drawn with a fixed seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tellapart import seeds
from tellapart.items import Item
from tellapart.reports.cards import Card, make_cards
from tellapart.reports.options import Steps
from tellapart.reports.picks import State
from tellapart.reports.sheets import Sheet
from tellapart.reports.thumbnails import Album


@dataclass(frozen=True, slots=True)
class Gallery:
    """The cards, the pictures behind them, and how many items there are to choose from."""

    cards: tuple[Card, ...]
    pictures: tuple[str, ...]
    models: tuple[str, ...]
    available: int

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that occur, sorted."""
        return tuple(sorted({card.item.kind for card in self.cards}))

    @property
    def states(self) -> frozenset[State]:
        """The outcomes that occur."""
        return frozenset(State(code) for card in self.cards for code in card.codes)


def spread(total: int, sizes: Sequence[int]) -> list[int]:
    """`total` spread as evenly as the sizes allow; what is left over goes to the first.

    >>> spread(10, [2, 100, 100]), spread(9, [1, 1])
    ([2, 4, 4], [1, 1])
    """
    given = [0] * len(sizes)
    while total > 0 and (room := [k for k, size in enumerate(sizes) if given[k] < size]):
        share = max(1, total // len(room))
        for k in room[: total if total < len(room) else None]:
            more = min(share, sizes[k] - given[k])
            given[k] += more
            total -= more
    return given


def chosen_items(sheets: Sequence[Sheet], total: int) -> list[list[Item]]:
    """For each sheet the items to show, evenly over sheets and kinds, drawn with a fixed seed."""
    pools = [_pool(sheet) for sheet in sheets]
    shares = spread(total, [sum(map(len, pool.values())) for pool in pools])
    found = []
    for sheet, pool, share in zip(sheets, pools, shares, strict=True):
        kept: set[str] = set()
        parts = spread(share, [len(items) for items in pool.values()])
        for (kind, items), part in zip(pool.items(), parts, strict=True):
            rng = seeds.rng(0, "gallery", sheet.benchmark.sha256, kind)
            kept |= {items[int(k)].id for k in rng.choice(len(items), size=part, replace=False)}
        found.append([item for item in sheet.benchmark.items if item.id in kept])
    return found


def _pool(sheet: Sheet) -> dict[str, list[Item]]:
    entries = [*sheet.entries, sheet.text_only]
    covered = frozenset[str]().union(*(entry.run.covered for entry in entries))
    pool: dict[str, list[Item]] = {kind: [] for kind in sheet.kinds}
    for item in sheet.benchmark.items:
        if item.id in covered:
            pool[item.kind].append(item)
    return pool


def make_gallery(
    sheets: Sequence[Sheet], chosen: Sequence[Sequence[Item]], steps: Steps
) -> Gallery:
    """The cards of the chosen items; one step for each."""
    shown = [item for items in chosen for item in items]
    distinct = {
        (number, image) for number, items in enumerate(chosen) for i in items for image in i.images
    }
    models = tuple(dict.fromkeys(e.label for sheet in sheets for e in sheet.entries))
    per_item = 2_000 + sum(400 + len(model) for model in models)  # bytes of HTML, as seen
    album = Album(len(shown), len(distinct), per_item * len(shown))
    cards: list[Card] = []
    for number, (sheet, items) in enumerate(zip(sheets, chosen, strict=True)):
        for card in make_cards(sheet, number, items, models, album):
            cards.append(card)
            steps.step()
    available = sum(len(items) for sheet in sheets for items in _pool(sheet).values())
    return Gallery(tuple(cards), tuple(album.pictures), models, available)

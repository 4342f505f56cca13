"""From decoys to items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tellapart import seeds
from tellapart.items import Item, Origin
from tellapart.mine.captions import Captions, Ints
from tellapart.mine.mcic.guards import Guards
from tellapart.mine.mcic.score import Chosen

MADE_BY = "tellapart build mcic"


@dataclass(frozen=True, slots=True)
class Made:
    """What all items of a build have in common."""

    corpus: str
    seed: int
    guards: Guards
    notes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Asked:
    """An item with what it was made from.

    `row` is the target's row among the decoys that were chosen; `order[p]` says what stands at
    place p of the item: 0 for the target, k for decoy k - 1.
    """

    item: Item
    row: int
    order: tuple[int, ...]


def asked(captions: Captions, targets: Ints, chosen: Chosen, made: Made) -> Iterator[Asked]:
    """An item for each target that has all of its decoys, in the order of the corpus."""
    seen: dict[str, int] = {}
    whole = np.flatnonzero((chosen.captions >= 0).all(axis=1))
    for row in whole[np.argsort(targets[whole], kind="stable")].tolist():
        target = int(targets[row])
        texts = [captions.texts[k] for k in (target, *chosen.captions[row].tolist())]
        order = _order(texts, captions.ids[target], made)
        true = (0, order.index(0))
        item = Item.built(
            "mcic",
            images=(captions.images[captions.image_of[target]],),
            captions=tuple(texts[k] for k in order),
            true=frozenset({true}),
            original=true,
            kind="mcic",
            origin=Origin(MADE_BY, made.corpus, captions.ids[target], made.seed, made.notes),
        )
        times = seen[item.id] = seen.get(item.id, 0) + 1
        if times > 1:
            if made.guards.distinct:
                continue
            item = replace(item, id=f"{item.id}-{times}")
        yield Asked(item, row, tuple(order))


def _order(texts: list[str], caption: str, made: Made) -> list[int]:
    if made.guards.shuffle:
        rng = seeds.rng(made.seed, "mcic", "order", caption)
        return [int(k) for k in rng.permutation(len(texts))]
    return sorted(range(len(texts)), key=lambda k: (texts[k], k))

"""MCIC items: made from decoys, split by split, and the folder that they are written to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark, write_benchmark
from tellapart.benchmark.image_files import with_copies
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput
from tellapart.files import write_parquet, write_text
from tellapart.items import Grid, Item, Origin
from tellapart.mine.captions import MinedCaptions
from tellapart.mine.mcic.score import REASONS, ChosenDecoys, Guards
from tellapart.mine.mcic.tuning import Trial, draw_curves
from tellapart.mine.statistics import mcic_statistics
from tellapart.types import Ints32

MADE_BY = "tellapart build mcic"
DECOY_COLUMNS = {
    "item": pl.String, "place": pl.Int32, "caption": pl.String, "image": pl.String,
    "score": pl.Float64, "bleu": pl.Float64, "cosine": pl.Float64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class McicItem:
    """An item with what it was made from.

    `row` is the target's row among the chosen decoys; `order[p]` says what is at position p of the
    item: 0 for the target, k for decoy k - 1.
    """

    item: Item
    row: int
    order: list[int]


@dataclass(frozen=True, eq=False)
class McicSplit:
    """A split (or all, under an empty name): the source of its decoys, and its items.

    `corpus` and `seed` go into the items' origins; `limit` is the most items. Decoys were searched
    for `number` captions. `facts` are about the search and the guards.
    """

    name: str
    captions: MinedCaptions
    targets: Ints32
    chosen: ChosenDecoys
    guards: Guards
    corpus: str
    seed: int
    limit: int | None
    number: int
    facts: Mapping[str, Any]

    @cached_property
    def items(self) -> list[McicItem]:
        """An item for each target that has all of its decoys, in the order of the corpus."""
        return list(self._items())[: self.limit]

    def _items(self) -> Iterator[McicItem]:
        captions, notes = self.captions, {"split": self.name} if self.name else {}
        times: Counter[str] = Counter()
        rows = np.flatnonzero(self.chosen.complete)
        for row in rows[np.argsort(self.targets[rows], kind="stable")].tolist():
            target = int(self.targets[row])
            texts = [captions.texts[k] for k in (target, *self.chosen.captions[row].tolist())]
            if self.guards.shuffle:
                rng = seeds.rng(self.seed, "mcic", "order", captions.ids[target])
                order = rng.permutation(len(texts)).tolist()
            else:
                order = sorted(range(len(texts)), key=lambda k: (texts[k], k))
            image = captions.images[captions.image_of[target]]
            origin = Origin(MADE_BY, self.corpus, captions.ids[target], self.seed, notes)
            item = mcic_item(image, [texts[k] for k in order], order.index(0), origin)
            times[item.id] += 1
            if times[item.id] > 1:
                if self.guards.distinct:
                    continue
                item = replace(item, id=f"{item.id}-{times[item.id]}")
            yield McicItem(item, row, order)

    def for_card(self) -> dict[str, Any]:
        """Its statistics, with facts about the search and the guards."""
        rows = [one.row for one in self.items]
        statistics = mcic_statistics(self.captions, self.targets, self.chosen, rows, self.number)
        return {**statistics, **self.facts}

    def decoys(self) -> Iterator[tuple[Any, ...]]:
        """A row for each decoy, as in `DECOY_COLUMNS`."""
        captions, chosen = self.captions, self.chosen
        for one in self.items:
            columns = (values[one.row].tolist() for values in chosen[:4])
            for k, (caption, *numbers) in enumerate(zip(*columns, strict=True), 1):
                image = captions.images[captions.image_of[caption]]
                place = one.order.index(k)
                yield (one.item.id, place, captions.ids[caption], image, *numbers)

    def check_some(self, benchmark: str) -> None:
        """Raise if there is no item, with the reason."""
        if self.items:
            return
        refused = dict(zip(REASONS, self.chosen.refused.sum(axis=0).tolist(), strict=True))
        why = ", ".join(f"{number:,} {reason}" for reason, number in refused.items() if number)
        where = f" of the split {self.name}" if self.name else ""
        raise BadInput(
            f"{benchmark} has no items: no caption{where} has "
            f"{self.chosen.captions.shape[1]} decoys among its neighbours"
            + (f" (rejected: {why})" if why else ""),
            allowed="enough captions of other images that are similar but not the same",
            todo="give a larger corpus, or looser options (--neighbours, --max-bleu, --without)",
        )


def mcic_item(image: str, captions: Sequence[str], place: int, origin: Origin) -> Item:
    """An image and several captions, of which the one at this position is true."""
    order = range(len(captions))  # the caller has already drawn the position
    grid = Grid.caption_choice(image, captions, order, right=place)
    return Item.built("mcic", grid, kind="mcic", origin=origin)


def write_splits(
    splits: Sequence[McicSplit],
    card: Card,
    trials: Sequence[Trial],
    corpus: Corpus,
    folder: Path,
    *,
    copy_images: bool = False,
) -> None:
    """Write all items as one benchmark, and each split as another in a folder inside.

    The card gets the statistics of the splits. Copies of pictures are stored with the whole.
    """
    for split in splits:
        split.check_some(card.name)
    statistics = {split.name or "all": split.for_card() for split in splits}
    card = replace(card, made={**card.made, "statistics": statistics})
    items = [one.item for split in splits for one in split.items]
    images = (corpus.image(image_id) for image_id in corpus.images["id"])
    whole = make_benchmark(card, corpus.root, items, images)
    if copy_images:
        whole = with_copies(whole, folder)
    _write_one(splits, whole, folder)
    for split in splits:
        if split.name:
            own = {"split": split.name, "statistics": {split.name: statistics[split.name]}}
            named = replace(card, name=f"{card.name}-{split.name}", made={**card.made, **own})
            own_items = [one.item for one in split.items]
            part = make_benchmark(named, whole.root, own_items, whole.images.values())
            _write_one([split], part, folder / split.name)
    if trials:
        write_text(folder / "tuning.svg", draw_curves(trials))


def _write_one(splits: Sequence[McicSplit], benchmark: Benchmark, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    write_benchmark(benchmark, folder)
    rows = [row for split in splits for row in split.decoys()]
    write_parquet(folder / "decoys.parquet", pl.DataFrame(rows, schema=DECOY_COLUMNS, orient="row"))

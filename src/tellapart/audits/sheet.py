"""A sheet of cells: all that a guesser scores, as columns, so that a cue reads each text once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.items import Item
from tellapart.questions import Ask
from tellapart.score.cells import GRID_ASKS, cells
from tellapart.score.run import SCORE_COLUMNS, Run, RunCard, answers_frame
from tellapart.types import Bools, Floats, Ints

FOLDS = 5


@dataclass(frozen=True, eq=False)
class GuessSheet:
    """The cells of some items, in the engine's order.

    `item`, `image`, `caption` and `text` have one entry a cell; `item` counts within `items`,
    `text` within the distinct `texts`.
    """

    benchmark: Benchmark
    items: tuple[Item, ...]
    asks: frozenset[Ask]
    item: Ints
    image: Ints
    caption: Ints
    edit: tuple[str, ...]
    text: Ints
    texts: tuple[str, ...]

    @cached_property
    def fold(self) -> Ints:
        """The fold of each cell's group."""
        return folds([item.group for item in self.items])[self.item]

    @cached_property
    def unedited(self) -> Bools:
        """Which cells have their caption as the item has it."""
        return np.array([edit == "" for edit in self.edit], dtype=bool)

    @cached_property
    def begins(self) -> Ints:
        """Where the grid of each item begins."""
        return np.searchsorted(self.item, np.arange(len(self.items))).astype(np.int64)

    def cell(self, item: int, image: int, caption: int) -> int:
        """The place of a cell of the grid."""
        return int(self.begins[item]) + image * len(self.items[item].captions) + caption

    def by_text(self, cue: Callable[[str], float]) -> Floats:
        """A score for each cell from its text alone; each distinct text is looked at once."""
        return np.array([float(cue(text)) for text in self.texts])[self.text]

    def run(self, name: str, scores: Floats) -> Run:
        """The scores as a run in memory, which every measure can read."""
        card = RunCard(name, "scorer", self.benchmark.name, self.benchmark.sha256)
        frame = self._frame.with_columns(score=pl.Series(scores, dtype=pl.Float64))
        return Run(card, self.benchmark, frame.select(list(SCORE_COLUMNS)), answers_frame([]))

    def plain_run(self, name: str) -> Run:
        """A run that knows nothing: every cell has the same score."""
        return self.run(name, np.zeros(len(self.text)))

    @cached_property
    def _frame(self) -> pl.DataFrame:
        ids = pl.Series([item.id for item in self.items], dtype=pl.String)
        return pl.DataFrame(
            {
                "item": ids.gather(self.item),
                "image": pl.Series(self.image, dtype=pl.Int32),
                "caption": pl.Series(self.caption, dtype=pl.Int32),
                "edit": pl.Series(self.edit, dtype=pl.String),
            }
        )


def sheet_of(
    benchmark: Benchmark, asks: frozenset[Ask] = GRID_ASKS, items: Sequence[Item] | None = None
) -> GuessSheet:
    """All cells that the questions need, of all items or of those given."""
    kept = tuple(benchmark.items if items is None else items)
    places: dict[str, int] = {}
    rows = [
        (k, cell.image, cell.caption, cell.edit, places.setdefault(cell.text, len(places)))
        for k, item in enumerate(kept)
        for cell in cells(item, asks)
    ]
    columns: list[list[Any]] = [list(column) for column in zip(*rows, strict=True)] or [[]] * 5
    item, image, caption, text = (np.array(columns[k], dtype=np.int64) for k in (0, 1, 2, 4))
    edit, texts = tuple(columns[3]), tuple(places)
    return GuessSheet(benchmark, kept, asks, item, image, caption, edit, text, texts)


def folds(groups: Sequence[str]) -> Ints:
    """The fold of each group name: groups are spread over `FOLDS` folds at random, seeded."""
    names, codes = np.unique(np.array(groups, dtype=str), return_inverse=True)
    return (seeds.rng(0, "audit folds").permutation(len(names)) % FOLDS)[codes].astype(np.int64)

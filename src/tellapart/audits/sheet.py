"""A sheet of cells: all that a guesser scores, as columns, so each distinct text is read once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.benchmark.table import ItemTable
from tellapart.questions import Ask
from tellapart.score.cells import GRID_ASKS, CellTable
from tellapart.score.run import Run, RunCard, answers_frame
from tellapart.types import Bools, Floats, Ints

FOLDS = 5


@dataclass(frozen=True, eq=False)
class GuessSheet:
    """The cells of some items, in the engine's order.

    `text` is the index of each cell's text in the distinct `texts`.
    """

    benchmark: Benchmark
    cells: CellTable
    text: Ints
    texts: tuple[str, ...]

    @property
    def items(self) -> ItemTable:
        """The items of these cells."""
        return self.cells.items

    @cached_property
    def fold(self) -> Ints:
        """The fold of each cell's group."""
        return folds(self.items.frame["group"].to_list())[self.cells.item]

    @cached_property
    def unedited(self) -> Bools:
        """Which cells have their item's caption unchanged."""
        return (self.cells.edit == "").to_numpy()

    def by_text(self, cue: Callable[[str], float]) -> Floats:
        """A score for each cell from its text alone; each distinct text is read once."""
        return np.array([float(cue(text)) for text in self.texts])[self.text]

    def run(self, name: str, scores: Floats) -> Run:
        """The scores as a run in memory, which every measure can read."""
        card = RunCard(name, "scorer", self.benchmark.name, self.benchmark.sha256)
        frame = self._frame.with_columns(score=pl.Series(scores, dtype=pl.Float64))
        return Run(card, self.benchmark, frame, answers_frame([]))

    def plain_run(self, name: str) -> Run:
        """A constant run: every cell has the same score."""
        return self.run(name, np.zeros(len(self.text)))

    @cached_property
    def _frame(self) -> pl.DataFrame:
        return self.cells.frame()


def sheet_of(
    benchmark: Benchmark, asks: frozenset[Ask] = GRID_ASKS, items: ItemTable | None = None
) -> GuessSheet:
    """All cells that the questions need, for all items or for those given."""
    cells = CellTable.of(benchmark.items if items is None else items, asks)
    places: dict[str, int] = {}
    text = [places.setdefault(one, len(places)) for one in cells.texts(np.arange(len(cells)))]
    return GuessSheet(benchmark, cells, np.array(text, dtype=np.int64), tuple(places))


def folds(groups: Sequence[str]) -> Ints:
    """The fold of each group name: groups are spread over `FOLDS` folds at random, seeded."""
    names, codes = np.unique(np.array(groups, dtype=str), return_inverse=True)
    return (seeds.rng(0, "audit folds").permutation(len(names)) % FOLDS)[codes].astype(np.int64)

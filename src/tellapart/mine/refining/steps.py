"""The three steps of refining, and what becomes of each negative in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from tellapart.errors import BadInput, UnknownName
from tellapart.mine.refining.balancing import balanced, cells, folds_of
from tellapart.mine.refining.choosing import FAULTS, best, faults
from tellapart.mine.refining.scaling import SCALES, scaled
from tellapart.mine.refining.scored import Flags, Ints, Scored

KEPT, NOT_BEST, REFINED_AWAY = "kept", "not among the best", "refined away"
OUTCOMES = (KEPT, NOT_BEST, *FAULTS, REFINED_AWAY)
"""What becomes of a negative, in the order of the steps."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to refine: the share of each kind to choose, and the grid of gaps.

    `scale` says how scores come to lie between 0 and 1 (see `scaling.scaled`); groups (images) are
    held out in so many `folds`, and with one fold nothing is (see `balancing.balanced`).
    """

    keep: float = 0.35
    bins: int = 50
    scale: str = "rank"
    folds: int = 10
    seed: int = 0

    def check(self) -> None:
        """Raise where a number makes no sense."""
        if not 0 < self.keep <= 1:
            raise BadInput(f"a share of {self.keep:g} cannot be kept", allowed="above 0, at most 1")
        if self.bins < 2 or self.bins % 2:
            raise BadInput(
                f"{self.bins} bins cannot lie evenly around 0", allowed="2, 4, 6, ... bins"
            )
        if self.scale not in SCALES:
            raise UnknownName("scale", self.scale, SCALES)
        if self.folds < 1:
            raise BadInput(f"{self.folds} folds are none", allowed="1 or more")


@dataclass(frozen=True, eq=False)
class Refined:
    """What became of each row of `scores`, as a place in `OUTCOMES`, and which fold it was in."""

    scores: Scored
    recipe: Recipe
    outcome: npt.NDArray[np.int8]
    fold: Ints

    @property
    def chosen(self) -> Flags:
        """The rows that came to the last step."""
        return np.isin(self.outcome, [OUTCOMES.index(KEPT), OUTCOMES.index(REFINED_AWAY)])

    @property
    def kept(self) -> Flags:
        """The rows that are left in the end."""
        return np.asarray(self.outcome == OUTCOMES.index(KEPT))

    def table(self) -> pl.DataFrame:
        """All rows with what became of them, in the order of their ids."""
        names = np.array(OUTCOMES, object)
        return self.scores.table.with_columns(
            pl.Series("outcome", names[self.outcome], pl.String),
            pl.Series("fold", self.fold),
        )


def refined(scores: Scored, recipe: Recipe) -> Refined:
    """Choose the best of each kind, leave out what is malformed, make opposite gaps equal."""
    recipe.check()
    outcome = np.zeros(len(scores), np.int8)
    between = scaled(scores, recipe.scale)
    fold = folds_of(scores.group, recipe.folds, recipe.seed)
    outcome[~best(between, scores.kind, len(scores.kinds), recipe.keep)] = OUTCOMES.index(NOT_BEST)
    if scores.has_texts:
        _clean(scores, outcome)
    rows = np.flatnonzero(outcome == OUTCOMES.index(KEPT))
    gaps = between[:, rows, 0] - between[:, rows, 1]
    grid = cells(gaps, scores.kind[rows], len(scores.kinds), recipe.bins)
    kept = balanced(grid, fold[rows], recipe.seed)
    outcome[rows[~kept]] = OUTCOMES.index(REFINED_AWAY)
    return Refined(scores, recipe, outcome, fold)


def _clean(scores: Scored, outcome: npt.NDArray[np.int8]) -> None:
    """Note what is malformed among the rows that are still in."""
    rows = np.flatnonzero(outcome == OUTCOMES.index(KEPT))
    table = scores.table[rows]
    found = faults(table["caption"], table["negative_caption"])
    outcome[rows] = [OUTCOMES.index(fault or KEPT) for fault in found]

"""Adversarial refinement: as many negatives with a gap as with its opposite.

Hsieh et al. 2023, SugarCrepe: the gaps between original and negative by two text-only scores are
put on a grid, and of each cell and the cell opposite to it the same number is kept, so that
neither score tells which caption is the negative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart import seeds
from tellapart.mine.refining.scored import Flags, Floats, Ints

TICKS = 1 << 32
"""Parts that a chance of 1 is counted in: whole numbers add up without error."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The cell of each row and the one opposite to it; `count` is how many there can be.

    `side` are rows of one kind whose gaps have the same signs.
    """

    cell: Ints
    opposite: Ints
    side: Ints
    count: int


def cells(gaps: Floats, kind: Ints, kinds: int, bins: int) -> Cells:
    """The cells of gaps, shape (2, n), by kind: a grid of `bins` times `bins` from -1 to 1.

    A bin is closed on the side away from 0 and open on the other, and a gap of exactly 0 has a
    place of its own, so that the opposite of a gap always lies in the opposite cell. What lies
    outside goes into the outermost bins.
    """
    half = bins // 2
    steps = np.minimum(np.ceil(np.abs(gaps) * half), half).astype(np.int64)
    across, down = half + np.where(gaps < 0, -steps, steps)
    width = bins + 1
    own, last = across * width + down, width**2 - 1
    signs = np.sign(gaps).astype(np.int64) + 1
    return Cells(
        kind * width**2 + own,
        kind * width**2 + last - own,
        kind * 9 + signs[0] * 3 + signs[1],
        kinds * width**2,
    )


def balanced(grid: Cells, fold: Ints, seed: int) -> Flags:
    """Which rows to keep: of two opposite cells as many from one as from the other.

    With one fold cells are made equal exactly. With several the rows of a fold are held out: what
    becomes of them follows from the counts of the other folds. A row with n others in its cell and
    m in the opposite one is kept with probability min(n + 1, m) / (n + 1): as often as such rows
    are, were it among them. That leaves opposite cells equal in the mean, however few rows they
    have: if the other folds hold N rows of one cell and M of the other, each row there by chance,
    the n of a row left out is distributed as N - 1 weighted by N, so that what all rows of a cell
    keep is in proportion to E[N min(N, M) / N] = E[min(N, M)], the same on both sides.
    """
    draws = seeds.rng(seed, "refine", "draws").random(len(fold))
    folds = int(fold.max(initial=0)) + 1
    counts = np.bincount(fold * grid.count + grid.cell, minlength=folds * grid.count)
    counts = counts.reshape(folds, grid.count)
    total = counts.sum(axis=0)
    if folds == 1:
        return np.asarray(_place_in_cell(grid.cell, draws) < total[grid.opposite])
    here = (total - counts)[fold, grid.cell]
    there = (total - counts)[fold, grid.opposite]
    chance = np.where(grid.cell == grid.opposite, 1.0, np.minimum(here + 1, there) / (here + 1))
    return _drawn(chance, np.lexsort((draws, grid.side)), seed)


def _place_in_cell(cell: Ints, draws: Floats) -> Ints:
    """How many rows of a row's cell come before it in the order of their draws."""
    order = np.lexsort((draws, cell))
    ordered = cell[order]
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(cell) else order
    sizes = np.diff(np.r_[begins, len(cell)])
    places = np.empty(len(cell), np.int64)
    places[order] = np.arange(len(cell)) - np.repeat(begins, sizes)
    return places


def _drawn(chance: Floats, order: Ints, seed: int) -> Flags:
    """A systematic sample: each row with its own chance, neighbours in `order` seldom together.

    Rows are laid end to end, each as long as its chance, and those are kept on which a ruler with
    a step of 1 has a mark (Madow 1949). So rows that stand together are kept as often as their
    chances add up to, give or take one: luck does not add to what the counts say.
    """
    lengths = np.round(chance[order] * TICKS).astype(np.int64)
    ends = np.cumsum(lengths) + int(seeds.rng(seed, "refine", "start").integers(TICKS))
    kept = np.empty(len(chance), np.bool_)
    kept[order] = ends // TICKS > (ends - lengths) // TICKS
    return kept


def folds_of(group: Ints, folds: int, seed: int) -> Ints:
    """The fold of each row: groups stay whole, and folds have as many of them as can be."""
    groups = int(group.max(initial=-1)) + 1
    drawn = seeds.rng(seed, "refine", "folds").permutation(groups)
    return np.asarray((drawn % max(1, min(folds, groups)))[group])

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


@dataclass(frozen=True, slots=True)
class Cells:
    """The cell of each row and the one opposite to it; `count` is how many there can be."""

    cell: Ints
    opposite: Ints
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
    side = bins + 1
    own = across * side + down
    return Cells(kind * side**2 + own, kind * side**2 + (side**2 - 1 - own), kinds * side**2)


def balanced(grid: Cells, fitted: Flags, seed: int) -> Flags:
    """Which rows to keep: of two opposite cells as many from one as from the other.

    The cells of `fitted` rows are made equal exactly. A row of the held-out part is kept by
    chance, as often as such rows are in a fitted part that it had been added to: with n fitted rows
    in its cell and m in the opposite one with probability min(n + 1, m) / (n + 1). Nothing of the
    held-out part is counted, and yet opposite cells come out equal in the mean however few rows
    they have: if counts are Poisson with rate a, a E[f(n + 1)] = E[n f(n)], so that a cell is
    expected to keep a E[min(n + 1, m) / (n + 1)] = E[min(n, m)], which is the same on both sides.
    """
    draws = seeds.rng(seed, "refine", "draws").random(len(fitted))
    counts = np.bincount(grid.cell[fitted], minlength=grid.count)
    here, there = counts[grid.cell], counts[grid.opposite]
    chance = np.minimum(here + 1, there) / (here + 1)
    kept: Flags = (draws < chance) | (grid.cell == grid.opposite)
    kept[fitted] = _place_in_cell(grid.cell[fitted], draws[fitted]) < there[fitted]
    return kept


def _place_in_cell(cell: Ints, draws: Floats) -> Ints:
    """How many rows of a row's cell come before it in the order of their draws."""
    order = np.lexsort((draws, cell))
    ordered = cell[order]
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(cell) else order
    sizes = np.diff(np.r_[begins, len(cell)])
    places = np.empty(len(cell), np.int64)
    places[order] = np.arange(len(cell)) - np.repeat(begins, sizes)
    return places


def held_out(group: Ints, share: float, seed: int) -> Flags:
    """The rows of a random `share` of the groups, at least one where there are two or more."""
    groups = int(group.max()) + 1 if len(group) else 0
    number = min(max(round(share * groups), 1 if share else 0), groups - 1)
    out = np.zeros(groups, np.bool_)
    out[seeds.rng(seed, "refine", "held out").permutation(groups)[:number]] = True
    return np.asarray(out[group])

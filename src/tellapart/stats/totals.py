"""Scores that are not means, such as corpus BLEU: resampled and swapped through their totals.

A score is a function of features (one row per unit) summed over units. So resampling units, or
swapping two systems' outputs on some of them, needs only new sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart.stats.differences import (
    EXACT_CLUSTERS,
    coin_chunks,
    every_coin,
    weight_chunks,
)
from tellapart.stats.intervals import expanded_tail
from tellapart.types import Floats


def resampled_totals(features: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    """Sums over resampled units, shape (resamples, features); all columns share the units drawn.

    Units are drawn with replacement (Davison & Hinkley 1997, section 3.8). Columns of two systems
    that are resampled together give a paired bootstrap.
    """
    totals = np.empty((resamples, features.shape[1]))
    for rows, weights in weight_chunks(len(features), resamples, rng):
        totals[rows] = weights @ features
    return totals


def interval_of(drawn: Floats, units: int) -> tuple[float, float]:
    """The middle 95% of resampled scores, slightly more if units are few."""
    tail = expanded_tail(units)
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Swapped:
    """Sums of the units' gaps (first minus second) that stay with the first system.

    `exact` means that all swaps were enumerated; otherwise the requested number was drawn.
    """

    gaps: Floats
    exact: bool

    @classmethod
    def of(cls, gaps: Floats, rng: np.random.Generator, permutations: int) -> Swapped:
        """Swap two systems' outputs on random units: approximate randomization (Noreen 1989).

        For scores of texts see Riezler & Maxwell 2005. All swaps are enumerated if only a few
        units differ.
        """
        gaps = gaps[(np.abs(gaps) > 0).any(axis=1)]
        if len(gaps) <= EXACT_CLUSTERS:
            return cls(every_coin(len(gaps)).astype(float) @ gaps, True)
        sums = np.empty((permutations, gaps.shape[1]))
        for rows, kept in coin_chunks(len(gaps), permutations, rng):
            sums[rows] = kept @ gaps
        return cls(sums, False)

    def p(self, differences: Floats, seen: float) -> float:
        """Two-sided: the share of swaps whose difference is at least as large as the one seen.

        If swaps were drawn, p = (b + 1) / (m + 1), which is never 0 (Phipson & Smyth 2010).
        """
        beyond = int((np.abs(differences) >= abs(seen) - 1e-12).sum())
        if self.exact:
            return beyond / len(differences)
        return (beyond + 1) / (len(differences) + 1)

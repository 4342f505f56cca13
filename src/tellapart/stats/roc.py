"""The area under the ROC curve for clustered data, and the difference of two models' areas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # its submodules load on first use, which takes longer than most commands

from tellapart.stats.intervals import (
    Interval,
    effective_size,
    logit_interval,
    unchanging_interval,
    wilson,
)
from tellapart.types import Bools, Floats, Ints


def placements(first: Floats, second: Floats, tie: float) -> Floats:
    """For each value of `first`, the share of `second` that it exceeds; a tie counts `tie`."""
    ordered = np.sort(second)
    below = np.searchsorted(ordered, first, "left")
    not_above = np.searchsorted(ordered, first, "right")
    return np.asarray((below + tie * (not_above - below)) / len(second), dtype=float)


@dataclass(frozen=True, slots=True)
class Area:
    """An AUC and the contribution of each positive and negative; both have the AUC as mean.

    The variance of the contributions gives that of the AUC (Obuchowski 1997; DeLong et al. 1988).
    """

    value: float
    positive: Floats
    negative: Floats

    @classmethod
    def of(cls, positive: Floats, negative: Floats, tie: float | None) -> Area:
        """The area with ties counted as `tie`; None leaves out pairs that tie."""
        if tie is None:
            return cls._without_ties(positive, negative)
        over = placements(positive, negative, tie)
        under = 1 - placements(negative, positive, 1 - tie)
        return cls(float(over.mean()), over, under)

    @classmethod
    def _without_ties(cls, positive: Floats, negative: Floats) -> Area:
        """Each positive against the negatives that it does not tie with, if there are any."""
        own = untied_placements(positive, negative)
        kept = np.isfinite(own)
        if not kept.any():
            return cls(0.0, np.zeros(len(positive)), np.zeros(len(negative)))
        value = float(own[kept].mean())
        over = np.full(len(own), value)
        over[kept] += (own[kept] - value) * len(own) / kept.sum()
        # The effect of adding or removing one negative (the derivative of each positive's share).
        scores, own = positive[kept], own[kept]
        untied = 1 - placements(scores, negative, 1.0) + placements(scores, negative, 0.0)
        order = np.argsort(scores, kind="stable")
        won = np.append(0.0, np.cumsum(((1 - own) / untied)[order]))
        lost = np.append(0.0, np.cumsum((own / untied)[order]))
        above = np.searchsorted(scores[order], negative, "right")
        below = np.searchsorted(scores[order], negative, "left")
        under = value + (won[-1] - won[above] - lost[below]) / len(scores)
        return cls(value, over, under)


def untied_placements(first: Floats, second: Floats) -> Floats:
    """For each value of `first`, the share of `second` that it exceeds among those it differs from.

    NaN if it ties with all.
    """
    below, not_above = placements(first, second, 0.0), placements(first, second, 1.0)
    differ = 1 - not_above + below
    shares = np.full(len(first), np.nan)
    np.divide(below, differ, out=shares, where=differ > 1e-12)
    return shares


def auc(
    positive: Floats,
    negative: Floats,
    positive_clusters: Ints,
    negative_clusters: Ints,
    tie: float | None = 0.5,
) -> tuple[float, Interval]:
    """The AUC and its interval (Obuchowski 1997, Nonparametric analysis of clustered ROC data).

    The AUC is the chance that a positive's score exceeds a negative's. The interval is Student's t
    on the logit scale; at 0 and 1 it is Wilson's with clusters as units.
    """
    found = Area.of(positive, negative, tie)
    area, over, under = found.value, found.positive, found.negative
    names, where = np.unique(
        np.concatenate([positive_clusters, negative_clusters]), return_inverse=True
    )
    k = len(names)
    if area in (0.0, 1.0) or k < 2:
        counts = np.bincount(where)
        return area, Interval(*wilson(area, effective_size(counts)), "Wilson, clusters as units")
    x = _centred(over, where[: len(over)], area, k)
    y = _centred(under, where[len(over) :], area, k)
    m, n = len(over), len(under)
    variance = (_spread(x, x, k) / m**2 + _spread(y, y, k) / n**2) + 2 * _spread(x, y, k) / (m * n)
    low, high = logit_interval(area, float(np.sqrt(max(variance, 0.0))), k - 1)
    return area, Interval(low, high, "Obuchowski 1997, t on the logit scale")


def _centred(values: Floats, where: npt.NDArray[np.intp], centre: float, k: int) -> Floats:
    return np.bincount(where, values - centre, k).astype(float)


def _spread(x: Floats, y: Floats, k: int) -> float:
    return float(k / (k - 1) * (x * y).sum())


@dataclass(frozen=True, slots=True)
class AucDifference:
    """Two areas under the ROC curve on the same cells, and their difference's standard error.

    `size` is the effective number of clusters, used if the error is 0 because both areas are 0 or 1
    in every cluster; `freedom` is one less than the number of clusters.
    """

    first: float
    second: float
    error: float
    size: float
    freedom: int

    @property
    def difference(self) -> float:
        """First minus second."""
        return self.first - self.second

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Student's t, clipped to -1 and 1; if the error is 0, as when nothing varies."""
        if self.error == 0:
            return unchanging_interval(self.difference, self.size, level)
        step = float(scipy.special.stdtrit(self.freedom, (1 + level) / 2)) * self.error
        return max(-1.0, self.difference - step), min(1.0, self.difference + step)

    @property
    def p(self) -> float:
        """Two-sided, Student's t; if the error is 0, the chance of `size` equal coin flips."""
        if self.error == 0:
            return 1.0 if self.difference == 0 else float(min(1.0, 2 * 0.5**self.size))
        return float(2 * scipy.special.stdtr(self.freedom, -abs(self.difference) / self.error))


def auc_difference(
    first: Floats,
    second: Floats,
    true: Bools,
    clusters: Ints,
    tie: float | None = 0.5,
    other_tie: float | None = None,
) -> AucDifference:
    """Two models' AUC on the same cells (Obuchowski 1997; DeLong et al. 1988 if all are clusters).

    Each cell's share of the difference of the areas is summed over its cluster; these sums are
    independent, and their variance gives that of the difference. `other_tie` is the value of a tie
    of the second model, if it differs.
    """
    area, one = _shares(first, true, tie)
    other_area, other = _shares(second, true, tie if other_tie is None else other_tie)
    codes = np.unique(clusters, return_inverse=True)[1]
    sums = np.bincount(codes, one - other)
    k, size = len(sums), effective_size(np.bincount(codes))
    variance = k / (k - 1) * float((sums**2).sum()) if k > 1 else 1.0
    error = float(np.sqrt(variance))
    error = error if error > 1e-12 else 0.0
    return AucDifference(area, other_area, error, size, max(k - 1, 1))


def _shares(score: Floats, true: Bools, tie: float | None) -> tuple[float, Floats]:
    area = Area.of(score[true], score[~true], tie)
    shares = np.empty(len(score))
    shares[true] = (area.positive - area.value) / true.sum()
    shares[~true] = (area.negative - area.value) / (~true).sum()
    return area.value, shares

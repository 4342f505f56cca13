"""The area under the ROC curve for clustered data, and what two models' areas differ by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from tellapart.stats.intervals import Interval, effective_size, unchanging_interval, wilson
from tellapart.types import Bools, Floats, Ints


def placements(first: Floats, second: Floats, tie: float) -> Floats:
    """For each value of `first`, the share of `second` that it exceeds; a tie counts `tie`."""
    ordered = np.sort(second)
    below = np.searchsorted(ordered, first, "left")
    not_above = np.searchsorted(ordered, first, "right")
    return np.asarray((below + tie * (not_above - below)) / len(second), dtype=float)


def auc(
    positive: Floats,
    negative: Floats,
    positive_clusters: Ints,
    negative_clusters: Ints,
    tie: float = 0.5,
) -> tuple[float, Interval]:
    """The AUC and its interval (Obuchowski 1997, Nonparametric analysis of clustered ROC data).

    The AUC is the chance that a positive's score exceeds a negative's. The interval is normal on
    the logit scale; at 0 and 1 it is Wilson's with clusters as units.
    """
    over = placements(positive, negative, tie)
    under = 1 - placements(negative, positive, 1 - tie)
    area = float(over.mean())
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
    logit = np.log(area / (1 - area))
    step = float(ndtri(0.975)) * np.sqrt(max(variance, 0.0)) / (area * (1 - area))
    low, high = 1 / (1 + np.exp(-(logit - step))), 1 / (1 + np.exp(-(logit + step)))
    return area, Interval(float(low), float(high), "Obuchowski 1997, logit scale")


def _centred(values: Floats, where: npt.NDArray[np.intp], centre: float, k: int) -> Floats:
    return np.bincount(where, values - centre, k).astype(float)


def _spread(x: Floats, y: Floats, k: int) -> float:
    return float(k / (k - 1) * (x * y).sum())


@dataclass(frozen=True, slots=True)
class AucDifference:
    """Two areas under the ROC curve on the same cells, and their difference's standard error.

    `size` is the effective number of clusters, which counts where the error is 0 because both
    areas are 0 or 1 in every cluster.
    """

    first: float
    second: float
    error: float
    size: float

    @property
    def difference(self) -> float:
        """First minus second."""
        return self.first - self.second

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Normal, within -1 and 1; without an error as where nothing varies."""
        if self.error == 0:
            return unchanging_interval(self.difference, self.size, level)
        step = float(ndtri((1 + level) / 2)) * self.error
        return max(-1.0, self.difference - step), min(1.0, self.difference + step)

    @property
    def p(self) -> float:
        """Two-sided, normal; without an error that of as many coins that fall alike."""
        if self.error == 0:
            return 1.0 if self.difference == 0 else float(min(1.0, 2 * 0.5**self.size))
        return float(2 * ndtr(-abs(self.difference) / self.error))


def auc_difference(
    first: Floats, second: Floats, true: Bools, clusters: Ints, tie: float = 0.5
) -> AucDifference:
    """Two models' AUC on the same cells (Obuchowski 1997; DeLong et al. 1988 if all are clusters).

    Each cell's share in the difference of the areas is summed over its cluster; these sums are
    independent and their spread is that of the difference.
    """
    areas_and_shares = [_shares(score, true, tie) for score in (first, second)]
    (area, one), (other_area, other) = areas_and_shares
    codes = np.unique(clusters, return_inverse=True)[1]
    sums = np.bincount(codes, one - other)
    k, size = len(sums), effective_size(np.bincount(codes))
    variance = k / (k - 1) * float((sums**2).sum()) if k > 1 else 1.0
    error = float(np.sqrt(variance))
    return AucDifference(area, other_area, error if error > 1e-12 else 0.0, size)


def _shares(score: Floats, true: Bools, tie: float) -> tuple[float, Floats]:
    over = placements(score[true], score[~true], tie)
    under = 1 - placements(score[~true], score[true], 1 - tie)
    area = float(over.mean())
    shares = np.empty(len(score))
    shares[true] = (over - area) / len(over)
    shares[~true] = (under - area) / len(under)
    return area, shares

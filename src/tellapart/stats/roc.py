"""The area under the ROC curve for clustered data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from tellapart.stats.intervals import Floats, Interval, Ints, effective_size, wilson


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
    step = float(norm.ppf(0.975)) * np.sqrt(max(variance, 0.0)) / (area * (1 - area))
    low, high = 1 / (1 + np.exp(-(logit - step))), 1 / (1 + np.exp(-(logit + step)))
    return area, Interval(float(low), float(high), "Obuchowski 1997, logit scale")


def _centred(values: Floats, where: npt.NDArray[np.intp], centre: float, k: int) -> Floats:
    return np.bincount(where, values - centre, k).astype(float)


def _spread(x: Floats, y: Floats, k: int) -> float:
    return float(k / (k - 1) * (x * y).sum())

"""Paired differences over clusters: a bootstrap for the interval, sign flips for the test.

All functions take many pairs of models at once, as columns, so that one set of random numbers
serves them all. A difference is the first model's value minus the second's on the same unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr
from scipy.stats import norm, t

from tellapart.stats.intervals import Floats, Ints, effective_size, wilson
from tellapart.stats.roc import placements

EXACT_CLUSTERS = 14
"""Up to this many clusters that differ, all sign flips are gone through."""
_CHUNK = 4_000_000
"""Random numbers held at once: the memory needed does not grow with the resamples."""


def weight_chunks(
    clusters: int, resamples: int, rng: np.random.Generator
) -> Iterator[tuple[slice, Floats]]:
    """How often each cluster is drawn in each resample, some resamples at a time.

    Whole clusters are drawn with replacement, as many as there are (Davison & Hinkley 1997,
    section 3.8). Weights have the shape (resamples of the chunk, clusters).
    """
    step = max(1, _CHUNK // clusters)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        drawn = rng.integers(clusters, size=(size, clusters), dtype=np.int64)
        drawn += np.arange(size)[:, None] * clusters
        weights = np.bincount(drawn.ravel(), minlength=size * clusters)
        yield slice(start, start + size), weights.reshape(size, clusters).astype(float)


def mean_differences(sums: Floats, counts: Floats) -> Floats:
    """The mean over strata of each stratum's mean difference; strata are the last axis but one."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts
    return np.asarray(means[..., 0, :] if means.shape[-2] == 1 else np.nanmean(means, axis=-2))


def paired_intervals(
    sums: Floats,
    counts: Floats,
    rng: np.random.Generator,
    resamples: int,
    level: float = 0.95,
) -> Floats:
    """Intervals of mean differences, shape (pairs, 2), by a paired bootstrap over clusters.

    `sums` and `counts` hold the differences' sums and the units' numbers, shape (clusters, strata,
    pairs). Percentiles are taken a little further out than `level` says, which makes good for few
    clusters ("expanded percentile", Hesterberg 2015, What Teachers Should Know About the
    Bootstrap). Where nothing varies between clusters see `_from_wilson`.
    """
    clusters, strata, pairs = sums.shape
    still = _nothing_varies(sums, counts)
    found = np.empty((pairs, 2))
    for pair in np.flatnonzero(still):
        found[pair] = _still(sums[..., pair], counts[..., pair], level)
    moving = np.flatnonzero(~still)
    if len(moving):
        both = np.concatenate([sums[..., moving], counts[..., moving]], axis=2)
        table = both.reshape(clusters, -1)
        drawn = np.empty((resamples, len(moving)))
        for rows, weights in weight_chunks(clusters, resamples, rng):
            totals = (weights @ table).reshape(-1, strata, 2 * len(moving))
            drawn[rows] = mean_differences(totals[..., : len(moving)], totals[..., len(moving) :])
        tail = expanded_tail(clusters, level)
        found[moving] = np.nanquantile(drawn, [tail, 1 - tail], axis=0).T
    return found


def expanded_tail(clusters: int, level: float = 0.95) -> float:
    """The share to cut off on each side (Hesterberg 2015): 0.025 with many clusters, less with few.

    >>> round(expanded_tail(10**6), 4), round(expanded_tail(20), 4)
    (0.025, 0.0159)
    """
    stretch = np.sqrt(clusters / (clusters - 1))
    return float(norm.cdf(stretch * t.ppf((1 - level) / 2, clusters - 1)))


def _nothing_varies(sums: Floats, counts: Floats) -> npt.NDArray[np.bool_]:
    """Pairs whose difference is the same in every cluster, or that have only one cluster."""
    if len(sums) < 2:
        return np.ones(sums.shape[2], dtype=bool)
    means = sums.sum(axis=0) / counts.sum(axis=0)
    return np.asarray((np.abs(sums - means * counts) < 1e-9).all(axis=(0, 1)))


def _still(sums: Floats, counts: Floats, level: float) -> tuple[float, float]:
    """The interval where a bootstrap has nothing to resample."""
    totals = sums.sum(axis=0)[:, None], counts.sum(axis=0)[:, None]
    difference = float(mean_differences(*totals)[0])
    return _from_wilson(difference, effective_size(counts.sum(axis=1)), level)


def _from_wilson(difference: float, size: float, level: float) -> tuple[float, float]:
    """The interval of a difference that was the same in `size` clusters out of `size`.

    At least a share w of all clusters (Wilson's lower bound) is taken to be like those seen; the
    rest may lie anywhere between -1 and 1.
    """
    share, _ = wilson(1.0, size, level)
    low, high = share * difference - (1 - share), share * difference + (1 - share)
    return max(-1.0, low), min(1.0, high)


def sign_flip_p(sums: Floats, rng: np.random.Generator, permutations: int) -> Floats:
    """Two-sided p-values of the sign-flip test over clusters, one a pair.

    If two models are alike, swapping their answers on a whole cluster changes nothing, so the
    sign of each cluster's sum of differences is a coin's (Fisher 1935, section 21; whole clusters:
    Winkler et al. 2015). `sums` has the shape (clusters, pairs). All flips are gone through where
    few clusters differ; else flips are drawn, and p = (b + 1) / (m + 1), which is never 0 (Phipson
    & Smyth 2010).
    """
    differ = np.abs(sums) > 1e-9
    p = np.ones(sums.shape[1])
    few = differ.sum(axis=0) <= EXACT_CLUSTERS
    for pair in np.flatnonzero(few):
        p[pair] = _exact_p(sums[differ[:, pair], pair])
    many = np.flatnonzero(~few)
    if len(many):
        some = differ[:, many].any(axis=1)
        p[many] = _drawn_p(sums[np.ix_(some, many)], rng, permutations)
    return p


def _exact_p(sums: Floats) -> float:
    flips = np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums)) & 1
    totals = np.abs((1 - 2 * flips) @ sums)
    return float(np.mean(totals >= abs(sums.sum()) - _rounding(sums)))


def _drawn_p(sums: Floats, rng: np.random.Generator, permutations: int) -> Floats:
    clusters, pairs = sums.shape
    total = sums.sum(axis=0)
    reached = np.abs(total) - _rounding(sums)
    beyond = np.zeros(pairs)
    step = max(1, _CHUNK // clusters)
    for start in range(0, permutations, step):
        size = min(step, permutations - start)
        octets = rng.integers(256, size=(size, (clusters + 7) // 8), dtype=np.uint8)
        kept = np.unpackbits(octets, axis=1, count=clusters).astype(float)
        beyond += (np.abs(2 * (kept @ sums) - total) >= reached).sum(axis=0)
    return np.asarray((beyond + 1) / (permutations + 1))


def _rounding(sums: Floats) -> Floats:
    """Totals that differ by less are equal: halves and sixths do not add up exactly."""
    return np.asarray(1e-9 * (1 + np.abs(sums).sum(axis=0)))


def mcnemar_p(won: npt.NDArray[np.int_], lost: npt.NDArray[np.int_]) -> Floats:
    """McNemar's exact test (McNemar 1947): a binomial test of the units that differ.

    It takes units for independent, which items that share images are not: it is the naive test,
    shown beside `sign_flip_p`. For values between 0 and 1 it is the sign test.
    """
    return np.asarray(np.minimum(1.0, 2 * bdtr(np.minimum(won, lost), won + lost, 0.5)))


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
        """Normal, within -1 and 1; without an error as in `paired_intervals`."""
        if self.error == 0:
            return _from_wilson(self.difference, self.size, level)
        step = float(norm.ppf((1 + level) / 2)) * self.error
        return max(-1.0, self.difference - step), min(1.0, self.difference + step)

    @property
    def p(self) -> float:
        """Two-sided, normal; without an error that of as many coins that fall alike."""
        if self.error == 0:
            return 1.0 if self.difference == 0 else float(min(1.0, 2 * 0.5**self.size))
        return float(2 * norm.sf(abs(self.difference) / self.error))


def auc_difference(
    first: Floats, second: Floats, true: npt.NDArray[np.bool_], clusters: Ints, tie: float = 0.5
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


def _shares(score: Floats, true: npt.NDArray[np.bool_], tie: float) -> tuple[float, Floats]:
    over = placements(score[true], score[~true], tie)
    under = 1 - placements(score[~true], score[true], 1 - tie)
    area = float(over.mean())
    shares = np.empty(len(score))
    shares[true] = (over - area) / len(over)
    shares[~true] = (under - area) / len(under)
    return area, shares

"""Paired differences over clusters: a bootstrap for the interval, sign flips for the test.

All functions take many pairs of models together, as columns, so that one set of random numbers
serves them all. A difference is the first model's value minus the second's on the same unit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import scipy  # its submodules load on first use, which takes longer than most commands

from tellapart.stats.intervals import effective_size, expanded_tail, unchanging_interval
from tellapart.types import Bools, Floats, Ints

EXACT_CLUSTERS = 14
"""With up to this many differing clusters, all sign flips are enumerated."""
_CHUNK = 4_000_000
"""The most random numbers in memory, so that memory does not grow with the resamples."""


def weight_chunks(
    clusters: int, resamples: int, rng: np.random.Generator
) -> Iterator[tuple[slice, Floats]]:
    """How often each cluster is drawn in each resample, in chunks of resamples.

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


def coin_chunks(units: int, draws: int, rng: np.random.Generator) -> Iterator[tuple[slice, Floats]]:
    """A fair coin (0 or 1) for each unit in each draw, in chunks of shape (draws, units).

    Each random byte gives eight coins; drawing a number for each coin would dominate the time.
    """
    step = max(1, _CHUNK // units)
    for start in range(0, draws, step):
        size = min(step, draws - start)
        octets = rng.integers(256, size=(size, (units + 7) // 8), dtype=np.uint8)
        yield slice(start, start + size), np.unpackbits(octets, axis=1, count=units).astype(float)


def every_coin(units: int) -> Ints:
    """All outcomes of a few coins, shape (2**units, units)."""
    return np.arange(2**units)[:, None] >> np.arange(units) & 1


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

    `sums` and `counts` hold the sums of differences and the numbers of units, shape (clusters,
    strata, pairs). Percentiles are slightly wider than `level`, to correct for few clusters
    ("expanded percentile", Hesterberg 2015, What Teachers Should Know About the Bootstrap). If
    nothing varies between clusters, see `intervals.unchanging_interval`.
    """
    clusters, strata, pairs = sums.shape
    still = _constant_pairs(sums, counts)
    intervals = np.empty((pairs, 2))
    for pair in np.flatnonzero(still):
        intervals[pair] = _constant_interval(sums[..., pair], counts[..., pair], level)
    moving = np.flatnonzero(~still)
    if len(moving):
        both = np.concatenate([sums[..., moving], counts[..., moving]], axis=2)
        table = both.reshape(clusters, -1)
        drawn = np.empty((resamples, len(moving)))
        for rows, weights in weight_chunks(clusters, resamples, rng):
            totals = (weights @ table).reshape(-1, strata, 2 * len(moving))
            drawn[rows] = mean_differences(totals[..., : len(moving)], totals[..., len(moving) :])
        tail = expanded_tail(clusters, level)
        intervals[moving] = np.nanquantile(drawn, [tail, 1 - tail], axis=0).T
    return intervals


def _constant_pairs(sums: Floats, counts: Floats) -> Bools:
    """Pairs whose difference is the same in every cluster, or that have only one cluster."""
    if len(sums) < 2:
        return np.ones(sums.shape[2], dtype=bool)
    means = sums.sum(axis=0) / counts.sum(axis=0)
    return np.asarray((np.abs(sums - means * counts) < 1e-9).all(axis=(0, 1)))


def _constant_interval(sums: Floats, counts: Floats, level: float) -> tuple[float, float]:
    """The interval if nothing varies between clusters."""
    totals = sums.sum(axis=0)[:, None], counts.sum(axis=0)[:, None]
    difference = float(mean_differences(*totals)[0])
    return unchanging_interval(difference, effective_size(counts.sum(axis=1)), level)


def sign_flip_p(sums: Floats, rng: np.random.Generator, permutations: int) -> Floats:
    """Two-sided p-values of the sign-flip test over clusters, one per pair.

    If two models are equally good, swapping their answers on a whole cluster changes nothing, so
    the sign of each cluster's sum of differences is random (Fisher 1935, section 21; whole
    clusters: Winkler et al. 2015). `sums` has the shape (clusters, pairs). All flips are enumerated
    if few clusters differ; otherwise flips are drawn, and p = (b + 1) / (m + 1), which is never 0
    (Phipson & Smyth 2010).
    """
    differ = np.abs(sums) > 1e-9
    p = np.ones(sums.shape[1])
    few = differ.sum(axis=0) <= EXACT_CLUSTERS
    for pair in np.flatnonzero(few):
        p[pair] = _exact_p(sums[differ[:, pair], pair])
    many = np.flatnonzero(~few)
    if len(many):
        # Coins for all clusters, even where no pair differs: so a pair's p does not depend on
        # which other pairs are tested.
        p[many] = _drawn_p(sums[:, many], rng, permutations)
    return p


def _exact_p(sums: Floats) -> float:
    totals = np.abs((1 - 2 * every_coin(len(sums))) @ sums)
    return float(np.mean(totals >= abs(sums.sum()) - _rounding(sums)))


def _drawn_p(sums: Floats, rng: np.random.Generator, permutations: int) -> Floats:
    clusters, pairs = sums.shape
    total = sums.sum(axis=0)
    reached = np.abs(total) - _rounding(sums)
    beyond = np.zeros(pairs)
    for _, kept in coin_chunks(clusters, permutations, rng):
        beyond += (np.abs(2 * (kept @ sums) - total) >= reached).sum(axis=0)
    return np.asarray((beyond + 1) / (permutations + 1))


def _rounding(sums: Floats) -> Floats:
    """Totals that differ by less than this are equal: sixths do not add up exactly."""
    return np.asarray(1e-9 * (1 + np.abs(sums).sum(axis=0)))


def mcnemar_p(won: npt.NDArray[np.int_], lost: npt.NDArray[np.int_]) -> Floats:
    """McNemar's exact test (McNemar 1947): a binomial test of the units that differ.

    It treats units as independent, which items that share images are not: it is the naive test,
    shown beside `sign_flip_p`. For values between 0 and 1 it is the sign test.
    """
    return np.asarray(
        np.minimum(1.0, 2 * scipy.special.bdtr(np.minimum(won, lost), won + lost, 0.5))
    )


def holm(p: Floats) -> Floats:
    """Adjusted p-values (Holm 1979, A Simple Sequentially Rejective Multiple Test Procedure).

    If those below 0.05 are called real, the chance of any false call is at most 5%, however the
    tests depend on each other.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    stepped = np.asarray(p)[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return adjusted

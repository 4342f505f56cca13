"""Paired differences over clusters: a bootstrap for the interval, sign flips for the test.

All functions take many pairs of models at once, as columns, so that one set of random numbers
serves them all. A difference is the first model's value minus the second's on the same unit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import scipy  # its parts are imported when first used: that takes longer than most commands

from tellapart.stats.intervals import effective_size, expanded_tail, unchanging_interval
from tellapart.types import Bools, Floats, Ints

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


def coin_chunks(units: int, draws: int, rng: np.random.Generator) -> Iterator[tuple[slice, Floats]]:
    """A fair coin (0 or 1) for each unit in each draw, some draws at a time: (draws, units).

    Eight coins come out of each random byte: a number for each would take most of the time.
    """
    step = max(1, _CHUNK // units)
    for start in range(0, draws, step):
        size = min(step, draws - start)
        octets = rng.integers(256, size=(size, (units + 7) // 8), dtype=np.uint8)
        yield slice(start, start + size), np.unpackbits(octets, axis=1, count=units).astype(float)


def every_coin(units: int) -> Ints:
    """All ways in which the coins of a few units can fall, shape (2**units, units)."""
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

    `sums` and `counts` hold the differences' sums and the units' numbers, shape (clusters, strata,
    pairs). Percentiles are taken a little further out than `level` says, which makes good for few
    clusters ("expanded percentile", Hesterberg 2015, What Teachers Should Know About the
    Bootstrap). Where nothing varies between clusters see `intervals.unchanging_interval`.
    """
    clusters, strata, pairs = sums.shape
    still = _nothing_varies(sums, counts)
    intervals = np.empty((pairs, 2))
    for pair in np.flatnonzero(still):
        intervals[pair] = _still(sums[..., pair], counts[..., pair], level)
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


def _nothing_varies(sums: Floats, counts: Floats) -> Bools:
    """Pairs whose difference is the same in every cluster, or that have only one cluster."""
    if len(sums) < 2:
        return np.ones(sums.shape[2], dtype=bool)
    means = sums.sum(axis=0) / counts.sum(axis=0)
    return np.asarray((np.abs(sums - means * counts) < 1e-9).all(axis=(0, 1)))


def _still(sums: Floats, counts: Floats, level: float) -> tuple[float, float]:
    """The interval where a bootstrap has nothing to resample."""
    totals = sums.sum(axis=0)[:, None], counts.sum(axis=0)[:, None]
    difference = float(mean_differences(*totals)[0])
    return unchanging_interval(difference, effective_size(counts.sum(axis=1)), level)


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
        # Coins for all clusters, also where no pair differs: a pair's p is the same in any company.
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
    """Totals that differ by less are equal: halves and sixths do not add up exactly."""
    return np.asarray(1e-9 * (1 + np.abs(sums).sum(axis=0)))


def mcnemar_p(won: npt.NDArray[np.int_], lost: npt.NDArray[np.int_]) -> Floats:
    """McNemar's exact test (McNemar 1947): a binomial test of the units that differ.

    It takes units for independent, which items that share images are not: it is the naive test,
    shown beside `sign_flip_p`. For values between 0 and 1 it is the sign test.
    """
    return np.asarray(
        np.minimum(1.0, 2 * scipy.special.bdtr(np.minimum(won, lost), won + lost, 0.5))
    )


def holm(p: Floats) -> Floats:
    """Adjusted p-values (Holm 1979, A Simple Sequentially Rejective Multiple Test Procedure).

    With those below 0.05 called real, the chance of even one false call is at most 5%, however the
    tests hang together.

    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    stepped = np.asarray(p)[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(stepped))
    return adjusted

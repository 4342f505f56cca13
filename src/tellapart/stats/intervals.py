"""95% intervals for means over clustered units.

With many clusters, a mean gets the percentile bootstrap. With few, a bootstrap is too narrow, as it
never leaves the range of the clusters seen: with 2 to 5 clusters, only 57 to 90 of 100 intervals
contain the truth, where 95 should. There the interval is Student's t on the logit scale, which has
the stated coverage in simulation (`tests/stats/test_intervals.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy  # its submodules load on first use, which takes longer than most commands

from tellapart.types import Floats, Ints

RESAMPLES = 2_000
MANY_CLUSTERS = 100
"""From this many clusters on, means are resampled; with fewer they get the t interval."""

FEW_CLUSTERS = 10
"""With fewer clusters than this, an interval is flagged as based on too few."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends of an interval, and the method."""

    low: float
    high: float
    method: str


def cluster_sums(
    values: Floats, strata: Ints, clusters: Ints, n_strata: int
) -> tuple[Floats, Floats]:
    """Sums and counts by cluster and stratum, shapes (clusters, strata)."""
    n_clusters = int(clusters.max()) + 1 if clusters.size else 0
    flat = clusters * n_strata + strata
    sums = np.bincount(flat, values, n_clusters * n_strata).astype(float)
    counts = np.bincount(flat, minlength=n_clusters * n_strata).astype(float)
    return sums.reshape(n_clusters, n_strata), counts.reshape(n_clusters, n_strata)


def bootstrap_totals(
    sums: Floats, counts: Floats, rng: np.random.Generator, resamples: int
) -> tuple[Floats, Floats]:
    """Sums and counts by stratum of resampled clusters, shapes (resamples, strata).

    Whole clusters are drawn with replacement (Davison & Hinkley 1997, section 3.8). Clusters with
    equal sums and counts are interchangeable, so one multinomial draw says how often each distinct
    kind is drawn: the same distribution with far fewer random numbers.
    """
    table = np.concatenate([sums, counts], axis=1)
    sorts, how_many = np.unique(table, axis=0, return_counts=True)
    total = int(how_many.sum())
    totals = np.empty((resamples, table.shape[1]))
    step = max(1, 20_000_000 // len(sorts))
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        drawn = rng.multinomial(total, how_many / total, size=size)
        totals[start : start + size] = drawn @ sorts
    strata = sums.shape[1]
    return totals[:, :strata], totals[:, strata:]


def percentile_interval(values: Floats, level: float = 0.95) -> tuple[float, float]:
    """The middle `level` of resampled values."""
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def expanded_tail(clusters: int, level: float = 0.95) -> float:
    """The share to cut off at each end (Hesterberg 2015): 0.025 with many clusters, less with few.

    >>> round(expanded_tail(10**6), 4), round(expanded_tail(20), 4)
    (0.025, 0.0159)
    """
    return float(
        scipy.special.ndtr(_stretch(clusters, level) * scipy.special.ndtri((1 - level) / 2))
    )


def _stretch(clusters: int, level: float = 0.95) -> float:
    """How much wider than normal an interval over few clusters must be; near 1 with many."""
    tail = (1 - level) / 2
    student = scipy.special.stdtrit(clusters - 1, tail) / scipy.special.ndtri(tail)
    return float(np.sqrt(clusters / (clusters - 1)) * student)


def effective_size(counts: npt.NDArray[Any]) -> float:
    """Kish's effective sample size if all units of a cluster were alike (Kish 1965, ch. 8)."""
    counts = np.asarray(counts, float)
    return float(counts.sum() ** 2 / (counts**2).sum())


def wilson(share: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval (Wilson 1927); `n` may be an effective sample size."""
    z = float(scipy.special.ndtri(1 - (1 - level) / 2))
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = 0.0 if share == 0 else max(0.0, float(centre - half))
    high = 1.0 if share == 1 else min(1.0, float(centre + half))
    return low, high


def unchanging_interval(difference: float, size: float, level: float) -> tuple[float, float]:
    """The interval of a difference that was the same in `size` clusters out of `size`.

    At least a share w of all clusters (Wilson's lower bound) is assumed to be like those seen; the
    rest may be anywhere between -1 and 1.
    """
    share, _ = wilson(1.0, size, level)
    low, high = share * difference - (1 - share), share * difference + (1 - share)
    return max(-1.0, low), min(1.0, high)


def mean_interval(
    values: Floats, clusters: Ints, rng: np.random.Generator, resamples: int = RESAMPLES
) -> Interval:
    """For the mean over units: bootstrap over clusters, or Student's t if these are few.

    If the mean is 0 or 1, or nothing varies between clusters, there is nothing to resample, so
    Wilson's interval is used with the effective sample size for clusters whose units are all alike
    (the largest possible design effect). The same holds for fewer than two clusters.
    """
    strata = np.zeros(len(values), dtype=np.intp)
    return strata_interval(values, strata, clusters, rng, resamples)


def strata_interval(
    values: Floats,
    strata: Ints,
    clusters: Ints,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
) -> Interval:
    """For the mean of the strata's means (macro average); with one stratum, the plain mean."""
    _, clusters = np.unique(clusters, return_inverse=True)
    n_strata = int(strata.max()) + 1
    sums, counts = cluster_sums(values, strata, clusters, n_strata)
    mean = float(np.mean(sums.sum(0) / counts.sum(0)))
    if mean in (0.0, 1.0) or len(sums) < 2:
        low, high = wilson(mean, effective_size(counts.sum(axis=1)))
        return Interval(low, high, "Wilson, clusters as units")
    if (counts > 0).sum(axis=0).min() < MANY_CLUSTERS:
        squares = np.bincount(strata, values**2).astype(float)
        return _student_interval(mean, sums, counts, squares)
    sum_totals, count_totals = bootstrap_totals(sums, counts, rng, resamples)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sum_totals / count_totals
    drawn = np.nanmean(means, axis=1) if n_strata > 1 else means[:, 0]
    low, high = percentile_interval(drawn[np.isfinite(drawn)])
    return Interval(low, high, f"bootstrap over clusters, {resamples:,} resamples")


def student_interval(sums: Floats, counts: Floats) -> Interval:
    """For a mean of shares, from sums and counts of clusters alone: fast, for interactive views.

    Student's t on the logit scale; Wilson's if the mean is 0 or 1 or there is one cluster.
    """
    mean = float(sums.sum() / counts.sum())
    if mean in (0.0, 1.0) or len(sums) < 2:
        return Interval(*wilson(mean, effective_size(counts)), "Wilson, clusters as units")
    # The units' squares are not known here, but values of 0 and 1 are their own squares.
    return _student_interval(mean, sums[:, None], counts[:, None], np.array([sums.sum()]))


def _student_interval(mean: float, sums: Floats, counts: Floats, squares: Floats) -> Interval:
    """Student's t on the logit scale, from sums and counts by cluster and stratum.

    In each stratum the error is that of a ratio of totals over clusters (Cochran 1977, section
    2.11), with one degree of freedom fewer than it has clusters; several strata are combined after
    Satterthwaite (1946). A few clusters may be alike by accident, so the error is at least that of
    independent units, and if all units agree it comes from Wilson's interval. `squares` are the
    units' squares, summed by stratum.
    """
    clusters, strata = (counts > 0).sum(axis=0), sums.shape[1]
    size, freedom = counts.sum(axis=0), np.maximum(clusters - 1, 1)
    means = sums.sum(axis=0) / size
    shares = (sums - means * counts) / size
    variances = clusters / freedom * (shares**2).sum(axis=0)
    variances = np.maximum(variances, (squares / size - means**2) / size)
    for k in np.flatnonzero((clusters < 2) | np.isin(means, (0.0, 1.0))):
        low, high = wilson(float(means[k]), effective_size(counts[:, k]))
        variances[k] = max(variances[k], ((high - low) / 2 / scipy.special.ndtri(0.975)) ** 2)
    # Covariance between strata, from clusters that have units in several of them.
    common = float((shares.sum(axis=1) ** 2).sum() - (shares**2).sum()) / strata**2
    own = variances / strata**2
    variance = max(float(own.sum()) + common, float(own.max()))
    if variance < 1e-18:
        return Interval(mean, mean, "all units have the same value")
    together = float(own.sum() ** 2 / (own**2 / freedom).sum())
    low, high = logit_interval(mean, float(np.sqrt(variance)), together)
    return Interval(low, high, "Student's t over clusters, logit scale")


def logit_interval(share: float, error: float, freedom: float) -> tuple[float, float]:
    """The interval of a share between 0 and 1 with a standard error, by t on the logit scale."""
    logit = np.log(share / (1 - share))
    step = float(-scipy.special.stdtrit(freedom, 0.025)) * error / (share * (1 - share))
    low, high = 1 / (1 + np.exp(-(logit - step))), 1 / (1 + np.exp(-(logit + step)))
    return float(low), float(high)


def resampled_values(
    statistic: Callable[[Ints], float], clusters: Ints, rng: np.random.Generator, resamples: int
) -> Floats:
    """A statistic of units, given by their rows, in each resample of whole clusters."""
    order = np.argsort(clusters, kind="stable")
    _, sizes = np.unique(clusters, return_counts=True)
    members = np.split(order, np.cumsum(sizes)[:-1])
    draws = (rng.integers(0, len(members), len(members)) for _ in range(resamples))
    return np.array([statistic(np.concatenate([members[k] for k in drawn])) for drawn in draws])


def resampled_interval(
    statistic: Callable[[Ints], float],
    clusters: Ints,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
) -> Interval:
    """For any statistic of units, given by their rows: a percentile bootstrap over clusters.

    With few clusters, the ends are moved away from the value by as much as Student's t is wider
    than the normal (after Hesterberg 2015, whose percentiles cannot leave the range of the draws).
    For a mean, `mean_interval` is faster and better.
    """
    value = statistic(np.arange(len(clusters)))
    size = len(np.unique(clusters))
    drawn = resampled_values(statistic, clusters, rng, resamples)
    low, high = percentile_interval(drawn[np.isfinite(drawn)])
    method = f"bootstrap over clusters, {resamples:,} resamples"
    if size < 2:
        return Interval(min(low, 0.0), max(high, 1.0), "one cluster: nothing to resample")
    wider = _stretch(size)
    low, high = value - wider * (value - low), value + wider * (high - value)
    return Interval(max(0.0, low), min(1.0, high), method)

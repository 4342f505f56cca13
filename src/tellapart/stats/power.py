"""How many units a paired comparison needs to detect a difference."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt

import scipy  # its submodules load on first use, which takes longer than most commands

from tellapart.errors import BadInput
from tellapart.types import Floats

ALPHA, POWER = 0.05, 0.8


@dataclass(frozen=True, slots=True)
class Needed:
    """The number of units, and of the clusters that contain them."""

    units: int
    clusters: int


def difference_error(sums: Floats, counts: Floats) -> float:
    """The standard error of a mean difference, from sums by cluster.

    `sums` and `counts` hold the summed differences and the numbers of units, shape (clusters,), or
    (clusters, strata) for the mean of the strata's means. A mean is a ratio of totals over clusters
    (Cochran 1977, Sampling Techniques, section 2.11).
    """
    k = len(sums)
    if k < 2:
        raise BadInput(
            f"the spread between clusters cannot be estimated from {k} cluster",
            allowed="two clusters or more",
        )
    sums, counts = sums.reshape(k, -1), counts.reshape(k, -1)
    size = counts.sum(axis=0)
    shares = (sums - sums.sum(axis=0) / size * counts) / size
    return sqrt(k / (k - 1) * float((shares.mean(axis=1) ** 2).sum()))


def needed(
    difference: float,
    error: float,
    units: int,
    clusters: int,
    *,
    alpha: float = ALPHA,
    power: float = POWER,
) -> Needed:
    """The units needed to detect a difference with the given power, from the error seen so far.

    The error shrinks with the square root of the number of clusters; new clusters are assumed to be
    like those seen (two-sided normal test; Chow, Shao & Wang 2008, section 3.1).
    """
    _check(difference, alpha, power)
    factor = (_z(alpha, power) * error / difference) ** 2
    return Needed(ceil(units * factor - 1e-9), ceil(clusters * factor - 1e-9))


def detectable(error: float, *, alpha: float = ALPHA, power: float = POWER) -> float:
    """The smallest difference that a comparison with this standard error detects."""
    return _z(alpha, power) * error


def needed_before(
    difference: float,
    discordance: float,
    *,
    cluster_size: float = 1.0,
    correlation: float = 0.0,
    alpha: float = ALPHA,
    power: float = POWER,
) -> Needed:
    """The units needed, estimated before measuring from an assumed rate of discordance.

    `discordance` is the share of units that exactly one of the two models gets right (Connor 1987,
    Sample Size for Testing Differences in Proportions for the Paired-Sample Design; after
    Miettinen 1968). Correlated differences within a cluster reduce the effective size by Kish's
    design effect 1 + (size - 1) * correlation (Kish 1965, section 5.4).

    >>> needed_before(0.02, 0.2)
    Needed(units=3923, clusters=3923)
    """
    _check(difference, alpha, power)
    if not abs(difference) <= discordance <= 1:
        raise BadInput(
            f"a discordance of {discordance} is impossible with a difference of {difference}",
            allowed="a share between the difference and 1",
        )
    here = float(-scipy.special.ndtri(alpha / 2)) * sqrt(discordance)
    there = float(scipy.special.ndtri(power)) * sqrt(discordance - difference**2)
    effect = 1 + (cluster_size - 1) * correlation
    units = ((here + there) / difference) ** 2 * effect
    return Needed(ceil(units), ceil(units / cluster_size))


def _z(alpha: float, power: float) -> float:
    return float(scipy.special.ndtri(power) - scipy.special.ndtri(alpha / 2))


def _check(difference: float, alpha: float, power: float) -> None:
    if difference == 0:
        raise BadInput("no number of units shows a difference of 0", allowed="another difference")
    if not (0 < alpha < 1 and 0 < power < 1):
        raise BadInput(
            f"alpha {alpha} and power {power} are not both valid", allowed="between 0 and 1"
        )

"""Shares of groups, shrunk towards their mean by as much as their size leaves them uncertain.

A group with one right item out of one is not easier than a group with 95 right out of 100. The
groups' true shares are assumed to follow a beta distribution, whose two parameters are fitted to
all groups by marginal likelihood (empirical Bayes: Efron & Morris 1975; beta-binomial: Casella
1985); each group's share is then its posterior mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy  # its submodules load on first use, which takes longer than most commands

from tellapart.types import Floats


@dataclass(frozen=True, slots=True)
class Shrunk:
    """Shares of groups with their 95% intervals; `spread` is that of the true shares.

    `p` comes from the test of whether groups differ at all.
    """

    value: Floats
    low: Floats
    high: Floats
    mean: float
    spread: float
    p: float


def shrunk_shares(right: Floats, asked: Floats) -> Shrunk:
    """Shares from counts, one entry per group; effective counts may be fractions."""
    mean, prior, p = _fitted(right, asked)
    a, b = mean * prior + right, (1 - mean) * prior + asked - right
    value = a / (a + b)
    low, high = (scipy.special.betaincinv(a, b, end) for end in (0.025, 0.975))
    spread = float(np.sqrt(mean * (1 - mean) / (prior + 1)))
    return Shrunk(value, np.asarray(low), np.asarray(high), mean, spread, p)


def _fitted(right: Floats, asked: Floats) -> tuple[float, float, float]:
    """The mean of the groups' shares, the prior's weight in answers, and the test's p."""
    # The mean cannot be known better than from all answers together.
    certain = max(float(asked.sum()), 2.0)
    whole = float(right.sum() / asked.sum())
    mean = min(max(whole, 0.5 / float(asked.sum())), 1 - 0.5 / float(asked.sum()))
    if len(right) < 2 or whole in (0.0, 1.0):
        return mean, certain, 1.0

    def loss(place: Floats) -> float:
        share, prior = 1 / (1 + np.exp(-place[0])), np.exp(place[1])
        a, b = share * prior, (1 - share) * prior
        log_beta = scipy.special.betaln
        return -float((log_beta(a + right, b + asked - right) - log_beta(a, b)).sum())

    starts = [(np.log(mean / (1 - mean)), np.log(size)) for size in (2.0, 20.0, 500.0)]
    bounds = [(-12, 12), (np.log(0.05), np.log(certain))]
    found = min(
        (
            scipy.optimize.minimize(loss, start, method="L-BFGS-B", bounds=bounds)
            for start in starts
        ),
        key=lambda one: float(one.fun),
    )
    alike = loss(np.array([np.log(mean / (1 - mean)), np.log(certain)]))
    gain = max(0.0, 2 * (alike - float(found.fun)))
    # "No difference" is at the boundary of the range, so the test is one-sided (Self & Liang 1987).
    p = 0.5 * float(scipy.special.chdtrc(1, gain)) if gain > 0 else 1.0
    return float(1 / (1 + np.exp(-found.x[0]))), float(np.exp(found.x[1])), p

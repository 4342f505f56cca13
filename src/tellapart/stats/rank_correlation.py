"""Rank correlations of two columns, with intervals over clusters of rows.

Kendall's tau-b and tau-c (Kendall 1945; Stuart 1953) and Spearman's rho. Rows of one cluster (the
ratings of one image's captions) are not independent, so intervals come from a jackknife that leaves
out one cluster at a time (Efron & Stein 1981), with Student's t. Everything is counted once in
O(n log n); the value without a cluster follows by subtracting what its rows contribute.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart.text._numba import Array, kernel
from tellapart.types import Floats, Ints

MOST = 1_000
"""For the jackknife, more clusters than this are merged at random into this many."""


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation (-1 to 1) with its 95% interval, None with only one cluster."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class RankCorrelations:
    """Three correlations of the same rows."""

    tau_b: Correlation
    tau_c: Correlation
    spearman: Correlation


def rank_correlations(
    first: Floats, second: Floats, clusters: Ints, rng: np.random.Generator
) -> RankCorrelations:
    """Correlate two columns; `clusters` says which rows belong together.

    If one of the columns is constant, the correlations are 0.
    """
    x, y, cluster = _codes(first), _codes(second), _grouped(_codes(clusters), rng)
    columns = _Columns(x, y, cluster)
    return RankCorrelations(
        *(_with_interval(values) for values in (*columns.kendall(), columns.spearman()))
    )


def _codes(values: Floats | Ints) -> Ints:
    """The rank of each value among the distinct values."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _grouped(cluster: Ints, rng: np.random.Generator) -> Ints:
    number = int(cluster.max()) + 1
    return cluster if number <= MOST else rng.permutation(number)[cluster] % MOST


def _with_interval(values: Floats) -> Correlation:
    """From the value of all rows, followed by the values without each cluster."""
    from scipy.stats import t

    whole, without = float(values[0]), values[1:]
    number = len(without)
    if number < 2:
        return Correlation(whole, None, None)
    error = np.sqrt((number - 1) / number * ((without - without.mean()) ** 2).sum())
    reach = float(t.ppf(0.975, number - 1) * error)
    return Correlation(whole, max(whole - reach, -1.0), min(whole + reach, 1.0))


@dataclass(frozen=True, slots=True)
class _Columns:
    """Two columns as codes of their values, and the cluster of each row."""

    x: Ints
    y: Ints
    cluster: Ints

    def kendall(self) -> tuple[Floats, Floats]:
        """Tau-b and tau-c of all rows, then without each cluster."""
        own = np.bincount(self.cluster)
        rows = np.array([len(self.x), *(len(self.x) - own)], dtype=np.float64)
        agreeing = _without(_signs(self.x, self.y), self._signs_within(), self.cluster)
        untied = [rows**2 - self._tied(codes) for codes in (self.x, self.y)]
        tau_b = _divided(agreeing, np.sqrt(untied[0] * untied[1]))
        values = min(int(self.x.max()), int(self.y.max())) + 1
        tau_c = _divided(agreeing * values, rows**2 * (values - 1))
        return tau_b, tau_c

    def _signs_within(self) -> Floats:
        """The contribution of pairs of rows within a cluster, by cluster."""
        order = np.argsort(self.cluster, kind="stable")
        ends = np.cumsum(np.bincount(self.cluster))
        within = np.zeros(len(ends))
        _signs_in_clusters(self.x[order], self.y[order], ends, within)
        return within

    def _tied(self, codes: Ints) -> Floats:
        """Pairs of rows with the same value (a row with itself, too): all, then without each."""
        equal = np.bincount(codes)[codes].astype(np.float64)
        pairs, times = np.unique(np.stack([self.cluster, codes]), axis=1, return_counts=True)
        within: Floats = np.bincount(pairs[0], weights=times.astype(np.float64) ** 2).astype(float)
        return _without(equal, within, self.cluster)

    def spearman(self) -> Floats:
        """Spearman's rho of all rows, then without each cluster."""
        order = np.argsort(self.cluster, kind="stable")
        ends = np.cumsum(np.bincount(self.cluster))
        left_out = [order[:0], *np.split(order, ends[:-1])]
        counts = np.bincount(self.x), np.bincount(self.y)
        return np.array([self._rho(counts, rows) for rows in left_out])

    def _rho(self, counts: tuple[Ints, Ints], left_out: Ints) -> float:
        """The correlation of mean ranks without some rows; ranks follow from counts of values."""
        rows = len(self.x) - len(left_out)
        mean, ranks, spread = (rows + 1) / 2, [], []
        for codes, every in zip((self.x, self.y), counts, strict=True):
            kept = every - np.bincount(codes[left_out], minlength=len(every))
            ranks.append(np.cumsum(kept) - (kept - 1) / 2 - mean)
            spread.append((kept * ranks[-1] ** 2).sum())
        products = ranks[0][self.x] @ ranks[1][self.y]
        products -= ranks[0][self.x[left_out]] @ ranks[1][self.y[left_out]]
        below = np.sqrt(spread[0] * spread[1])
        return float(products / below) if below else 0.0


def _without(sums: Floats, within: Floats, cluster: Ints) -> Floats:
    """Sums over ordered pairs of all rows, then of the rows without each cluster."""
    total = sums.sum()
    return np.concatenate([[total], total - 2 * np.bincount(cluster, sums) + within])


def _divided(above: Floats, below: Floats) -> Floats:
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)


def _signs(x: Ints, y: Ints) -> Floats:
    """For each row, the number of concordant minus discordant other rows."""
    order = np.argsort(x, kind="stable")
    lower, higher = np.zeros(len(x)), np.zeros(len(x))
    _signs_among_lower(x, y, order, int(y.max()) + 1, lower)
    _signs_among_lower(x, y, order[::-1].copy(), int(y.max()) + 1, higher)
    return lower - higher


@kernel
def _signs_among_lower(x: Array, y: Array, order: Array, levels: int, sums: Array) -> None:
    """For each row, among the rows with a lower x: those with a lower y minus a higher y.

    Counts of y are kept in a Fenwick tree (Fenwick 1994), so that each takes log(levels) steps.
    """
    tree = [0] * (levels + 1)
    first, rows = 0, len(order)
    while first < rows:
        last = first
        while last < rows and x[order[last]] == x[order[first]]:
            row = order[last]
            lower, at_most = 0, 0
            place = y[row]
            while place > 0:
                lower += tree[place]
                place -= place & -place
            place = y[row] + 1
            while place > 0:
                at_most += tree[place]
                place -= place & -place
            sums[row] = lower - (first - at_most)
            last += 1
        for k in range(first, last):
            place = y[order[k]] + 1
            while place <= levels:
                tree[place] += 1
                place += place & -place
        first = last


@kernel
def _signs_in_clusters(x: Array, y: Array, ends: Array, within: Array) -> None:
    """The same over pairs of rows within a cluster, summed; rows are sorted by cluster."""
    begin = 0
    for cluster in range(len(ends)):
        total = 0
        for i in range(begin, ends[cluster]):
            for j in range(begin, i):
                one = int(x[i] > x[j]) - int(x[i] < x[j])
                other = int(y[i] > y[j]) - int(y[i] < y[j])
                total += 2 * one * other
        within[cluster] = total
        begin = ends[cluster]

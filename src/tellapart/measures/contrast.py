"""The numbers behind a comparison: differences of pairs of runs, with interval and test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellapart import seeds
from tellapart.measures.measure import Contrast
from tellapart.measures.pairing import ROUNDING, Units
from tellapart.stats.differences import (
    EXACT_CLUSTERS,
    mcnemar_p,
    mean_differences,
    paired_intervals,
    sign_flip_p,
)  # fmt: skip
from tellapart.stats.intervals import cluster_sums
from tellapart.stats.power import difference_error
from tellapart.types import Bools, Floats, Ints

Couple = tuple[int, int]
"""Two columns of `Units`: the first run and the second."""


@dataclass(frozen=True, slots=True)
class RandomDraws:
    """How much is drawn at random, and from which seed for which purpose."""

    resamples: int
    permutations: int
    seed: int
    purpose: tuple[str, ...] = ()

    def rng(self, what: str) -> np.random.Generator:
        """The generator for one step."""
        return seeds.rng(self.seed, "compare", what, *self.purpose)


@dataclass(frozen=True, slots=True)
class _Table:
    """Differences summed and units counted, shape (clusters, strata, pairs)."""

    sums: Floats
    counts: Floats

    def some(self, clusters: Bools, pairs: list[int]) -> _Table:
        """Some clusters of some pairs."""
        return _Table(self.sums[clusters][..., pairs], self.counts[clusters][..., pairs])

    def difference(self) -> Floats:
        """One a pair."""
        return mean_differences(self.sums.sum(axis=0), self.counts.sum(axis=0))

    def shares(self) -> Floats:
        """Each cluster's share in the difference, shape (clusters, pairs)."""
        size = self.counts.sum(axis=0)
        each = np.divide(self.sums, size, out=np.zeros_like(self.sums), where=size > 0)
        return np.asarray(each.sum(axis=1) / (size > 0).sum(axis=0))


def contrasts(
    units: Units,
    wanted: Bools,
    couples: Sequence[Couple],
    draws: RandomDraws,
    *,
    macro: bool = False,
) -> list[Contrast]:
    """The pairs' contrasts on the wanted units, those of a micro or a macro average."""
    strata = units.kind if macro else np.zeros_like(units.kind)
    kept = [units.kept(couple) & wanted for couple in couples]
    table = _table(units, strata, couples, kept)
    together: dict[bytes, list[int]] = defaultdict(list)
    present = table.counts.sum(axis=1) > 0
    for pair in range(len(couples)):
        together[present[:, pair].tobytes()].append(pair)
    found: dict[int, Contrast] = {}
    for pairs in together.values():
        part = table.some(present[:, pairs[0]], pairs)
        values = [_values(units, strata, couples[pair], kept[pair]) for pair in pairs]
        naive = [_naive(units, couples[pair], kept[pair]) for pair in pairs]
        found |= dict(zip(pairs, _contrasts(part, values, naive, draws), strict=True))
    return [found[pair] for pair in range(len(couples))]


def _contrasts(
    table: _Table, values: list[tuple[float, float]], naive: list[float], draws: RandomDraws
) -> list[Contrast]:
    """Of pairs that lie in the same clusters: all are resampled and flipped at once."""
    interval = paired_intervals(table.sums, table.counts, draws.rng("bootstrap"), draws.resamples)
    shares = table.shares() * len(table.sums)
    p = sign_flip_p(shares, draws.rng("flips"), draws.permutations)
    differing = (np.abs(shares) > ROUNDING).sum(axis=0)
    drawn = f"{draws.permutations:,} sign flips over groups"
    resampled = f"paired bootstrap over groups, {draws.resamples:,} resamples"
    errors = [_error(table.sums[..., k], table.counts[..., k]) for k in range(len(values))]
    return [
        Contrast(
            *values[k],
            difference=float(difference),
            low=float(interval[k, 0]),
            high=float(interval[k, 1]),
            p=float(p[k]),
            naive_p=naive[k],
            error=errors[k],
            clusters=len(shares),
            differing=int(differing[k]),
            test="all sign flips over groups" if differing[k] <= EXACT_CLUSTERS else drawn,
            naive_test="McNemar, exact",
            method=resampled if errors[k] else "Wilson, groups as units: nothing to resample",
        )
        for k, difference in enumerate(table.difference())
    ]


def _error(sums: Floats, counts: Floats) -> float | None:
    """None where there is only one cluster; exactly 0 where nothing varies between clusters."""
    if len(sums) < 2:
        return None
    used = counts.sum(axis=0) > 0
    error = difference_error(sums[:, used], counts[:, used])
    return error if error > ROUNDING else 0.0


def _table(units: Units, strata: Ints, couples: Sequence[Couple], kept: list[Bools]) -> _Table:
    n_strata = int(strata.max()) + 1
    shape = (int(units.cluster.max()) + 1, n_strata, len(couples))
    table = _Table(np.zeros(shape), np.zeros(shape))
    for pair, (couple, keep) in enumerate(zip(couples, kept, strict=True)):
        sums, counts = cluster_sums(
            units.gap(couple, keep), strata[keep], units.cluster[keep], n_strata
        )
        table.sums[: len(sums), :, pair] = sums
        table.counts[: len(sums), :, pair] = counts
    return table


def _values(units: Units, strata: Ints, couple: Couple, keep: Bools) -> tuple[float, float]:
    """Both runs' own means on the units that count."""
    size = np.bincount(strata[keep])
    used = size > 0
    first, second = (
        float(np.mean(np.bincount(strata[keep], units.value[keep, k])[used] / size[used]))
        for k in couple
    )
    return first, second


def _naive(units: Units, couple: Couple, keep: Bools) -> float:
    gap = units.gap(couple, keep)
    return float(mcnemar_p(np.array((gap > ROUNDING).sum()), np.array((gap < -ROUNDING).sum())))

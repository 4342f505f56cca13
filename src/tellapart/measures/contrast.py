"""Runs unit by unit, and the contrast of two runs with its test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.measures.contestants import rule_for
from tellapart.measures.measure import Contrast, Measure, Outcomes
from tellapart.measures.ties import TieRule
from tellapart.score.run import Run
from tellapart.stats.differences import (
    EXACT_CLUSTERS,
    coin_chunks,
    every_coin,
    mcnemar_p,
    mean_differences,
    paired_intervals,
    sign_flip_p,
)
from tellapart.stats.intervals import (
    cluster_sums,
    effective_size,
    expanded_tail,
    resampled_values,
    unchanging_interval,
)
from tellapart.stats.power import difference_error
from tellapart.types import Bools, Floats, Ints

ROUNDING = 1e-9
"""Values closer than this are equal: thirds and sixths do not add up exactly."""


@dataclass(frozen=True, slots=True)
class Units:
    """All units that any of the runs covers: one row per unit, one column per run.

    A unit is an item and a position within it (its first question, its second, ...). A failed unit
    is covered and worth 0. `item` is its position in the first run's benchmark; `kind` and
    `cluster` are codes from 0, and `kinds` are the names of the kinds.
    """

    item: Ints
    kind: Ints
    kinds: tuple[str, ...]
    cluster: Ints
    value: Floats
    covered: Bools
    left_out: Bools
    tied: Bools
    failed: Bools
    chance: Floats

    def shared(self, pair: tuple[int, int]) -> Bools:
        """The units that both runs of a pair cover."""
        return np.asarray(self.covered[:, pair].all(axis=1))

    def kept(self, pair: tuple[int, int]) -> Bools:
        """The shared units that count: under the rule `drop`, a tie of either drops the unit."""
        return np.asarray(self.shared(pair) & ~self.left_out[:, pair].any(axis=1))

    def gap(self, pair: tuple[int, int], kept: Bools) -> Floats:
        """First minus second on the units given."""
        return np.asarray(self.value[kept, pair[0]] - self.value[kept, pair[1]])


@dataclass(frozen=True, slots=True)
class UnitTally:
    """Every unit accounted for: won, lost or level, tied, failed, or covered by one run only.

    `ties_behind` are the units won or lost on which one of the two ties.
    """

    won: int
    lost: int
    level: int
    n: int
    only_first: int
    only_second: int
    first_ties: int
    second_ties: int
    ties_behind: int
    first_failed: int
    second_failed: int


def paired_units(runs: Sequence[Run], measure: Measure, ties: TieRule) -> tuple[list[int], Units]:
    """The positions of the runs that the measure applies to, and their units side by side.

    Ties of a model that never looks are halved, as everywhere: see `rule_for`.
    """
    reference = runs[0].benchmark
    found = [
        _in_order_of(reference, run, measure.outcomes(run, rule_for(run, ties))) for run in runs
    ]
    places = [k for k, outcomes in enumerate(found) if len(outcomes.item)]
    found = [found[k] for k in places]
    within = [_place_in_item(outcomes.item) for outcomes in found]
    width = 1 + max((int(place.max()) for place in within), default=0)
    keys = [o.item * width + place for o, place in zip(found, within, strict=True)]
    every = np.unique(np.concatenate(keys)) if keys else np.zeros(0, dtype=np.int64)
    rows = [np.searchsorted(every, key) for key in keys]

    def side_by_side(name: str) -> Floats:
        table = np.zeros((len(every), len(found)))
        for column, (outcomes, row) in enumerate(zip(found, rows, strict=True)):
            table[row, column] = 1.0 if name == "covered" else getattr(outcomes, name)
        return table

    item = every // width
    names, kind_of_item = reference.items.kinds
    kinds, kind = np.unique(kind_of_item[item], return_inverse=True)
    clusters = np.unique(reference.items.groups[1][item], return_inverse=True)[1]
    return places, Units(
        item=item,
        kind=kind.astype(np.int64),
        kinds=tuple(names[k] for k in kinds),
        cluster=clusters.astype(np.int64),
        value=side_by_side("value"),
        covered=side_by_side("covered") > 0,
        left_out=side_by_side("left_out") > 0,
        tied=side_by_side("tied") > 0,
        failed=side_by_side("failed") > 0,
        chance=side_by_side("chance"),
    )


def _in_order_of(reference: Benchmark, run: Run, outcomes: Outcomes) -> Outcomes:
    """Outcomes in the reference's item order; the benchmark's hash does not fix that order."""
    item = run.benchmark.items.places_in(reference.items)[outcomes.item]
    ordered = outcomes.where(np.argsort(item, kind="stable"))
    return replace(ordered, item=np.sort(item, kind="stable"))


def _place_in_item(item: Ints) -> Ints:
    """0, 1, ... for the units of each item; `item` is sorted."""
    _, first, how_many = np.unique(item, return_index=True, return_counts=True)
    return np.arange(len(item)) - np.repeat(first, how_many)


def tally(units: Units, pair: tuple[int, int], wanted: Bools) -> UnitTally:
    """Count a pair's units among those wanted."""
    a, b = pair
    kept, both = units.kept(pair) & wanted, units.shared(pair) & wanted
    gap = units.gap(pair, kept)
    won, lost = int((gap > ROUNDING).sum()), int((gap < -ROUNDING).sum())
    tied = units.tied[kept][:, pair].any(axis=1)
    return UnitTally(
        won=won,
        lost=lost,
        level=len(gap) - won - lost,
        n=len(gap),
        only_first=int((wanted & units.covered[:, a] & ~units.covered[:, b]).sum()),
        only_second=int((wanted & units.covered[:, b] & ~units.covered[:, a]).sum()),
        first_ties=int(units.tied[both, a].sum()),
        second_ties=int(units.tied[both, b].sum()),
        ties_behind=int((tied & (np.abs(gap) > ROUNDING)).sum()),
        first_failed=int(units.failed[both, a].sum()),
        second_failed=int(units.failed[both, b].sum()),
    )


def kind_differences(measure: Measure, units: Units, pair: tuple[int, int]) -> dict[str, float]:
    """A pair's difference on each kind of item, if there are several kinds."""
    kept = units.kept(pair)
    if not measure.is_mean:
        codes = np.unique(units.kind[kept])
        values = (units.value[kept & (units.kind == code)][:, pair].T for code in codes)
        each = [measure.reduce(first) - measure.reduce(second) for first, second in values]
        names = [units.kinds[code] for code in codes]
        return dict(zip(names, each, strict=True)) if len(names) > 1 else {}
    size = np.bincount(units.kind[kept], minlength=len(units.kinds))
    total = np.bincount(units.kind[kept], units.gap(pair, kept), len(units.kinds))
    found = {name: float(total[k] / size[k]) for k, name in enumerate(units.kinds) if size[k]}
    return found if len(found) > 1 else {}


Couple = tuple[int, int]
"""Two columns of `Units`: the first run and the second."""


@dataclass(frozen=True, slots=True)
class RandomDraws:
    """The numbers of random draws, and the seed of each step."""

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
        """A part of the table: these clusters of these pairs."""
        return _Table(self.sums[clusters][..., pairs], self.counts[clusters][..., pairs])

    def difference(self) -> Floats:
        """The difference of each pair."""
        return mean_differences(self.sums.sum(axis=0), self.counts.sum(axis=0))

    def shares(self) -> Floats:
        """Each cluster's share of the difference, shape (clusters, pairs)."""
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
    """The pairs' contrasts on the wanted units, by micro or macro average."""
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
    """Contrasts of pairs in the same clusters, all resampled and flipped together."""
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
            method=resampled if errors[k] else "Wilson, groups as units (no variation to resample)",
        )
        for k, difference in enumerate(table.difference())
    ]


def _error(sums: Floats, counts: Floats) -> float | None:
    """The standard error; None with only one cluster, exactly 0 if clusters do not vary."""
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


def reduced_contrasts(
    measure: Measure,
    units: Units,
    wanted: Bools,
    couples: Sequence[Couple],
    draws: RandomDraws,
    *,
    macro: bool = False,
) -> list[Contrast]:
    """The pairs' contrasts by a measure that is not a mean, on the wanted units.

    The interval is a paired bootstrap of the difference over clusters. The test exchanges the two
    runs' values in whole clusters: sign flips for statistics that are not sums of differences.
    """
    strata = units.kind if macro else np.zeros_like(units.kind)
    return [
        _Reduced(measure, units, strata, couple, units.kept(couple) & wanted).contrast(draws)
        for couple in couples
    ]


@dataclass(frozen=True)
class _Reduced:
    """Two runs on some units, by a measure that is not a mean."""

    measure: Measure
    units: Units
    strata: Ints
    couple: Couple
    keep: Bools

    def contrast(self, draws: RandomDraws) -> Contrast:
        values = self.units.value[self.keep][:, self.couple]
        clusters = np.unique(self.units.cluster[self.keep], return_inverse=True)[1]
        size = int(clusters.max()) + 1
        differing = np.unique(clusters[np.abs(values[:, 0] - values[:, 1]) > ROUNDING])
        first, second = (self._reduce(values[:, k], slice(None)) for k in (0, 1))
        difference, error = first - second, 0.0 if size > 1 else None
        method = "Wilson, groups as units (no variation to resample)"
        low, high = unchanging_interval(difference, effective_size(np.bincount(clusters)), 0.95)
        if size > 1 and len(differing):
            rng, tail = draws.rng("bootstrap"), expanded_tail(size)
            drawn = resampled_values(
                lambda rows: self._difference(values[rows], rows), clusters, rng, draws.resamples
            )
            low, high = map(float, np.quantile(drawn, [tail, 1 - tail]))
            error = float(drawn.std(ddof=1))
            method = f"paired bootstrap over groups, {draws.resamples:,} resamples"
        exact = len(differing) <= EXACT_CLUSTERS
        return Contrast(
            first,
            second,
            difference=difference,
            low=low,
            high=high,
            p=self._exchange_p(values, clusters, differing, draws),
            naive_p=_naive(self.units, self.couple, self.keep),
            error=error,
            clusters=size,
            differing=len(differing),
            test=f"{'all' if exact else f'{draws.permutations:,}'} exchanges over groups",
            naive_test="McNemar, exact",
            method=method,
        )

    def _reduce(self, values: Floats, rows: Ints | slice) -> float:
        return self.measure.reduce_by(self.strata[self.keep][rows], values)

    def _difference(self, values: Floats, rows: Ints | slice = slice(None)) -> float:
        return self._reduce(values[:, 0], rows) - self._reduce(values[:, 1], rows)

    def _exchange_p(
        self, values: Floats, clusters: Ints, differing: Ints, draws: RandomDraws
    ) -> float:
        """Two-sided; all exchanges if few clusters differ, else p = (b + 1) / (m + 1)."""
        place = np.full(int(clusters.max()) + 1, -1)
        place[differing] = np.arange(len(differing))
        reached = abs(self._difference(values)) - ROUNDING

        def beyond(coins: Iterable[Floats | Ints]) -> int:
            number = 0
            for coin in coins:
                # Clusters that do not differ have index -1: the appended coin, which never swaps.
                swap = np.append(coin, 0)[place[clusters]].astype(bool)
                swapped = np.where(swap[:, None], values[:, ::-1], values)
                number += abs(self._difference(swapped)) >= reached
            return number

        if len(differing) <= EXACT_CLUSTERS:
            return beyond(every_coin(len(differing))) / (1 << len(differing))
        chunks = coin_chunks(len(differing), draws.permutations, draws.rng("flips"))
        return (sum(beyond(coins) for _, coins in chunks) + 1) / (draws.permutations + 1)

"""The same units side by side: what several runs made of each unit of a benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tellapart.benchmark.benchmark import Benchmark
from tellapart.measures.measure import Measure, Outcomes
from tellapart.measures.ties import TieRule
from tellapart.score.run import Run
from tellapart.types import Bools, Floats, Ints

ROUNDING = 1e-9
"""Values nearer than this are equal: thirds and sixths do not add up exactly."""


@dataclass(frozen=True, slots=True)
class Units:
    """All units that any of the runs covers: one row a unit, one column a run.

    A unit is an item and a place within it (its first question, its second, ...). A failed unit is
    covered and worth 0. `kind` and `cluster` are codes from 0, `kinds` the names of the kinds.
    """

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
        """Those of them that count: under the rule `drop` a tie of either leaves the unit out."""
        return np.asarray(self.shared(pair) & ~self.left_out[:, pair].any(axis=1))

    def gap(self, pair: tuple[int, int], kept: Bools) -> Floats:
        """First minus second on the units given."""
        return np.asarray(self.value[kept, pair[0]] - self.value[kept, pair[1]])


@dataclass(frozen=True, slots=True)
class Tally:
    """Every unit accounted for: won, lost or level, tied, failed, or covered by one run only."""

    won: int
    lost: int
    level: int
    n: int
    only_first: int
    only_second: int
    first_ties: int
    second_ties: int
    first_failed: int
    second_failed: int


def aligned(runs: Sequence[Run], measure: Measure, ties: TieRule) -> tuple[list[int], Units]:
    """The places of those runs that the measure applies to, and their units side by side."""
    reference = runs[0].benchmark
    found = [_in_order_of(reference, run, measure.outcomes(run, ties)) for run in runs]
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
    """A benchmark's hash does not depend on the order of its items, so runs may have another."""
    item = run.benchmark.items.places_in(reference.items)[outcomes.item]
    ordered = outcomes.where(np.argsort(item, kind="stable"))
    return replace(ordered, item=np.sort(item, kind="stable"))


def _place_in_item(item: Ints) -> Ints:
    """0, 1, ... for the units of each item; `item` is sorted."""
    _, first, how_many = np.unique(item, return_index=True, return_counts=True)
    return np.arange(len(item)) - np.repeat(first, how_many)


def tally(units: Units, pair: tuple[int, int], wanted: Bools) -> Tally:
    """Count a pair's units, among those wanted."""
    a, b = pair
    kept, both = units.kept(pair) & wanted, units.shared(pair) & wanted
    gap = units.gap(pair, kept)
    won, lost = int((gap > ROUNDING).sum()), int((gap < -ROUNDING).sum())
    return Tally(
        won=won,
        lost=lost,
        level=len(gap) - won - lost,
        n=len(gap),
        only_first=int((wanted & units.covered[:, a] & ~units.covered[:, b]).sum()),
        only_second=int((wanted & units.covered[:, b] & ~units.covered[:, a]).sum()),
        first_ties=int(units.tied[both, a].sum()),
        second_ties=int(units.tied[both, b].sum()),
        first_failed=int(units.failed[both, a].sum()),
        second_failed=int(units.failed[both, b].sum()),
    )


def kind_differences(measure: Measure, units: Units, pair: tuple[int, int]) -> dict[str, float]:
    """A pair's difference on each kind of item, where there are several kinds."""
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

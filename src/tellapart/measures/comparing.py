"""Every two runs on the units that both cover, and whether they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations

import numpy as np

from tellapart.errors import BadInput
from tellapart.measures.comparison import Comparison, Pair
from tellapart.measures.contrast import Couple, RandomDraws, contrasts, reduced_contrasts
from tellapart.measures.estimate import measures_of
from tellapart.measures.measure import Contrast, Measure
from tellapart.measures.pairing import ROUNDING, Units, aligned, kind_differences, tally
from tellapart.measures.ties import TieRule, check_rule
from tellapart.score.run import Run
from tellapart.stats.differences import holm
from tellapart.stats.power import ALPHA, detectable, needed
from tellapart.types import Bools

DRAWS = 10_000
LEAST_DRAWS = 100
"""Sign flips for each test that is corrected for, so that a corrected p can fall to 0.01."""


def compare_runs(
    runs: Sequence[Run],
    *,
    measures: Sequence[str] | None = None,
    ties: str = "wrong",
    by_kind: bool = False,
    resamples: int = DRAWS,
    permutations: int = DRAWS,
    seed: int = 0,
) -> Comparison:
    """Compare every two runs of each benchmark, measure by measure, on what both cover.

    The interval of a difference is a paired bootstrap over clusters (groups of items that share
    images), the test flips signs over clusters, and Holm's correction goes over all pairs of a
    benchmark and measure. `by_kind` adds the macro average and each kind of item, corrected over
    pairs and kinds together.
    """
    rule = check_rule(ties)
    if min(resamples, permutations) < 1:
        raise BadInput(
            f"{min(resamples, permutations)} random draws tell nothing",
            allowed="at least 1 resample and 1 permutation",
        )
    pairs: list[Pair] = []
    remarks: list[str] = []
    by_benchmark: dict[str, list[Run]] = {}
    for run in runs:
        by_benchmark.setdefault(run.benchmark.sha256, []).append(run)
    for sha256, together in by_benchmark.items():
        if len(together) < 2:
            remarks.append(f"{together[0]}: alone on its benchmark, nothing to compare it with")
            continue
        for measure in measures_of(together[0], measures):
            draws = RandomDraws(resamples, permutations, seed, (sha256, measure.name))
            places, units = aligned(together, measure, rule)
            comparer = _Comparer(together, measure, rule, draws, places, units)
            pairs += comparer.pairs(by_kind)
            remarks += comparer.remarks(by_kind)
    if not pairs:
        raise BadInput(
            "there is nothing to compare",
            where="; ".join(dict.fromkeys(remarks)),
            allowed="two runs or more on the same benchmark that share units",
            todo="make them with: tellapart evaluate MODEL MODEL --on BENCH --out RUNS",
        )
    return Comparison(tuple(pairs), tuple(dict.fromkeys(remarks)))


def labels(runs: Sequence[Run]) -> list[str]:
    """The models' names; where a model is there twice, with the run's folder or a number."""
    often = Counter(run.model for run in runs)
    made: list[str] = []
    for place, run in enumerate(runs, 1):
        name = run.model
        if often[name] > 1:
            name += f" ({run.folder.name if run.folder else f'run {place}'})"
        made.append(name if name not in made else f"{name} #{place}")
    return made


@dataclass(frozen=True)
class _Comparer:
    """All pairs of one benchmark's runs by one measure; `places`: the runs that it applies to."""

    runs: Sequence[Run]
    measure: Measure
    ties: TieRule
    draws: RandomDraws
    places: list[int]
    units: Units

    @property
    def couples(self) -> list[Couple]:
        """Every two columns that share units which count."""
        every = combinations(range(len(self.places)), 2)
        return [couple for couple in every if self.units.kept(couple).any()]

    def pairs(self, by_kind: bool) -> list[Pair]:
        """All runs against each other, corrected for one another; then kind by kind."""
        units = self.units
        everything = np.ones(len(units.kind), dtype=bool)
        own = [self._own_contrast(couple) for couple in self.couples]
        found = [contrast for contrast in own if contrast is not None]
        if found:
            return corrected(self._rows("micro", everything, self.couples, found))
        overall = corrected(self._compared("micro", everything))
        if not by_kind or len(units.kinds) < 2:
            return overall
        finer = self._compared("macro", everything, 1 + len(units.kinds))
        for code, kind in enumerate(units.kinds):
            finer += self._compared(kind, units.kind == code, 1 + len(units.kinds))
        return overall + corrected(finer)

    def _compared(self, kind: str, wanted: Bools, families: int = 1) -> list[Pair]:
        couples = [c for c in self.couples if (self.units.kept(c) & wanted).any()]
        if not couples:
            return []
        draws = replace(
            self.draws,
            purpose=(*self.draws.purpose, kind),
            permutations=max(self.draws.permutations, LEAST_DRAWS * families * len(couples)),
        )
        macro = kind == "macro"
        if self.measure.is_mean:
            found = contrasts(self.units, wanted, couples, draws, macro=macro)
        else:
            found = reduced_contrasts(self.measure, self.units, wanted, couples, draws, macro=macro)
        return self._rows(kind, wanted, couples, found)

    def _own_contrast(self, couple: Couple) -> Contrast | None:
        first, second = (self.runs[self.places[k]] for k in couple)
        return self.measure.contrast(first, second, self.ties)

    def _rows(
        self, kind: str, wanted: Bools, couples: list[Couple], found: list[Contrast]
    ) -> list[Pair]:
        names = labels(self.runs)
        spans = kind in ("micro", "macro") and self.measure.by_item
        return [
            Pair(
                benchmark=self.runs[0].benchmark.name,
                measure=self.measure.name,
                kind=kind,
                first=names[self.places[couple[0]]],
                second=names[self.places[couple[1]]],
                tie_rule=self.ties,
                p_holm=contrast.p,
                by_kind=kind_differences(self.measure, self.units, couple) if spans else {},
                **asdict(contrast),
                **asdict(tally(self.units, couple, wanted)),
            )
            for couple, contrast in zip(couples, found, strict=True)
        ]

    def _chances_differ(self, couple: Couple) -> bool:
        chance = self.units.chance[self.units.shared(couple)][:, couple]
        return not np.allclose(chance[:, 0], chance[:, 1])

    def remarks(self, by_kind: bool) -> Iterator[str]:
        """What a reader must know beside the numbers."""
        names = labels(self.runs)
        for place, name in enumerate(names):
            if place not in self.places:
                yield f"{self.measure.name} does not apply to {name}"
        for couple in combinations(range(len(self.places)), 2):
            if not self.units.kept(couple).any():
                who = " and ".join(names[self.places[k]] for k in couple)
                yield f"{who} share no unit of {self.measure.name} that counts"
        if any(self._chances_differ(couple) for couple in self.couples):
            yield f"by {self.measure.name} chance is not the same for all models (see measure)"
        if by_kind and not self.measure.by_item:
            yield f"{self.measure.name} compares all true captions with all foils: not by kind"


def corrected(pairs: list[Pair]) -> list[Pair]:
    """With Holm's correction over the pairs given, and what each would need to be seen.

    Needed units are those at Holm's first and strictest step, 5% divided by the number of pairs,
    so that they never contradict the marks.
    """
    if not pairs:
        return []
    adjusted = holm(np.array([pair.p for pair in pairs]))
    alpha = ALPHA / len(pairs)
    return [
        _with_needs(replace(pair, p_holm=float(p)), alpha)
        for pair, p in zip(pairs, adjusted, strict=True)
    ]


def _with_needs(pair: Pair, alpha: float) -> Pair:
    error = pair.error
    if not error:
        return pair
    pair = replace(pair, detectable=detectable(error, alpha=alpha))
    if abs(pair.difference) < ROUNDING:
        return pair
    size = needed(pair.difference, error, pair.n, pair.clusters, alpha=alpha)
    return replace(pair, needed_units=size.units, needed_clusters=size.clusters)

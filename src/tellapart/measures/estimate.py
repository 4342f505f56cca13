"""From outcomes to estimates: value, interval, chance level, and everything accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellapart import registry, seeds
from tellapart.measures.measure import Measure, Outcomes, Resampling
from tellapart.measures.ties import TieRule
from tellapart.questions import Ask
from tellapart.score.run import Run
from tellapart.stats.intervals import RESAMPLES, Interval, resampled_interval, strata_interval
from tellapart.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measured share (0 to 1) with its interval at 95% and what it stands on.

    `kind` is a kind of item, "micro" for all units alike, or "macro" for the mean of the kinds'
    means. `n` counts units, `clusters` the groups of items that share images.
    """

    benchmark: str
    model: str
    measure: str
    kind: str
    value: float
    low: float
    high: float
    chance: float
    n: int
    clusters: int
    ties: int
    failed: int
    tie_rule: TieRule
    method: str


def estimates(
    run: Run,
    measure: Measure,
    ties: TieRule = "wrong",
    *,
    by_kind: bool = True,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Estimate]:
    """Micro average first, then macro and each kind where there are several kinds.

    Empty where the measure does not apply to the run, or where its questions were never asked.
    """
    everything = measure.outcomes(run, ties)
    never_asked = not measure.asks <= set(run.card.asks) and bool(everything.failed.all())
    if not len(everything.item) or never_asked:
        return []
    estimator = _Estimator(run, measure, ties, resamples, seed)
    made = [estimator.estimate("micro", everything)]
    names, kind_of_item = run.benchmark.items.kinds
    kind = kind_of_item[everything.item]
    kinds = np.unique(kind)
    if by_kind and len(kinds) > 1:
        made.append(estimator.estimate("macro", everything))
        made += [estimator.estimate(names[k], everything.where(kind == k)) for k in kinds]
    return made


@dataclass(frozen=True)
class _Estimator:
    """Turns outcomes into an estimate; the same for every kind of item."""

    run: Run
    measure: Measure
    ties: TieRule
    resamples: int
    seed: int

    def estimate(self, kind: str, outcomes: Outcomes) -> Estimate:
        """The mean over the outcomes of a kind, with all that goes beside it."""
        kept = outcomes.kept(self.ties)
        clusters = _renumbered(self.run.benchmark.items.groups[1][kept.item])
        value, chance, interval = 0.0, 0.0, Interval(0.0, 1.0, "every unit is a tie and left out")
        if len(kept.item):
            value, chance, interval = self._mean(kind, kept, clusters)
        return Estimate(
            benchmark=self.run.benchmark.name,
            model=self.run.model,
            measure=self.measure.name,
            kind=kind,
            value=value,
            low=interval.low,
            high=interval.high,
            chance=chance,
            n=len(kept.item),
            clusters=int(clusters.max()) + 1 if len(clusters) else 0,
            ties=int(outcomes.tied.sum()),
            failed=int(outcomes.failed.sum()),
            tie_rule=self.ties,
            method=interval.method,
        )

    def _mean(self, kind: str, kept: Outcomes, clusters: Ints) -> tuple[float, float, Interval]:
        rng = seeds.rng(self.seed, "bootstrap", self.run.benchmark.sha256, self.measure.name, kind)
        if kind == "macro":
            strata = _renumbered(self.run.benchmark.items.kinds[1][kept.item])
            interval = self._macro_interval(kept.value, strata, clusters, rng)
            return self._macro(kept.value, strata), self._macro(kept.chance, strata), interval
        resampling = Resampling(clusters, rng, self.resamples, whole=kind == "micro")
        interval = self.measure.interval(self.run, self.ties, kept, resampling)
        return self.measure.reduce(kept.value), self.measure.reduce(kept.chance), interval

    def _macro(self, values: Floats, strata: Ints) -> float:
        """The mean of the kinds' values."""
        if self.measure.is_mean:
            return float(np.mean(np.bincount(strata, values) / np.bincount(strata)))
        return self.measure.reduce_by(strata, values)

    def _macro_interval(
        self, values: Floats, strata: Ints, clusters: Ints, rng: np.random.Generator
    ) -> Interval:
        if self.measure.is_mean:
            return strata_interval(values, strata, clusters, rng, self.resamples)
        return resampled_interval(
            lambda rows: self.measure.reduce_by(strata[rows], values[rows]),
            clusters,
            rng,
            self.resamples,
        )


def _renumbered(codes: Ints) -> Ints:
    """Codes as numbers from 0 without gaps, in their order."""
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def measures_of(run: Run, names: Sequence[str] | None = None) -> list[Measure]:
    """The measures asked for, or those that the run's benchmark names."""
    return [registry.measures.get(name) for name in names or run.benchmark.card.measures]


def asks_of(measures: Sequence[str]) -> frozenset[Ask]:
    """The questions that some measures read."""
    return frozenset().union(*(registry.measures.get(name).asks for name in measures))

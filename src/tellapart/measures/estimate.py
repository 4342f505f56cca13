"""From outcomes to estimates: value, interval, chance level, and everything accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellapart import registry, seeds
from tellapart.measures.foil import TIE_VALUES, AucMeasure, judged_cells
from tellapart.measures.outcomes import Ints, Measure, Outcomes
from tellapart.measures.ties import Floats, TieRule
from tellapart.questions import Ask
from tellapart.score.run import Run
from tellapart.stats.intervals import RESAMPLES, Interval, mean_interval, strata_interval
from tellapart.stats.roc import auc


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
    kinds = sorted({run.benchmark.items[k].kind for k in everything.item})
    if by_kind and len(kinds) > 1:
        made.append(estimator.estimate("macro", everything))
        of_kind = np.array([run.benchmark.items[k].kind for k in everything.item])
        made += [estimator.estimate(kind, everything.where(of_kind == kind)) for kind in kinds]
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
        clusters = _codes([self.run.benchmark.items[k].group for k in kept.item])
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
            clusters=len(np.unique(clusters)),
            ties=int(outcomes.tied.sum()),
            failed=int(outcomes.failed.sum()),
            tie_rule=self.ties,
            method=interval.method,
        )

    def _mean(self, kind: str, kept: Outcomes, clusters: Ints) -> tuple[float, float, Interval]:
        rng = seeds.rng(self.seed, "bootstrap", self.run.benchmark.sha256, self.measure.name, kind)
        if kind == "macro":
            strata = _codes([self.run.benchmark.items[k].kind for k in kept.item])
            interval = strata_interval(kept.value, strata, clusters, rng, self.resamples)
            return _macro(kept.value, strata), _macro(kept.chance, strata), interval
        if isinstance(self.measure, AucMeasure) and kind == "micro":
            interval = _auc_interval(self.run, self.ties)
        else:
            interval = mean_interval(kept.value, clusters, rng, self.resamples)
        return float(kept.value.mean()), float(kept.chance.mean()), interval


def _codes(names: list[str]) -> Ints:
    """Names as numbers from 0."""
    return np.unique(np.array(names), return_inverse=True)[1].astype(np.intp)


def _macro(values: Floats, strata: Ints) -> float:
    return float(np.mean(np.bincount(strata, values) / np.bincount(strata)))


def _auc_interval(run: Run, ties: TieRule) -> Interval:
    """The foils vary too, which a mean over true captions does not know."""
    cells = judged_cells(run)
    score = np.where(np.isnan(cells.score), np.where(cells.true, -np.inf, np.inf), cells.score)
    yes, no = cells.true, ~cells.true
    tie = 0.5 if ties == "drop" else TIE_VALUES[ties]
    return auc(score[yes], score[no], cells.group[yes], cells.group[no], tie)[1]


def measures_of(run: Run, names: Sequence[str] | None = None) -> list[Measure]:
    """The measures asked for, or those that the run's benchmark names."""
    return [registry.measures.get(name) for name in names or run.benchmark.card.measures]


def asks_of(measures: Sequence[str]) -> frozenset[Ask]:
    """The questions that some measures read."""
    return frozenset().union(*(registry.measures.get(name).asks for name in measures))

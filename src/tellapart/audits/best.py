"""The best of several cues, chosen on other images than those that it is counted on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tellapart.audits.guessing import Fixed
from tellapart.audits.sheet import folds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.measures.estimate import Estimate, estimates
from tellapart.measures.outcomes import Measure, Outcomes
from tellapart.measures.ties import Floats
from tellapart.score.run import Run

NOTHING = "nothing (chance)"


@dataclass(frozen=True, slots=True)
class Best:
    """The best guess by one measure on one kind of items, ties halved.

    `cue` names what was chosen in most folds first; `fair` is False where all items hang
    together through shared images, so that the choice was made on the items it is counted on.
    """

    cue: str
    fair: bool
    estimate: Estimate

    def to_json(self) -> dict[str, Any]:
        """Flat, for `--json`."""
        estimate = {k: v for k, v in asdict(self.estimate).items() if k != "model"}
        return {"cue": self.cue, "chosen_on_other_images": self.fair, **estimate}


def best_guesses(
    run: Run, measure: Measure, candidates: Mapping[str, Outcomes], resamples: int
) -> list[Best]:
    """Chosen on all items together (micro), and for each kind by itself (macro is their mean).

    `run` is any run of the candidates' benchmark: it lends its name and its items.
    """
    benchmark = run.benchmark
    whole, cue, fair = choose(benchmark, candidates)
    fixed = Fixed(measure.name, measure.asks, whole)
    (micro,) = estimates(run, fixed, "half", by_kind=False, resamples=resamples)
    best = [Best(cue, fair, micro)]
    of_kind = np.array([benchmark.items[k].kind for k in whole.item])
    kinds = sorted(set(of_kind))
    if len(kinds) < 2:
        return best
    parts = {
        kind: choose(benchmark, {n: o.where(of_kind == kind) for n, o in candidates.items()})
        for kind in kinds
    }
    joined = Outcomes.joined([outcomes for outcomes, *_ in parts.values()])
    fixed = Fixed(measure.name, measure.asks, joined)
    for estimate in estimates(run, fixed, "half", resamples=resamples)[1:]:
        _, cue, fair = parts.get(
            estimate.kind, (joined, "the best of each kind", all(f for *_, f in parts.values()))
        )
        best.append(Best(cue, fair, estimate))
    return best


def choose(benchmark: Benchmark, candidates: Mapping[str, Outcomes]) -> tuple[Outcomes, str, bool]:
    """The outcomes of the best cue, cross-fitted over groups, its name, and whether that was fair.

    Guessing at random is always among the candidates: a cue must be above chance on the other folds
    by three standard errors to be taken (many are tried). Between equals the first wins.
    """
    first = next(iter(candidates.values()))
    fold = folds([item.group for item in benchmark.items])[first.item]
    values = {NOTHING: first.chance, **{name: one.value for name, one in candidates.items()}}
    value, tied = np.zeros(len(first.item)), np.ones(len(first.item), dtype=bool)
    taken: Counter[str] = Counter()
    fair = True
    for k in np.unique(fold):
        here, others = fold == k, fold != k
        if not others.any():
            others, fair = here, False
        means = {
            name: _above_chance(one[others], first.chance[others]) for name, one in values.items()
        }
        name = max(means, key=means.__getitem__)
        value[here] = values[name][here]
        if name in candidates:
            tied[here] = candidates[name].tied[here]
        taken[name] += int(here.sum())
    cue = " / ".join(name for name, _ in taken.most_common())
    return replace(first, value=value, tied=tied), cue, fair


def _above_chance(value: Floats, chance: Floats) -> float:
    """The mean lead over chance; 0 where it is within three standard errors."""
    lead = value - chance
    mean = float(lead.mean())
    noise = 3 * float(lead.std()) / np.sqrt(len(lead))
    return round(mean, 12) if mean > noise else min(mean, 0.0)

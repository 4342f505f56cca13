"""From guessers to guesses: runs in memory, read by the project's own measures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from tellapart import registry
from tellapart.audits.cues import Guesser, Sees
from tellapart.audits.sheet import Sheet
from tellapart.benchmark.benchmark import Benchmark
from tellapart.measures.choice import ChoiceMeasure
from tellapart.measures.estimate import Estimate, estimates
from tellapart.measures.foil import AucMeasure, JudgeMeasure
from tellapart.measures.outcomes import Measure, Outcomes
from tellapart.measures.ties import Floats, TieRule
from tellapart.questions import Ask
from tellapart.score.run import Run

GRID_MEASURES = ("I2T", "T2I", "Group", "Ipos2T", "Ineg2T", "Tpos2I", "Tneg2I")
SIDES = {"caption": Ask.CAPTION, "image": Ask.IMAGE}


@dataclass(frozen=True, slots=True)
class Guess:
    """How far one cue gets: the estimate with ties halved, and the share with ties wrong, right."""

    family: str
    cue: str
    sees: Sees
    asked: str
    estimate: Estimate
    wrong: float
    right: float

    @property
    def lift(self) -> float:
        """How much of the way from chance to perfect: below 0 is worse than chance."""
        return lift(self.estimate)

    def to_json(self) -> dict[str, Any]:
        """Flat, for `--json`."""
        own = {name: getattr(self, name) for name in ("family", "cue", "sees", "asked")}
        estimate = {k: v for k, v in asdict(self.estimate).items() if k != "model"}
        return {**own, **estimate, "ties_wrong": self.wrong, "ties_right": self.right}


def lift(estimate: Estimate) -> float:
    """How much of the way from chance to perfect."""
    room = 1 - estimate.chance
    return (estimate.value - estimate.chance) / room if room else 0.0


@dataclass(frozen=True)
class Fixed:
    """A measure whose outcomes are there already: so that they are averaged as all others are."""

    name: str
    asks: frozenset[Ask]
    found: Outcomes
    about: str = ""
    cites: str = ""

    def outcomes(self, run: Run, ties: TieRule) -> Outcomes:
        """What was found before."""
        return self.found


def measures_for(benchmark: Benchmark, side: str) -> list[Measure]:
    """The measures that a guesser of one side can be read by.

    Those of the card, those of 2 x 2 grids where there are any, and accuracy for other grids. A
    side is "caption" (also T1), "image", or "both" (whole 2 x 2 grids).
    """
    shapes = {(len(item.images), len(item.captions)) for item in benchmark.items}
    names = dict.fromkeys(benchmark.card.measures)
    names |= dict.fromkeys(GRID_MEASURES if (2, 2) in shapes else ())
    names |= dict.fromkeys(["accuracy"] if shapes - {(2, 2), (1, 1)} else ())
    found = (_sided(registry.measures.get(name), side) for name in names)
    return [measure for measure in found if measure is not None]


def _sided(measure: Measure, side: str) -> Measure | None:
    """The measure as far as it asks about one side; None where it does not."""
    if isinstance(measure, JudgeMeasure | AucMeasure):
        return measure if side == "caption" and not one_sided(measure) else None
    if not isinstance(measure, ChoiceMeasure):
        return None
    if side == "both":
        return measure if measure.grid == (2, 2) else None
    asks = frozenset({SIDES[side]})
    if measure.asks == asks:
        return measure
    return replace(measure, asks=asks) if asks < measure.asks and not measure.together else None


def one_sided(measure: Measure) -> bool:
    """Whether always saying the same makes it perfect: T1 on true captions or foils alone."""
    return isinstance(measure, JudgeMeasure) and measure.only is not None


def word_measures(benchmark: Benchmark) -> list[Measure]:
    """FOIL's T2 and T3, where the card names them."""
    named = (registry.measures.get(name) for name in benchmark.card.measures)
    return [m for m in named if m.asks & {Ask.NOUN, Ask.WORD, Ask.MEND}]


def asked_by(measure: Measure) -> str:
    """The sort of question that a measure reads, in words."""
    if len(measure.asks) > 1:
        return "whole grid"
    (ask,) = measure.asks
    names = {Ask.CAPTION: "caption choice", Ask.IMAGE: "image choice", Ask.JUDGE: "judge"}
    return names.get(ask, "word")


def ways(guesser: Guesser, sheet: Sheet) -> Iterator[tuple[str, Run]]:
    """The guesser's run, and the one with its scores turned round where that makes sense."""
    scores = guesser.scores(sheet)
    yield guesser.name, sheet.run(guesser.name, scores)
    if guesser.reverse:
        yield guesser.reverse, sheet.run(guesser.reverse, -scores)


def guesses(
    guesser: Guesser, sheet: Sheet, measures: Iterable[Measure], resamples: int
) -> Iterator[tuple[Guess, Outcomes]]:
    """Every way of using a cue by every measure: micro, macro and kinds, with the outcomes."""
    wanted = list(measures)
    for name, run in ways(guesser, sheet):
        for measure in wanted:
            half = measure.outcomes(run, "half")
            if not len(half.item):
                continue
            others = [measure.outcomes(run, rule).value for rule in ("wrong", "right")]
            fixed = measure if isinstance(measure, AucMeasure) else _fixed(measure, half)
            for estimate in estimates(run, fixed, "half", resamples=resamples):
                wrong, right = (_mean(run, half, value, estimate.kind) for value in others)
                asked = asked_by(measure)
                yield (
                    Guess(guesser.family, name, guesser.sees, asked, estimate, wrong, right),
                    half,
                )


def _fixed(measure: Measure, found: Outcomes) -> Fixed:
    return Fixed(measure.name, measure.asks, found)


def _mean(run: Run, units: Outcomes, value: Floats, kind: str) -> float:
    if kind == "micro":
        return float(value.mean())
    kinds = np.array([run.benchmark.items[k].kind for k in units.item])
    if kind == "macro":
        return float(np.mean([value[kinds == one].mean() for one in np.unique(kinds)]))
    return float(value[kinds == kind].mean())

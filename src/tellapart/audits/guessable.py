"""`guessable`: the best text-only guess for each measure, to stand beside every score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tellapart import registry
from tellapart.audits.best import Best, best_guesses
from tellapart.audits.cues import Guesser, text_guessers
from tellapart.audits.frequency import FREQUENCY
from tellapart.audits.guessing import one_sided, ways, word_measures
from tellapart.audits.learned import TOGETHER, caption_pairs
from tellapart.audits.printing import percent
from tellapart.audits.sheet import Sheet, sheet_of
from tellapart.benchmark.benchmark import Benchmark
from tellapart.measures.outcomes import Measure, Outcomes
from tellapart.questions import Ask
from tellapart.score.cells import GRID_ASKS
from tellapart.score.engine import sample
from tellapart.stats.intervals import RESAMPLES
from tellapart.text.aligned import aligned

WORD_ITEMS = 1_000
"""T2 and T3 multiply captions by words and candidates: a sample of so many items is enough."""


@dataclass(frozen=True, slots=True)
class Guessable:
    """What a guesser gets who reads captions and never looks at a picture, by measure and kind."""

    benchmark: str
    rows: tuple[Best, ...]

    def of(self, measure: str, kind: str = "micro") -> Best:
        """The best guess by a measure on a kind (or "micro", "macro")."""
        return next(
            row for row in self.rows if (row.estimate.measure, row.estimate.kind) == (measure, kind)
        )

    def to_json(self) -> list[dict[str, Any]]:
        """For `--json`."""
        return [row.to_json() for row in self.rows]

    def __str__(self) -> str:
        heads = ("measure", "kind", "best guess from the text alone", "score", "chance", "n")
        return aligned([heads, *(_line(row) for row in self.rows)], range(3))


def _line(row: Best) -> tuple[str, ...]:
    own = row.estimate
    cue = row.cue + ("" if row.fair else " (chosen on these items)")
    return own.measure, own.kind, cue, percent(own.value), percent(own.chance), f"{own.n:,}"


def guessable(benchmark: Benchmark, *, resamples: int = RESAMPLES) -> Guessable:
    """The best guess from captions alone by each of the card's measures, ties halved.

    The cue (length, marks, capitals, word frequency, all together) is chosen on other groups of
    images than those that it is counted on; where none helps, as in a balanced grid, the guess
    is chance. No picture is opened, no language model fitted.
    """
    named = [registry.measures.get(name) for name in benchmark.card.measures]
    words = word_measures(benchmark)
    rows: list[Best] = []
    grid = [measure for measure in named if measure.asks <= GRID_ASKS]
    if grid:
        rows += _best(sheet_of(benchmark), grid, resamples)
    if words:
        rows += _best(word_sheet(benchmark), words, resamples)
    places = {name: k for k, name in enumerate(benchmark.card.measures)}
    rows.sort(key=lambda row: places[row.estimate.measure])
    return Guessable(benchmark.name, tuple(rows))


def word_sheet(benchmark: Benchmark) -> Sheet:
    """The edited captions that T2 and T3 need, of a seeded sample of the items with a slot."""
    items = [item for item in benchmark.items if item.slot is not None]
    return sheet_of(benchmark, frozenset(Ask), sample(items, WORD_ITEMS, 0))


def readers(sheet: Sheet) -> list[Guesser]:
    """The guessers that need nothing but captions and no time."""
    together = [TOGETHER] if len(caption_pairs(sheet)) else []
    return [*text_guessers(), FREQUENCY, *together]


def _best(sheet: Sheet, measures: list[Measure], resamples: int) -> list[Best]:
    candidates: dict[str, dict[str, Outcomes]] = {measure.name: {} for measure in measures}
    for guesser in readers(sheet):
        for name, run in ways(guesser, sheet):
            for measure in measures:
                outcomes = measure.outcomes(run, "half")
                if len(outcomes.item):
                    candidates[measure.name][name] = outcomes
    plain = sheet.plain_run("text-only guess")
    for measure in filter(one_sided, measures):
        candidates[measure.name] = {"constant": measure.outcomes(plain, "half")}
    return [
        best
        for measure in measures
        if candidates[measure.name]
        for best in best_guesses(plain, measure, candidates[measure.name], resamples)
    ]

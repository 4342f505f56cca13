"""Guesses: a guesser's score by each measure, and the best guesser, chosen on other images.

A guesser's scores are a run in memory, read by the usual measures. `guessable` is the best guess
from captions alone by each measure, to show beside every score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from tellapart import registry
from tellapart.attack.attack import Hit
from tellapart.attack.text_alone import TextAlone, read_by, text_alone
from tellapart.audits.guessers import Guesser, Sees, text_guessers
from tellapart.audits.sheet import GuessSheet, folds, sheet_of
from tellapart.benchmark.benchmark import Benchmark
from tellapart.measures.measure import Measure, Outcomes
from tellapart.measures.overview import BEST_CUE, TEXT_ALONE, ReferenceLine
from tellapart.measures.scores import Estimate, estimates
from tellapart.measures.ties import TieRule
from tellapart.questions import Ask
from tellapart.score.cells import GRID_ASKS
from tellapart.score.engine import sample
from tellapart.score.run import Run
from tellapart.stats.intervals import RESAMPLES
from tellapart.text.table_text import aligned, percent
from tellapart.types import Floats, Progress, silent

GRID_MEASURES = ("I2T", "T2I", "Group", "Ipos2T", "Ineg2T", "Tpos2I", "Tneg2I")
NOTHING = "no cue"
"""Stands for random guessing, when no cue is above chance."""
MATCHING = 0.5
"""Chance of a guesser that judges images and captions separately: products of two scores match both
captions of a grid rightly, or both wrongly."""
WORD_ITEMS = 1_000
"""T2 and T3 multiply captions by words and candidates, so a sample of this size is used."""


@dataclass(frozen=True, slots=True)
class Guess:
    """A cue's score: the estimate with ties halved, and the scores with ties wrong or right."""

    family: str
    cue: str
    sees: Sees
    asked: str
    estimate: Estimate
    wrong: float
    right: float

    @property
    def lift(self) -> float:
        """The fraction of the gap between chance and 100% that is closed; negative below chance."""
        return lift(self.estimate)

    def to_json(self) -> dict[str, Any]:
        """Flat, for `--json`."""
        own = {name: getattr(self, name) for name in ("family", "cue", "sees", "asked")}
        return {**own, **_fields(self.estimate), "ties_wrong": self.wrong, "ties_right": self.right}


def _fields(estimate: Estimate) -> dict[str, Any]:
    return {name: value for name, value in asdict(estimate).items() if name != "model"}


def lift(estimate: Estimate) -> float:
    """The fraction of the gap between chance and 100% that an estimate closes."""
    room = 1 - estimate.chance
    return (estimate.value - estimate.chance) / room if room else 0.0


@dataclass(frozen=True)
class FixedMeasure(Measure):
    """A measure whose outcomes are given; they are averaged like those of any measure."""

    name: str
    asks: frozenset[Ask]
    known: Outcomes
    about: str = ""
    cites: str = ""

    def outcomes(self, run: Run, ties: TieRule) -> Outcomes:
        """The given outcomes, whatever the run and the tie rule."""
        return self.known


def measures_for(benchmark: Benchmark, side: str) -> list[Measure]:
    """The measures that apply to a guesser of one side.

    These are the card's, those of 2 x 2 grids if there are any, and accuracy for other grids. A
    side is "caption" (also T1), "image", or "both" (whole 2 x 2 grids).
    """
    shapes = benchmark.items.shapes
    names = dict.fromkeys(benchmark.card.measures)
    names |= dict.fromkeys(GRID_MEASURES if (2, 2) in shapes else ())
    names |= dict.fromkeys(["accuracy"] if shapes - {(2, 2), (1, 1)} else ())
    of_side = (registry.measures.get(name).about_side(side) for name in names)
    return [measure for measure in of_side if measure is not None]


def word_measures(benchmark: Benchmark) -> list[Measure]:
    """FOIL's T2 and T3, if the card names them."""
    named = (registry.measures.get(name) for name in benchmark.card.measures)
    return [m for m in named if m.asks & {Ask.NOUN, Ask.WORD, Ask.MEND}]


def asked_by(measure: Measure) -> str:
    """The kind of question that a measure reads, in words."""
    if len(measure.asks) > 1:
        return "whole grid"
    (ask,) = measure.asks
    names = {Ask.CAPTION: "caption choice", Ask.IMAGE: "image choice", Ask.JUDGE: "judge"}
    return names.get(ask, "word")


def ways(guesser: Guesser, sheet: GuessSheet) -> Iterator[tuple[str, Run]]:
    """The guesser's run, and the run with negated scores if that makes sense."""
    scores = guesser.scores(sheet)
    yield guesser.name, sheet.run(guesser.name, scores)
    if guesser.reverse:
        yield guesser.reverse, sheet.run(guesser.reverse, -scores)


def guesses(
    guesser: Guesser, sheet: GuessSheet, measures: Sequence[Measure], resamples: int
) -> Iterator[tuple[Guess, Outcomes]]:
    """Both directions of a cue by every measure: micro, macro and kinds, with the outcomes."""
    for name, run in ways(guesser, sheet):
        for measure in measures:
            half = measure.outcomes(run, "half")
            if not len(half.item):
                continue
            if guesser.sees == "both":
                half = replace(half, chance=np.full(len(half.item), MATCHING))
            others = [measure.outcomes(run, rule).value for rule in ("wrong", "right")]
            fixed = FixedMeasure(measure.name, measure.asks, half)
            read = fixed if measure.by_item else measure
            for estimate in estimates(run, read, "half", resamples=resamples):
                wrong, right = (_mean(run, half, value, estimate.kind) for value in others)
                asked = asked_by(measure)
                guess = Guess(guesser.family, name, guesser.sees, asked, estimate, wrong, right)
                yield guess, half


def _mean(run: Run, units: Outcomes, value: Floats, kind: str) -> float:
    if kind == "micro":
        return float(value.mean())
    names, kind_of_item = run.benchmark.items.kinds
    kinds = kind_of_item[units.item]
    if kind == "macro":
        return float(np.mean([value[kinds == one].mean() for one in np.unique(kinds)]))
    return float(value[kinds == names.index(kind)].mean())


@dataclass(frozen=True, slots=True)
class BestGuess:
    """The best guess by one measure on one kind of items, ties halved.

    `cue` names the chosen cues, most frequent over folds first; `fair` is False if all items are
    connected through shared images, so that the choice was made on the same items it is scored on.
    `source` is what an attacker learned from; a single cue has none.
    """

    cue: str
    fair: bool
    estimate: Estimate
    source: str = ""

    @property
    def label(self) -> str:
        """The cue, with a warning if it was chosen on the items it is scored on."""
        return self.told + ("" if self.fair else " (chosen on these items)")

    @property
    def told(self) -> str:
        """The attacker or cue in words; on some images no cue may be above chance."""
        if self.cue == NOTHING:
            return "no cue above chance"
        cues = [name for name in self.cue.split(" / ") if name != NOTHING]
        return " / ".join(cues) + (" (on some images)" if NOTHING in self.cue.split(" / ") else "")

    def line(self, benchmark: str) -> ReferenceLine:
        """The reference line that models on a benchmark are compared with, by its label."""
        own = self.estimate
        label = TEXT_ALONE if self.source else BEST_CUE
        note = f"{self.told}; {self.source}" if self.source else self.told
        return ReferenceLine(label, benchmark, own.measure, own.value, own.low, own.high, note)

    def to_json(self) -> dict[str, Any]:
        """Flat, for `--json`."""
        told = {"source": self.source} if self.source else {}
        fair = {"chosen_on_other_images": self.fair}
        return {"cue": self.cue, **told, **fair, **_fields(self.estimate)}


def best_guesses(
    run: Run, measure: Measure, candidates: Mapping[str, Outcomes], resamples: int
) -> list[BestGuess]:
    """The best on all items together (micro), and on each kind by itself (macro is their mean).

    `run` is any run of the candidates' benchmark; only its name and items are used.
    """
    benchmark = run.benchmark
    whole, cue, fair = choose(benchmark, candidates)
    fixed = FixedMeasure(measure.name, measure.asks, whole)
    (micro,) = estimates(run, fixed, "half", by_kind=False, resamples=resamples)
    best = [BestGuess(cue, fair, micro)]
    of_kind = benchmark.items.frame["kind"].to_numpy()[whole.item]
    kinds = sorted(set(of_kind))
    if len(kinds) < 2:
        return best
    parts = {
        kind: choose(benchmark, {n: o.where(of_kind == kind) for n, o in candidates.items()})
        for kind in kinds
    }
    joined = Outcomes.joined([outcomes for outcomes, *_ in parts.values()])
    fixed = FixedMeasure(measure.name, measure.asks, joined)
    for estimate in estimates(run, fixed, "half", resamples=resamples)[1:]:
        _, cue, fair = parts.get(
            estimate.kind, (joined, "the best of each kind", all(f for *_, f in parts.values()))
        )
        best.append(BestGuess(cue, fair, estimate))
    return best


def choose(benchmark: Benchmark, candidates: Mapping[str, Outcomes]) -> tuple[Outcomes, str, bool]:
    """The outcomes of the best cue, cross-fitted over groups, its name, and whether that was fair.

    Random guessing is always a candidate: because many cues are tried, a cue must be three standard
    errors above chance on the other folds to be chosen. The first of equals wins.
    """
    first = next(iter(candidates.values()))
    fold = folds(benchmark.items.frame["group"].to_list())[first.item]
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
    """The mean lead over chance; 0 if it is within three standard errors."""
    lead = value - chance
    mean = float(lead.mean())
    noise = 3 * float(lead.std()) / np.sqrt(len(lead))
    return round(mean, 12) if mean > noise else min(mean, 0.0)


@dataclass(frozen=True, slots=True)
class Guessable:
    """The score of a guesser that reads captions and never looks, by measure and kind."""

    benchmark: str
    rows: tuple[BestGuess, ...]

    def of(self, measure: str, kind: str = "micro") -> BestGuess:
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


def _line(row: BestGuess) -> tuple[str, ...]:
    own = row.estimate
    return own.measure, own.kind, row.label, percent(own.value), percent(own.chance), f"{own.n:,}"


def guessable(
    benchmark: Benchmark, *, resamples: int = RESAMPLES, progress: Progress = silent
) -> Guessable:
    """The best guess from captions alone by each of the card's measures, ties halved.

    For choices among captions it is the stronger attacker's score (`attack/text_alone.py`): the
    card's figure, or one learned from the true captions of other images. Otherwise, and with few
    items, it is a cue (length, marks, capitals, word frequency, all together) chosen on groups of
    images other than those it is scored on; if none helps, as in a balanced grid, the guess is
    chance. No picture is opened.
    """
    names = benchmark.card.measures
    attacked = [name for name in names if name in read_by(benchmark)]
    known = text_alone(benchmark, progress=progress) if attacked else None
    rows = [row for name in attacked if known for row in _attacked(benchmark, name, known)]
    named = [registry.measures.get(name) for name in names if not (rows and name in attacked)]
    words = word_measures(benchmark)
    grid = [measure for measure in named if measure.asks <= GRID_ASKS]
    if grid:
        rows += best_cues(sheet_of(benchmark), grid, resamples)
    if words:
        rows += best_cues(word_sheet(benchmark), words, resamples)
    places = {name: k for k, name in enumerate(names)}
    rows.sort(key=lambda row: places[row.estimate.measure])
    return Guessable(benchmark.name, tuple(rows))


def _attacked(benchmark: Benchmark, measure: str, known: TextAlone) -> list[BestGuess]:
    """The attacker's scores, as far as known: overall, the mean of kinds, each kind."""
    hits = [replace(known.overall, kind="micro")]
    if len(known.kinds) > 1:
        hits += [_mean_of_kinds(known), *known.kinds]
    groups = int(benchmark.items.groups[1].max()) + 1
    return [
        BestGuess(
            known.attacker,
            True,
            Estimate(
                benchmark.name, "text alone", measure, hit.kind, hit.value, hit.low, hit.high,
                hit.chance, hit.n, groups, 0, 0, "half", "as attacked",
            ),
            known.source,
        )
        for hit in hits
    ]  # fmt: skip


def _mean_of_kinds(known: TextAlone) -> Hit:
    """The mean of the kinds' scores; its interval takes the kinds as independent."""
    number = len(known.kinds)
    half = float(np.sqrt(sum((hit.high - hit.low) ** 2 for hit in known.kinds))) / 2 / number
    value, chance = (
        float(np.mean([getattr(hit, name) for hit in known.kinds])) for name in ("value", "chance")
    )
    return Hit("macro", value, value - half, value + half, chance, known.overall.n)


def word_sheet(benchmark: Benchmark) -> GuessSheet:
    """The edited captions that T2 and T3 need, for a seeded sample of the items with a slot."""
    items = benchmark.items.where(pl.col("slot").struct.field("caption").is_not_null())
    return sheet_of(benchmark, frozenset(Ask), sample(items, WORD_ITEMS, 0))


def best_cues(sheet: GuessSheet, measures: list[Measure], resamples: int) -> list[BestGuess]:
    """The best single cue in the captions by each measure, chosen on other images."""
    candidates: dict[str, dict[str, Outcomes]] = {measure.name: {} for measure in measures}
    for guesser in text_guessers(sheet):
        for name, run in ways(guesser, sheet):
            for measure in measures:
                outcomes = measure.outcomes(run, "half")
                if len(outcomes.item):
                    candidates[measure.name][name] = outcomes
    plain = sheet.plain_run("text-only guess")
    for measure in (measure for measure in measures if measure.one_sided):
        candidates[measure.name] = {"constant": measure.outcomes(plain, "half")}
    return [
        best
        for measure in measures
        if candidates[measure.name]
        for best in best_guesses(plain, measure, candidates[measure.name], resamples)
    ]

"""The verb `audit`: what can be guessed without looking, and what is odd about the items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tellapart.audits.best import Best, best_guesses
from tellapart.audits.cues import Guesser, Sees, place_guessers
from tellapart.audits.foil_rules import foil_rules
from tellapart.audits.guessable import readers, word_sheet
from tellapart.audits.guessing import Guess, asked_by, guesses, measures_for, word_measures
from tellapart.audits.language import lm_guesser, ngram_guesser
from tellapart.audits.looking import detectors, image_guessers, look
from tellapart.audits.overlap import overlap
from tellapart.audits.results import Audit
from tellapart.audits.sheet import Sheet, sheet_of
from tellapart.audits.structure import structure
from tellapart.benchmark.benchmark import Benchmark, load_benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.measures.outcomes import Measure, Outcomes
from tellapart.stats.intervals import RESAMPLES

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What an audit may be told.

    `lm` is the name or folder of a causal language model for transformers; `images` says whether
    pictures are opened, of at most `picture_items` items; `ngrams` whether the n-gram model is
    fitted. `synonyms` says which category a word names, for FOIL's rules.
    """

    lm: str = ""
    images: bool = True
    picture_items: int = 2_000
    ngrams: bool = True
    synonyms: Mapping[str, str] = field(default_factory=dict)
    resamples: int = RESAMPLES
    progress: Progress = lambda label, done, total: None


def audit(
    where: Benchmark | Path | str,
    *,
    corpus: Corpus | None = None,
    overlap_with: Corpus | Benchmark | None = None,
    options: AuditOptions = AuditOptions(),  # noqa: B008 (frozen)
) -> Audit:
    """Audit a benchmark.

    `corpus` (with captions and objects) is what FOIL's rules are held against; `overlap_with` is
    another corpus or benchmark whose images should not be in this one.
    """
    benchmark = where if isinstance(where, Benchmark) else load_benchmark(where)
    collected = _Collected(benchmark, options)
    _read(collected)
    _look(collected)
    findings = structure(benchmark)
    if corpus is not None:
        rules = foil_rules(benchmark, corpus, options.synonyms)
        findings += rules
        if not rules:
            collected.remarks.append("FOIL's rules: no item names a target and a foil word")
    if overlap_with is not None:
        findings += overlap(benchmark, overlap_with)
    return Audit(
        benchmark.name,
        len(benchmark.items),
        tuple(collected.guesses),
        tuple(collected.fair),
        tuple(collected.best()),
        tuple(findings),
        tuple(collected.remarks),
    )


def _read(collected: _Collected) -> None:
    """Cues that need no picture: text, place, language models."""
    benchmark, options = collected.benchmark, collected.options
    sheet = sheet_of(benchmark)
    languages = [ngram_guesser()] if options.ngrams else []
    if options.lm:
        languages.append(lm_guesser(options.lm, partial(options.progress, options.lm)))
    captions, images = measures_for(benchmark, "caption"), measures_for(benchmark, "image")
    collected.add(sheet, [*readers(sheet), *languages], captions)
    for family, guessers in place_guessers(sheet).items():
        collected.add_places(family, sheet, guessers, captions if "caption" in family else images)
    words = word_measures(benchmark)
    if words:
        sample = word_sheet(benchmark)
        collected.add(sample, [*readers(sample), *languages], words)


def _look(collected: _Collected) -> None:
    """Cues from pictures alone, for choices of images and for whole grids."""
    benchmark, options = collected.benchmark, collected.options
    if all(len(item.images) == 1 for item in benchmark.items):
        return
    if not options.images:
        collected.remarks.append("cues from pictures: left out, as asked")
        return
    looked = look(benchmark, options.picture_items, partial(options.progress, "pictures"))
    if looked.remark:
        collected.remarks.append(f"cues from pictures: {looked.remark}")
    if looked.items:
        sheet = sheet_of(benchmark, items=looked.items)
        collected.add(sheet, image_guessers(looked, sheet), measures_for(benchmark, "image"))
        collected.add(sheet, detectors(looked, sheet), measures_for(benchmark, "both"))


class _Collected:
    """Guesses as they come, and the outcomes that the best are chosen from."""

    def __init__(self, benchmark: Benchmark, options: AuditOptions) -> None:
        self.benchmark, self.options = benchmark, options
        self.guesses: list[Guess] = []
        self.fair: list[tuple[str, str, Best]] = []
        self.remarks: list[str] = []
        self._candidates: dict[tuple[Sees, str], _Candidates] = {}

    def add(self, sheet: Sheet, guessers: list[Guesser], measures: list[Measure]) -> None:
        """Put guessers through measures; they compete for the best of their side."""
        plain = sheet.plain_run("guess")
        measures = [m for m in measures if len(m.outcomes(plain, "half").item)]
        if not measures:
            return  # nothing is asked of this side: no language model need be fitted
        for done, guesser in enumerate(guessers, 1):
            for measure, outcomes in self._guessed(sheet, [guesser], measures):
                if len(outcomes) > 1:
                    self._add_fair(guesser.family, sheet, measure, outcomes)
                new = _Candidates(sheet, measure, {})
                known = self._candidates.setdefault((guesser.sees, measure.name), new)
                known.outcomes.update(outcomes)
            self.options.progress("guessing", done, len(guessers))

    def add_places(
        self, family: str, sheet: Sheet, guessers: list[Guesser], measures: list[Measure]
    ) -> None:
        """Put fixed places through measures; the best place is chosen on other images too."""
        for measure, outcomes in self._guessed(sheet, guessers, measures):
            self._add_fair(family, sheet, measure, outcomes)

    def best(self) -> list[tuple[Sees, Best]]:
        """The best guess of each side by each measure."""
        return [
            (sees, best)
            for (sees, _), found in self._candidates.items()
            for best in self._best(found.sheet, found.measure, found.outcomes)
        ]

    def _guessed(
        self, sheet: Sheet, guessers: list[Guesser], measures: list[Measure]
    ) -> list[tuple[Measure, dict[str, Outcomes]]]:
        """Note all guesses; the outcomes by measure and cue."""
        found: dict[str, dict[str, Outcomes]] = {measure.name: {} for measure in measures}
        for guesser in guessers:
            for guess, outcomes in guesses(guesser, sheet, measures, self.options.resamples):
                self.guesses.append(guess)
                found[guess.estimate.measure][guess.cue] = outcomes
        return [(measure, found[measure.name]) for measure in measures if found[measure.name]]

    def _add_fair(
        self, family: str, sheet: Sheet, measure: Measure, ways: dict[str, Outcomes]
    ) -> None:
        best = self._best(sheet, measure, ways)[0]
        self.fair.append((family, asked_by(measure), best))

    def _best(self, sheet: Sheet, measure: Measure, ways: dict[str, Outcomes]) -> list[Best]:
        plain = sheet.plain_run("guess")
        return best_guesses(plain, measure, ways, self.options.resamples)


@dataclass(frozen=True, slots=True)
class _Candidates:
    """The cues of one side by one measure."""

    sheet: Sheet
    measure: Measure
    outcomes: dict[str, Outcomes]

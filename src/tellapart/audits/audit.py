"""The audit of a benchmark: what can be guessed without looking, and problems of items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tellapart.attack.attack import FEW, Attackers, TextAttack, attack_benchmark
from tellapart.attack.choices import caption_choices
from tellapart.attack.fair_items import FairItems, fair_part_of
from tellapart.attack.readers import Readers
from tellapart.attack.statistics import CaptionSource
from tellapart.audits.detectors import DetectorReport, detect
from tellapart.audits.findings import Finding, foil_rules, overlap, structure
from tellapart.audits.guessers import (
    NGRAMS,
    Guesser,
    Sees,
    lm_guesser,
    place_guessers,
    text_guessers,
)
from tellapart.audits.guesses import (
    BestGuess,
    Guess,
    asked_by,
    best_guesses,
    guesses,
    lift,
    measures_for,
    word_measures,
    word_sheet,
)
from tellapart.audits.image_guessers import detectors, image_guessers, picture_statistics
from tellapart.audits.options import AuditOptions
from tellapart.audits.picture_attack import attack_pictures, together
from tellapart.audits.sheet import GuessSheet, sheet_of
from tellapart.audits.verdict import verdict
from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.measures.measure import Measure, Outcomes
from tellapart.measures.scores import Estimate
from tellapart.text.table_text import aligned, percent
from tellapart.types import Progress

SMALL = 0.005
"""Cues that close less of the gap between chance and 100% are counted, not shown."""

NOTES = """\
A tie counts half; "wrong" and "right" are the scores with ties counted as wrong or right. Each cue
is shown in its stronger direction, with the other beside it; for "fair" the direction was chosen on
other images, and for the best guess the cue, too."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The results of an audit; `str()` leads with the attackers and ends with a verdict.

    `attack` is the attack on captions, `pictures` the one on pictures (None if nothing is asked
    about them, or too few items ask); in `grids` with several of both they tell original from
    edited. `detectors` is the pair of heads that do so on frozen encoders, for 2 x 2 grids.
    `guesses` holds every cue in every direction by every measure and kind; `fair` holds each
    family of cues with its direction cross-fitted; `best` the best cue of each side, cross-fitted,
    by kind.
    """

    benchmark: str
    items: int
    guesses: tuple[Guess, ...]
    fair: tuple[tuple[str, str, BestGuess], ...]
    best: tuple[tuple[str, BestGuess], ...]
    structure: tuple[Finding, ...]
    remarks: tuple[str, ...]
    attack: TextAttack | None = None
    pictures: TextAttack | None = None
    grids: bool = False
    fair_part: FairItems | None = None
    detectors: DetectorReport | None = None

    @property
    def verdict(self) -> list[str]:
        """The main results in a few sentences."""
        return verdict(self)

    def guess(self, cue: str, measure: str = "accuracy", kind: str = "micro") -> Guess:
        """A guess by the name of its cue."""
        return next(
            g
            for g in self.guesses
            if (g.cue, g.estimate.measure, g.estimate.kind) == (cue, measure, kind)
        )

    def finding(self, name: str) -> Finding:
        """A finding by its name."""
        return next(finding for finding in self.structure if finding.name == name)

    def strongest(self) -> list[Guess]:
        """The stronger direction of each cue by each measure, over all kinds, strongest first."""
        ways: dict[tuple[str, str, str], Guess] = {}
        for guess in self.guesses:
            key = (guess.family, guess.asked, guess.estimate.measure)
            if guess.estimate.kind == "micro" and (key not in ways or guess.lift > ways[key].lift):
                ways[key] = guess
        return sorted(ways.values(), key=lambda guess: -guess.lift)

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "benchmark": self.benchmark,
            "items": self.items,
            "verdict": self.verdict,
            "text_alone": self.attack and self.attack.to_json(),
            "pictures_alone": self.pictures and self.pictures.to_json(),
            "detectors": self.detectors and self.detectors.to_json(),
            "fair_part": self.fair_part and self.fair_part.to_json(),
            "best": [{"sees": sees, **best.to_json()} for sees, best in self.best],
            "guesses": [guess.to_json() for guess in self.guesses],
            "direction_chosen_on_other_images": [
                {"family": family, "asked": asked, **best.to_json()}
                for family, asked, best in self.fair
            ],
            "structure": [finding.to_json() for finding in self.structure],
            "remarks": list(self.remarks),
        }

    def __str__(self) -> str:
        parts = [f"{self.benchmark}: {self.items:,} items"]
        if self.attack:
            parts += ["Attackers that read captions and never look", str(self.attack)]
        if self.pictures:
            parts += ["Attackers that see pictures and never read", str(self.pictures)]
        if self.detectors:
            parts += ["Detectors of originals, on frozen encoders", str(self.detectors)]
        if self.guesses:
            parts += ["What single cues give away without looking", self._guess_table(), NOTES]
        if self.best:
            parts += ["The best guess, chosen on other images", _best_table(self.best)]
        if self.fair_part:
            parts += ["The part that cannot be guessed from the text alone", str(self.fair_part)]
        parts += ["Structure", _finding_table(self.structure)]
        if self.remarks:
            parts.append("\n".join(f"remark: {remark}" for remark in self.remarks))
        parts.append("\n".join(f"verdict: {line}" for line in self.verdict))
        return "\n\n".join(parts)

    def _guess_table(self) -> str:
        heads = ("cue", "asked", "measure", "score", "95% interval", "chance", "wrong", "right",
                 "other way", "fair", "n")  # fmt: skip
        strongest = self.strongest()
        shown = [g for g in strongest if g.lift > SMALL and not _mirrored(g.sees, g.estimate)]
        shown = shown or strongest[:1]
        table = aligned([heads, *(self._line(guess) for guess in shown)], range(3))
        hidden = len(strongest) - len(shown)
        return table + (f"\n{hidden} more give nothing away (see --json)" if hidden else "")

    def _line(self, guess: Guess) -> tuple[str, ...]:
        own = guess.estimate
        key = (guess.family, guess.asked, own.measure)
        others = [
            other.estimate.value
            for other in self.guesses
            if (other.family, other.asked, other.estimate.measure) == key
            and other.estimate.kind == "micro"
            and other.cue != guess.cue
        ]
        fair = [b for f, a, b in self.fair if (f, a, b.estimate.measure) == key]
        return (
            guess.cue,
            guess.asked,
            own.measure,
            percent(own.value),
            f"{percent(own.low)} - {percent(own.high)}",
            percent(own.chance),
            percent(guess.wrong),
            percent(guess.right),
            percent(max(others)) if others else "-",
            percent(fair[0].estimate.value) if fair else "-",
            f"{own.n:,}",
        )


def _best_table(best: Sequence[tuple[str, BestGuess]]) -> str:
    """Measures by how far their micro average is above chance, each followed by its kinds."""
    heads = ("from", "measure", "kind", "cue", "score", "95% interval", "chance", "n")
    lines = [heads]
    leads = {
        (sees, one.estimate.measure): lift(one.estimate)
        for sees, one in best
        if one.estimate.kind == "micro"
    }
    for sees, one in sorted(best, key=lambda row: -leads[row[0], row[1].estimate.measure]):
        own = one.estimate
        if lift(own) > SMALL and not _mirrored(sees, own):
            interval = f"{percent(own.low)} - {percent(own.high)}"
            lines.append(
                (sees, own.measure, own.kind, one.label, percent(own.value), interval,
                 percent(own.chance), f"{own.n:,}")
            )  # fmt: skip
    if len(lines) == 1:
        return "none: no cue is above chance on other images"
    return aligned(lines, range(4))


def _mirrored(sees: str, estimate: Estimate) -> bool:
    """In a 2 x 2 grid, one side alone is wrong on the edited pair when right on the original."""
    return sees != "both" and estimate.measure in ("Ineg2T", "Tneg2I")


def _finding_table(findings: Iterable[Finding]) -> str:
    lines = [
        (one.name, one.says, f"{one.count:,}", f"of {one.of:,}",
         f"{percent(one.count / one.of)}%" if one.of else "-")
        for one in findings
    ]  # fmt: skip
    return aligned(lines, range(2)) if lines else "nothing was checked"


def audit_benchmark(
    benchmark: Benchmark,
    options: AuditOptions,
    progress: Progress,
    *,
    corpus: Corpus | None,
    synonyms: Mapping[str, str],
    overlap_with: Corpus | Benchmark | None,
    captions: Corpus | None = None,
    with_fair_part: bool = False,
) -> Audit:
    """Audit a benchmark.

    FOIL's rules are checked against `corpus` (with captions and objects), and `synonyms` maps
    words to categories. `overlap_with` is another corpus or benchmark whose images should not be
    in this one. Attackers learn from `captions` (None: the true captions of the benchmark's other
    images). `with_fair_part` also looks for the part that attackers cannot guess.
    """
    collected = _Collection(benchmark, options, progress)
    source = None if captions is None else CaptionSource.of_corpus(captions)
    attack = _attack(collected, source)
    fair = fair_part_of(benchmark, source, progress=progress) if with_fair_part else None
    _read(collected)
    pictures, detectors_ = _look(collected, attack)
    findings = structure(benchmark)
    if corpus is not None:
        rules = foil_rules(benchmark, corpus, synonyms)
        findings += rules
        if not rules:
            collected.remarks.append("FOIL's rules: no item has a target and a foil word")
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
        attack,
        pictures,
        all(min(shape) > 1 for shape in benchmark.items.shapes),
        fair,
        detectors_,
    )


def _attack(collected: _Collection, source: CaptionSource | None) -> TextAttack | None:
    """The attack on captions, if enough items choose among captions to learn from."""
    benchmark = collected.benchmark
    asked = len(caption_choices(benchmark.items))
    if asked < FEW:
        if asked:
            collected.remarks.append(
                f"{asked} items are too few for attackers ({FEW} are needed): single cues only"
            )
        return None
    options, progress = collected.options, collected.progress
    readers = Readers.of(options.text_features, options.lm, options.read_items)
    attackers = Attackers(resamples=options.resamples, readers=readers)
    attack = attack_benchmark(benchmark, source, attackers, progress)
    if attack is not None and len(attack.choices) < asked:
        collected.remarks.append(
            f"attackers with a language model ran on a random {len(attack.choices):,} of "
            f"{asked:,} items"
        )
    return attack


def _read(collected: _Collection) -> None:
    """Cues that need no picture: text, position, language models."""
    benchmark, options = collected.benchmark, collected.options
    sheet = sheet_of(benchmark)
    languages = [NGRAMS] if options.ngrams else []
    if options.lm:
        languages.append(lm_guesser(options.lm, collected.progress))
    captions, images = measures_for(benchmark, "caption"), measures_for(benchmark, "image")
    collected.add(sheet, [*text_guessers(sheet), *languages], captions)
    for family, guessers in place_guessers(sheet).items():
        collected.add_places(family, sheet, guessers, captions if "caption" in family else images)
    words = word_measures(benchmark)
    if words:
        sample = word_sheet(benchmark)
        collected.add(sample, [*text_guessers(sample), *languages], words)


def _look(
    collected: _Collection, captions: TextAttack | None
) -> tuple[TextAttack | None, DetectorReport | None]:
    """Cues from pictures alone, for images and for whole grids, the attack, and the detectors."""
    benchmark, options = collected.benchmark, collected.options
    if bool((benchmark.items.shape[0] == 1).all()):
        if options.encoder:
            unused = f"{options.encoder} was not used"
            collected.remarks.append(f"cues from pictures: no item has two of them, so {unused}")
        return None, None
    if not options.look:
        collected.remarks.append("cues from pictures: left out on request")
        return None, None
    looked = picture_statistics(benchmark, options.picture_items, collected.progress)
    if looked.remark:
        collected.remarks.append(f"cues from pictures: {looked.remark}")
    if len(looked.items):
        sheet = sheet_of(benchmark, items=looked.items)
        collected.add(sheet, image_guessers(looked, sheet), measures_for(benchmark, "image"))
        attack = attack_pictures(
            benchmark, looked, options.encoder, resamples=options.resamples,
            progress=collected.progress,
        )  # fmt: skip
        both = detectors(looked, sheet)
        if attack is not None and captions is not None and both:
            both.append(together(captions, attack))
        collected.add(sheet, both, measures_for(benchmark, "both"))
        found = detect(
            benchmark, looked, options.encoder, resamples=options.resamples,
            progress=collected.progress,
        )  # fmt: skip
        return attack, found
    return None, None


class _Collection:
    """Guesses so far, and the outcomes from which the best are chosen."""

    def __init__(self, benchmark: Benchmark, options: AuditOptions, progress: Progress) -> None:
        self.benchmark, self.options, self.progress = benchmark, options, progress
        self.guesses: list[Guess] = []
        self.fair: list[tuple[str, str, BestGuess]] = []
        self.remarks: list[str] = []
        self._rivals: dict[tuple[Sees, str], tuple[GuessSheet, Measure, dict[str, Outcomes]]] = {}

    def add(self, sheet: GuessSheet, guessers: list[Guesser], measures: list[Measure]) -> None:
        """Measure guessers; they compete to be the best of their side."""
        plain = sheet.plain_run("guess")
        measures = [m for m in measures if len(m.outcomes(plain, "half").item)]
        if not measures:
            return  # nothing is asked of this side, so no language model needs fitting
        for done, guesser in enumerate(guessers, 1):
            for measure, outcomes in self._guessed(sheet, [guesser], measures):
                if len(outcomes) > 1:
                    self._add_fair(guesser.family, sheet, measure, outcomes)
                key = (guesser.sees, measure.name)
                self._rivals.setdefault(key, (sheet, measure, {}))[2].update(outcomes)
            self.progress("guessing", done, len(guessers))

    def add_places(
        self, family: str, sheet: GuessSheet, guessers: list[Guesser], measures: list[Measure]
    ) -> None:
        """Measure fixed positions; the best position is chosen on other images, too."""
        for measure, outcomes in self._guessed(sheet, guessers, measures):
            self._add_fair(family, sheet, measure, outcomes)

    def best(self) -> list[tuple[Sees, BestGuess]]:
        """The best guess of each side by each measure."""
        return [
            (sees, best)
            for (sees, _), rivals in self._rivals.items()
            for best in self._best(*rivals)
        ]

    def _guessed(
        self, sheet: GuessSheet, guessers: list[Guesser], measures: list[Measure]
    ) -> list[tuple[Measure, dict[str, Outcomes]]]:
        """Record all guesses and return the outcomes by measure and cue."""
        by_measure: dict[str, dict[str, Outcomes]] = {measure.name: {} for measure in measures}
        for guesser in guessers:
            for guess, outcomes in guesses(guesser, sheet, measures, self.options.resamples):
                self.guesses.append(guess)
                by_measure[guess.estimate.measure][guess.cue] = outcomes
        return [(m, by_measure[m.name]) for m in measures if by_measure[m.name]]

    def _add_fair(
        self, family: str, sheet: GuessSheet, measure: Measure, ways: dict[str, Outcomes]
    ) -> None:
        self.fair.append((family, asked_by(measure), self._best(sheet, measure, ways)[0]))

    def _best(
        self, sheet: GuessSheet, measure: Measure, ways: dict[str, Outcomes]
    ) -> list[BestGuess]:
        plain = sheet.plain_run("guess")
        return best_guesses(plain, measure, ways, self.options.resamples)

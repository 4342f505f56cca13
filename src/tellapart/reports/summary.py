"""The summary in words: what each benchmark asks, and its results.

A sentence says no more than the numbers support: a difference is stated with its test and the ties
it depends on, and a model that never looks is never called the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tellapart.benchmark.benchmark import Benchmark
from tellapart.measures.overview import Overview, ReferenceLine, telling_lines
from tellapart.measures.scores import Estimate
from tellapart.reports.results import BenchmarkResults
from tellapart.text.table_text import percent

NAME_BEGINS, NAME_ENDS = "\u2068", "\u2069"
"""Model names are enclosed in Unicode isolates, so that the page can mark them up."""


@dataclass(frozen=True, slots=True)
class TestFamily:
    """A family of tests: its name, its question, and its paper."""

    name: str
    asks: str
    paper: str


BISON = TestFamily(
    "BISON",
    "Two similar pictures and one caption: which picture does the caption fit?",
    "Hu, Misra & van der Maaten 2019, Evaluating Text-to-Image Matching using Binary Image "
    "Selection (BISON)",
)
FOIL = TestFamily(
    "FOIL",
    "A picture and a caption in which one word may have been replaced by a wrong one: is the "
    "caption true (T1), which word is wrong (T2), and which word would correct it (T3)?",
    "Shekhar et al. 2017, FOIL it! Find One mismatch between Image and Language caption",
)
MCIC = TestFamily(
    "MCIC",
    "One picture and several captions, most of them written for similar pictures: which one fits?",
    "Ding et al. 2016, Understanding Image and Text Simultaneously: a Dual Vision-Language "
    "Machine Comprehension Task",
)
PAIR = TestFamily(
    "caption pairs",
    "One picture and two captions that differ in one detail: which one fits?",
    "Hsieh et al. 2023, SugarCrepe: Fixing Hackable Benchmarks for Vision-Language "
    "Compositionality",
)
BIVLC = TestFamily(
    "BiVLC",
    "Two pictures and two captions that differ in one detail: does each picture get its own "
    "caption (I2T), does each caption get its own picture (T2I), and both together (Group)?",
    "Miranda et al. 2024, BiVLC: Extending Vision-Language Compositionality Evaluation with "
    "Text-to-Image Retrieval",
)
OTHER = TestFamily("a grid test", "Pictures and captions: which of them belong together?", "")


def family(benchmark: Benchmark) -> TestFamily:
    """The family of tests, derived from the measures and the items' shape, never from the name."""
    measures = set(benchmark.card.measures)
    if any(name[:2] in ("T1", "T3") or name.startswith("T2-") for name in measures):
        return FOIL
    if measures & {"I2T", "T2I", "Group"}:
        return BIVLC
    shapes = benchmark.items.shapes
    if all(captions == 1 for _, captions in shapes):
        return BISON
    if all(images == 1 for images, _ in shapes):
        return PAIR if shapes == {(1, 2)} else MCIC
    return BIVLC if shapes == {(2, 2)} else OTHER


@dataclass(frozen=True, slots=True)
class Standing:
    """A model's main number on a benchmark."""

    label: str
    one: Estimate
    covered: frozenset[str]

    @property
    def name(self) -> str:
        """The label as used in a sentence."""
        return named(self.label)


@dataclass(frozen=True, slots=True)
class BenchmarkSummary:
    """A benchmark's question, and sentences about the models' results."""

    benchmark: str
    family: TestFamily
    about: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """The opening sentence of a report, and a summary of each benchmark."""

    opening: str
    benchmarks: tuple[BenchmarkSummary, ...]


def summarise(benchmarks: Sequence[BenchmarkResults], overview: Overview) -> Summary:
    """All sentences of the page about the results."""
    showed = []
    for results in benchmarks:
        lines = telling_lines(x for x in overview.lines if x.benchmark == results.label)
        sentences = tuple(_sentences(results, standings(results), lines))
        asked = family(results.benchmark)
        about = results.benchmark.card.about
        showed.append(BenchmarkSummary(results.label, asked, about, sentences))
    return Summary(_opening(benchmarks), tuple(showed))


def standings(results: BenchmarkResults) -> list[Standing]:
    """The models by their main measure, best first; ties keep their order."""
    measured = [
        Standing(entry.label, one, entry.run.covered)
        for entry in results.entries
        if (one := entry.estimate(results.main.name)) is not None and one.n
    ]
    return sorted(measured, key=lambda standing: -standing.one.value)


def _opening(benchmarks: Sequence[BenchmarkResults]) -> str:
    models = list(dict.fromkeys(entry.label for results in benchmarks for entry in results.entries))
    tested = [results for results in benchmarks if results.entries] or benchmarks
    items = sum(len(results.benchmark.items) for results in tested)
    what = f"on {plural(len(tested), 'benchmark')} with {plural(items, 'item')} in total"
    if len(tested) < len(benchmarks):
        rest = plural(len(benchmarks) - len(tested), "other")
        what += f", and only models that never look on {rest}"
    if not models:
        return f"No model that looks was run {what}; this page shows what can be guessed."
    if len(models) == 1:
        return f"One model, {named(models[0])}, was tested {what}."
    return f"{len(models)} models were tested {what}."


def _sentences(
    results: BenchmarkResults, ranked: Sequence[Standing], lines: Sequence[ReferenceLine]
) -> list[str]:
    measure = results.shown(results.main.name)
    if not ranked:
        who = "No model gave an answer" if results.entries else "No model that looks was run"
        return [f"{who}; only scores without looking are known. {_levels(lines)}."]
    sentences = [_first(results, ranked), *_decided(results, ranked)]
    if lines:
        sentences.append(against_lines(ranked[0], lines))
    few = [standing.name for standing in ranked if standing.one.too_few]
    if few:
        groups = ranked[0].one.clusters
        sentences.append(
            f"Too few groups: these numbers rest on only {plural(groups, 'group')} of items that "
            f"share pictures, so {measure} is very uncertain."
        )
    return [*sentences, *_ties(ranked), *_incomplete(results)]


def _equals(ranked: Sequence[Standing]) -> list[Standing]:
    return [standing for standing in ranked if standing.one.value == ranked[0].one.value]


def _first(results: BenchmarkResults, ranked: Sequence[Standing]) -> str:
    """Who is ahead, and whether the lead can be distinguished from noise."""
    first, measure = ranked[0], results.shown(results.main.name)
    equals = [standing.name for standing in _equals(ranked)]
    if len(ranked) == 1:
        return f"{first.name} scores {number(first.one)} on {measure}."
    if len(equals) == len(ranked):
        return f"{listed(equals)} all score {percent(first.one.value)}% on {measure}."
    second = ranked[len(equals)]
    if len(equals) > 1:
        return (
            f"{listed(equals)} share the highest {measure}, {percent(first.one.value)}%; next "
            f"is {second.name} with {percent(second.one.value)}%."
        )
    start = (
        f"{first.name} has the highest {measure}, {number(first.one)}; next is "
        f"{second.name} with {percent(second.one.value)}%"
    )
    return f"{start}. {_difference(results, first, second)}"


def _decided(results: BenchmarkResults, ranked: Sequence[Standing]) -> list[str]:
    """A warning if some models use their own threshold and others a fitted one."""
    if len({standing.one.decided_by for standing in ranked}) < 2:
        return []
    measure = results.main.name
    ways = listed([f"{standing.name} {standing.one.shown}" for standing in ranked])
    return [
        f"The models decide {measure} in different ways: {ways}. Only {measure}@fitted compares "
        "like with like (available in measure and compare)."
    ]


def _difference(results: BenchmarkResults, first: Standing, second: Standing) -> str:
    """The result of the paired test of two models, as in the table below."""
    pair = results.pair(first.label, second.label)
    if pair is None:
        return "The two have no items in common, so they cannot be compared."
    p = "p < 0.0001" if pair.p_holm < 0.0001 else f"p = {pair.p_holm:.4f}"
    points = f"{100 * abs(pair.difference):.1f} points"
    fair = " on the items given to both" if first.covered != second.covered else ""
    verdict = "is real" if pair.real else "may be noise"
    return f"The difference of {points}{fair} {verdict} ({p}{pair.ties_told})."


def _levels(lines: Sequence[ReferenceLine]) -> str:
    return "Without looking: " + ", ".join(f"{x.label} {percent(x.value)}%" for x in lines)


def against_lines(standing: Standing, lines: Sequence[ReferenceLine]) -> str:
    """How the best model compares with scores without looking."""
    one = standing.one
    not_above = [line for line in lines if one.low <= (line.high or line.value)]
    start = f"{_levels(lines)}"
    if not not_above:
        these = "it" if len(lines) == 1 else "these"
        return f"{start}; the whole interval of {standing.name} is above {these}."
    below = [line for line in not_above if one.high < (line.low or line.value)]
    names = listed([line.label for line in below or not_above])
    if below:
        ties = f" ({plural(one.ties, 'tie')} counted as wrong)" if (
            one.ties and one.tie_rule == "wrong") else ""  # fmt: skip
        return f"{start}; the whole interval of {standing.name} is below {names}{ties}."
    return f"{start}; {standing.name} is not shown to be above {names}."


def _ties(ranked: Sequence[Standing]) -> list[str]:
    """A sentence about ties if they matter: more than a tenth of a model's units."""
    many = [s for s in ranked if s.one.ties > 0.1 * s.one.n and s.one.tie_rule != "half"]
    if not many:
        return []
    rule = {"wrong": "count as wrong", "right": "count as right", "drop": "are left out"}
    tie_rule = many[0].one.tie_rule
    units = [s.one.n + (s.one.ties if tie_rule == "drop" else 0) for s in many]
    shares = [f"{s.name} ({s.one.ties:,} of {n:,})" for s, n in zip(many, units, strict=True)]
    return [f"Many ties, which {rule[tie_rule]} here: {listed(shares)}."]


def _incomplete(results: BenchmarkResults) -> list[str]:
    """Sentences about runs that cover only part of the items, and about missing answers."""
    sentences = []
    total = len(results.benchmark.items)
    parts = [entry for entry in results.entries if results.partial(entry)]
    if parts:
        covers = listed([f"{named(e.label)} ({len(e.run.covered):,} of {total:,})" for e in parts])
        sentences.append(f"Run on only part of the items: {covers}.")
    failed = [
        f"{named(entry.label)} ({one.failed:,})"
        for entry in results.entries
        if (one := entry.estimate(results.main.name)) and one.failed
    ]
    if failed:
        sentences.append(f"Missing answers count as wrong: {listed(failed)}.")
    return sentences


# Pieces of sentences: names, lists, numbers with their intervals.


def named(label: str) -> str:
    """A model's label, marked as a name."""
    return f"{NAME_BEGINS}{plain(label)}{NAME_ENDS}"


def plain(sentence: str) -> str:
    """A sentence without the marks.

    >>> plain(f"{named('blind')} was run.")
    'blind was run.'
    """
    return sentence.replace(NAME_BEGINS, "").replace(NAME_ENDS, "")


def number(one: Estimate) -> str:
    """A value with its interval."""
    return f"{percent(one.value)}% (95% interval {percent(one.low)} to {percent(one.high)})"


def plural(count: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "tie"), plural(1200, "item")
    ('1 tie', '1,200 items')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(names: Sequence[str], word: str = "and") -> str:
    """Names as a list in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {word} {names[-1]}"

"""The summary in plain words: what each benchmark asks, what came out, and no more than that.

A sentence says no more than the numbers carry: where intervals overlap, nobody is called better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tellapart.benchmark.benchmark import Benchmark
from tellapart.measures.scores import Estimate
from tellapart.reports.results import BenchmarkResults
from tellapart.text.table_text import percent

NAME_BEGINS, NAME_ENDS = "\u2068", "\u2069"
"""Model names stand between Unicode's isolates: the page sets them apart from the words."""


@dataclass(frozen=True, slots=True)
class TestFamily:
    """A sort of test: what it is called, what it asks, and the paper it comes from."""

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
    "A picture and a caption in which one word may have been exchanged for a wrong one: is the "
    "caption true (T1), which word is wrong (T2), and which word would mend it (T3)?",
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
    "One picture and two captions that differ in a detail: which one fits?",
    "Hsieh et al. 2023, SugarCrepe: Fixing Hackable Benchmarks for Vision-Language "
    "Compositionality",
)
BIVLC = TestFamily(
    "BiVLC",
    "Two pictures and two captions that differ in a detail: does each picture get its own "
    "caption (I2T), does each caption get its own picture (T2I), and both at once (Group)?",
    "Miranda et al. 2024, BiVLC: Extending Vision-Language Compositionality Evaluation with "
    "Text-to-Image Retrieval",
)
OTHER = TestFamily("a grid test", "Pictures and captions: which of them belong together?", "")


def family(benchmark: Benchmark) -> TestFamily:
    """The sort of test, read off the measures and the shape of the items, never off the name."""
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
        """The label as it stands in a sentence."""
        return named(self.label)


@dataclass(frozen=True, slots=True)
class BenchmarkSummary:
    """What a benchmark showed: what it asks, and sentences on how the models did."""

    benchmark: str
    family: TestFamily
    about: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """The opening sentences of a report, and what each benchmark showed."""

    opening: tuple[str, ...]
    benchmarks: tuple[BenchmarkSummary, ...]


def summarise(benchmarks: Sequence[BenchmarkResults]) -> Summary:
    """Everything that the page says in words about the results."""
    showed = []
    leads: list[tuple[str, bool]] = []
    for results in benchmarks:
        ranked = standings(results)
        sentences = tuple(_sentences(results, ranked))
        showed.append(
            BenchmarkSummary(
                results.label, family(results.benchmark), results.benchmark.card.about, sentences
            )
        )
        if len(ranked) > 1 and ranked[0].one.value > ranked[1].one.value:
            leads.append((ranked[0].label, apart(ranked[0].one, ranked[1].one)))
    return Summary((_opening(benchmarks), *_leads(leads, len(benchmarks))), tuple(showed))


def standings(results: BenchmarkResults) -> list[Standing]:
    """The models by their main measure, best first; as they came where they are equal."""
    measured = [
        Standing(entry.label, one, entry.run.covered)
        for entry in results.entries
        if (one := entry.estimate(results.main.name)) is not None and one.n
    ]
    return sorted(measured, key=lambda standing: -standing.one.value)


def apart(above: Estimate, below: Estimate) -> bool:
    """Whether the whole interval of one lies above that of the other."""
    return above.low > below.high


def _opening(benchmarks: Sequence[BenchmarkResults]) -> str:
    models = list(dict.fromkeys(entry.label for results in benchmarks for entry in results.entries))
    items = sum(len(results.benchmark.items) for results in benchmarks)
    what = f"on {plural(len(benchmarks), 'benchmark')} with {plural(items, 'item')} in all"
    if not models:
        return f"Only the text-only model was run, {what}: this page says what can be guessed."
    if len(models) == 1:
        return f"One model, {named(models[0])}, was tested {what}."
    return f"{len(models)} models were tested {what}."


def _leads(leads: Sequence[tuple[str, bool]], benchmarks: int) -> list[str]:
    """Who was best how often; only where there is more than one benchmark."""
    if benchmarks < 2 or not leads:
        return []
    names = list(dict.fromkeys(name for name, _ in leads))
    counts = {name: [is_apart for lead, is_apart in leads if lead == name] for name in names}
    sentences = []
    for name in sorted(names, key=lambda name: -len(counts[name])):
        firsts, clear = len(counts[name]), sum(counts[name])
        on = f"on {firsts} of {benchmarks} benchmarks"
        each_time = " each time" if firsts > 1 else ""
        if clear == firsts:
            how = f"with its interval apart from the next model's{each_time}"
        elif clear:
            how = f"but with its interval apart from the next model's only on {clear} of them"
        else:
            how = f"but its interval overlaps with the next model's{each_time}"
        sentences.append(f"{named(name)} has the highest main score {on}, {how}.")
    return sentences


def _sentences(results: BenchmarkResults, ranked: Sequence[Standing]) -> list[str]:
    measure = results.main.name
    blind = results.text_only.estimate(measure)
    if not ranked:
        if results.entries:
            return [f"No model has an answer to {measure}, the main measure, here."]
        if blind is None:
            return ["No model was run here."]
        return [f"Only the text-only model was run; it scores {number(blind)} on {measure}."]
    first = ranked[0]
    sentences = [_first(results, ranked), *_next(ranked), against_chance(first)]
    if blind is not None and blind.n:
        sentences.append(against_text_only(first, blind))
    return [*sentences, *_ties(ranked), *_incomplete(results)]


def _equals(ranked: Sequence[Standing]) -> list[Standing]:
    return [standing for standing in ranked if standing.one.value == ranked[0].one.value]


def _first(results: BenchmarkResults, ranked: Sequence[Standing]) -> str:
    first, measure = ranked[0], results.main.name
    equals = [standing.name for standing in _equals(ranked)]
    if len(ranked) == 1:
        return f"{first.name} scores {number(first.one)} on {measure}."
    if len(equals) == len(ranked):
        return f"{listed(equals)} all score {percent(first.one.value)}% on {measure}."
    if len(equals) > 1:
        return f"{listed(equals)} share the highest {measure}, {percent(first.one.value)}%."
    return f"The highest {measure} is that of {first.name}: {number(first.one)}."


def _next(ranked: Sequence[Standing]) -> list[str]:
    """Whether the best is apart from the next; never more than the intervals say."""
    equals = _equals(ranked)
    if len(equals) == len(ranked):
        return []
    first, second = equals[0], ranked[len(equals)]
    shared = f"Next comes {second.name} with {number(second.one)}"
    fair = ""
    if first.covered != second.covered:
        fair = " They were not run on the same items, so the two are not quite comparable."
    if len(equals) > 1:
        return [f"{shared}.{fair}"]
    if apart(first.one, second.one):
        return [f"{shared}; the two intervals are apart.{fair}"]
    return [
        f"{shared}. The two intervals overlap, so this does not show that {first.name} is better; "
        f"the paired test under Results compares them item by item.{fair}"
    ]


def against_chance(standing: Standing) -> str:
    """How the best model stands to guessing."""
    one, level = standing.one, f"Guessing gets {percent(standing.one.chance)}%"
    if one.low > one.chance:
        return f"{level}, and the whole interval of {standing.name} lies above that."
    if one.high < one.chance:
        why = f" ({plural(one.ties, 'tie')} counted as wrong)" if (
            one.ties and one.tie_rule == "wrong") else ""  # fmt: skip
        return f"{level}: the whole interval of {standing.name} lies below that{why}."
    return f"{level}, which lies inside the interval of {standing.name}: it may be guessing."


def against_text_only(standing: Standing, blind: Estimate) -> str:
    """How the best model stands to one that never sees a picture."""
    level = f"A text-only model, which never sees a picture, gets {number(blind)}"
    if apart(standing.one, blind):
        return f"{level}; the whole interval of {standing.name} lies above that."
    if apart(blind, standing.one):
        return f"{level}; the whole interval of {standing.name} lies below that."
    return (
        f"{level}; the two intervals overlap, so {standing.name} is not shown to gain anything "
        "from looking."
    )


def _ties(ranked: Sequence[Standing]) -> list[str]:
    """Ties, where they could change the picture: more than a tenth of a model's units."""
    many = [s for s in ranked if s.one.ties > 0.1 * s.one.n and s.one.tie_rule != "half"]
    if not many:
        return []
    rule = {"wrong": "count as wrong", "right": "count as right", "drop": "are left out"}
    tie_rule = many[0].one.tie_rule
    units = [s.one.n + (s.one.ties if tie_rule == "drop" else 0) for s in many]
    shares = [f"{s.name} ({s.one.ties:,} of {n:,})" for s, n in zip(many, units, strict=True)]
    return [f"Many ties, which {rule[tie_rule]} here: {listed(shares)}."]


def _incomplete(results: BenchmarkResults) -> list[str]:
    """Runs that cover a part, and answers that are missing."""
    sentences = []
    total = len(results.benchmark.items)
    parts = [entry for entry in results.entries if results.partial(entry)]
    if parts:
        covers = listed([f"{named(e.label)} ({len(e.run.covered):,} of {total:,})" for e in parts])
        sentences.append(f"Run on a part of the items only: {covers}.")
    failed = [
        f"{named(entry.label)} ({one.failed:,})"
        for entry in results.entries
        if (one := entry.estimate(results.main.name)) and one.failed
    ]
    if failed:
        sentences.append(f"Answers that are missing count as wrong: {listed(failed)}.")
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


def listed(names: Sequence[str]) -> str:
    """Names as a list in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

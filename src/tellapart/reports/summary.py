"""The summary in plain words: what came out, and no more than the numbers carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tellapart.measures.estimate import Estimate
from tellapart.reports.asking import Family, family
from tellapart.reports.results import percent
from tellapart.reports.sheets import Entry, Sheet
from tellapart.reports.words import listed, named, number, plural


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
class Finding:
    """What a benchmark showed: what it asks, and sentences on how the models did."""

    benchmark: str
    family: Family
    about: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """The opening sentences of a report, and one finding a benchmark."""

    opening: tuple[str, ...]
    findings: tuple[Finding, ...]


def summarise(sheets: Sequence[Sheet]) -> Summary:
    """Everything that the page says in words about the results."""
    findings = []
    leads: list[tuple[str, bool]] = []
    for sheet in sheets:
        ranked = standings(sheet)
        sentences = tuple(_sentences(sheet, ranked))
        findings.append(
            Finding(sheet.label, family(sheet.benchmark), sheet.benchmark.card.about, sentences)
        )
        if len(ranked) > 1 and ranked[0].one.value > ranked[1].one.value:
            leads.append((ranked[0].label, apart(ranked[0].one, ranked[1].one)))
    return Summary((_opening(sheets), *_leads(leads, len(sheets))), tuple(findings))


def standings(sheet: Sheet) -> list[Standing]:
    """The models by their main measure, best first; as they came where they are equal."""
    found = [
        Standing(entry.label, one, entry.run.covered)
        for entry in sheet.entries
        if (one := entry.estimate(sheet.main.name)) is not None and one.n
    ]
    return sorted(found, key=lambda standing: -standing.one.value)


def apart(above: Estimate, below: Estimate) -> bool:
    """Whether the whole interval of one lies above that of the other."""
    return above.low > below.high


def _opening(sheets: Sequence[Sheet]) -> str:
    models = list(dict.fromkeys(entry.label for sheet in sheets for entry in sheet.entries))
    items = sum(len(sheet.benchmark.items) for sheet in sheets)
    what = f"on {plural(len(sheets), 'benchmark')} with {plural(items, 'item')} in all"
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
    said = []
    for name in sorted(names, key=lambda name: -len(counts[name])):
        firsts, clear = len(counts[name]), sum(counts[name])
        on = f"on {firsts} of {benchmarks} benchmarks"
        if clear == firsts:
            how = "with its interval apart from the next model's each time" if firsts > 1 else (
                "with its interval apart from the next model's"
            )  # fmt: skip
        elif clear:
            how = f"but with its interval apart from the next model's only on {clear} of them"
        else:
            how = "but its interval overlaps with the next model's" + (
                " each time" if firsts > 1 else ""
            )
        said.append(f"{named(name)} has the highest main score {on}, {how}.")
    return said


def _sentences(sheet: Sheet, ranked: Sequence[Standing]) -> list[str]:
    blind = sheet.text_only.estimate(sheet.main.name)
    if not ranked:
        return [_without_models(sheet, blind)]
    first = ranked[0]
    said = [_first(sheet, ranked), *_next(ranked), against_chance(first)]
    if blind is not None and blind.n:
        said.append(against_text_only(first, blind))
    said += _ties(ranked)
    said += _incomplete(sheet)
    return said


def _without_models(sheet: Sheet, blind: Estimate | None) -> str:
    if sheet.entries:
        return f"No model has an answer to {sheet.main.name}, the main measure, here."
    if blind is None:
        return "No model was run here."
    return f"Only the text-only model was run; it scores {number(blind)} on {sheet.main.name}."


def _equals(ranked: Sequence[Standing]) -> list[Standing]:
    return [standing for standing in ranked if standing.one.value == ranked[0].one.value]


def _first(sheet: Sheet, ranked: Sequence[Standing]) -> str:
    first, measure = ranked[0], sheet.main.name
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
    different = first.covered != second.covered
    fair = " They were not run on the same items, so the two are not quite comparable."
    if len(equals) > 1:
        return [f"{shared}." + (fair if different else "")]
    if apart(first.one, second.one):
        return [f"{shared}; the two intervals are apart." + (fair if different else "")]
    return [
        f"{shared}. The two intervals overlap, so this does not show that {first.name} is better; "
        "the paired test under Results compares them item by item." + (fair if different else "")
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
    said = listed([f"{s.name} ({s.one.ties:,} of {_units(s.one):,})" for s in many])
    return [f"Many ties, which {rule[many[0].one.tie_rule]} here: {said}."]


def _units(one: Estimate) -> int:
    return one.n + one.ties if one.tie_rule == "drop" else one.n


def _incomplete(sheet: Sheet) -> list[str]:
    """Runs that cover a part, and answers that are missing."""
    said = []
    total = len(sheet.benchmark.items)
    parts = [entry for entry in sheet.entries if sheet.partial(entry)]
    if parts:
        covers = listed([f"{named(e.label)} ({len(e.run.covered):,} of {total:,})" for e in parts])
        said.append(f"Run on a part of the items only: {covers}.")
    failed = [(entry.label, count) for entry in sheet.entries if (count := _failed(entry, sheet))]
    if failed:
        whose = listed([f"{named(label)} ({count:,})" for label, count in failed])
        said.append(f"Answers that are missing count as wrong: {whose}.")
    return said


def _failed(entry: Entry, sheet: Sheet) -> int:
    one = entry.estimate(sheet.main.name)
    return one.failed if one else 0

"""How the report was made: benchmarks, runs, rules, and what is missing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tellapart._version import __version__
from tellapart.measures.ties import TieRule
from tellapart.reports.results import BenchmarkResults, Entry

LISTED = 50
"""Maximum number of listed skips and failures; all are counted."""

TIE_RULES = {
    "wrong": "a tie counts as wrong, as the papers define it",
    "half": "a tie counts as the expected result of breaking it at random",
    "right": "a tie counts as right",
    "drop": "tied units are left out",
}


@dataclass(frozen=True, slots=True)
class FactGroup:
    """Names and values under one heading."""

    title: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Provenance:
    """All facts; `missing` has the first `LISTED` of `missing_count` entries, as (where, what).

    Missing answers count as wrong; rows skipped when answers were imported are in no number.
    """

    general: FactGroup
    benchmarks: tuple[FactGroup, ...]
    runs: tuple[FactGroup, ...]
    missing: tuple[tuple[str, str], ...]
    missing_count: int


def provenance(
    benchmarks: Sequence[BenchmarkResults], ties: TieRule, left_out: Sequence[str]
) -> Provenance:
    """Collect the facts; `left_out` are runs that could not be read."""
    missing = [("runs", what) for what in left_out]
    runs = []
    for results in benchmarks:
        missing += [(results.label, what) for what in results.benchmark.card.skipped]
        for entry in (*results.entries, results.text_only, *results.lines):
            skipped = entry.run.card.notes.get("skipped", ())
            missing += [
                (f"{results.label}, {entry.label}", f"row skipped: {one}") for one in skipped
            ]
            failures = _failures(entry)
            missing += [(f"{results.label}, {entry.label}", what) for what in failures]
            runs.append(_run(results, entry, len(failures)))
    return Provenance(
        FactGroup("This report", tuple(_general(benchmarks, ties))),
        tuple(_benchmark(results) for results in benchmarks),
        tuple(runs),
        tuple(missing[:LISTED]),
        len(missing),
    )


def _failures(entry: Entry) -> list[str]:
    failed = entry.run.answers.filter(entry.run.answers["choice"].is_null())
    return [f"{one.item}, {one.part}: {one.reason}" for one in entry.run.failures] + [
        f"{item}, {question}: no answer ({reply or 'empty reply'})"
        for item, question, reply in failed.select("item", "question", "reply").iter_rows()
    ]


def _general(benchmarks: Sequence[BenchmarkResults], ties: TieRule) -> list[tuple[str, str]]:
    methods = Counter(
        one.method
        for results in benchmarks
        for entry in results.entries
        for one in entry.found.values()
    )
    return [
        ("made by", f"tellapart {__version__}"),
        ("ties", f"{ties}: {TIE_RULES[ties]}"),
        ("ties of the text-only model", f"half: {TIE_RULES['half']}"),
        ("intervals", "95%; " + "; ".join(sorted(methods)) if methods else "95%"),
        ("clusters", "items that share images, directly or through other items"),
    ]


def _benchmark(results: BenchmarkResults) -> FactGroup:
    card, items = results.benchmark.card, results.benchmark.items
    kinds = items.frame["kind"].value_counts().sort("kind").iter_rows()
    rows = [
        ("name", card.name),
        ("version", card.version),
        ("about", card.about),
        ("items sha256", results.benchmark.sha256),
        ("items", f"{len(items):,}"),
        ("images", f"{len(results.benchmark.images):,}"),
        ("captions", f"{items.frame['captions'].explode().n_unique():,}"),
        ("clusters", f"{items.frame['group'].n_unique():,}"),
        ("kinds", ", ".join(f"{kind} {count:,}" for kind, count in kinds)),
        ("measures", ", ".join(card.measures)),
        ("verified", card.verified or "no"),
        *((f"made: {name}", _text(value)) for name, value in card.made.items()),
        ("licence", card.licence or "not stated"),
        ("citation", card.citation),
        ("canary", results.benchmark.canary),
    ]
    return FactGroup(results.label, tuple((name, value) for name, value in rows if value))


def _run(results: BenchmarkResults, entry: Entry, failures: int) -> FactGroup:
    card = entry.run.card
    computed = entry is results.text_only and results.computed
    rows = [
        ("model", card.model),
        ("benchmark", f"{card.benchmark}, items sha256 {card.benchmark_sha256[:16]}…"),
        ("kind", card.kind),
        ("options", _text(dict(card.options)) if card.options else ""),
        ("weights", card.weights or "none recorded"),
        ("preprocessing", card.preprocessing),
        ("dtype", card.dtype),
        ("seed", str(card.seed)),
        ("asked", ", ".join(card.asks)),
        ("items", f"{len(entry.run.covered):,} of {len(results.benchmark.items):,}"),
        ("missing answers", f"{failures:,}"),
        ("made by", "this report, because no run of blind was given" if computed else card.made_by),
        ("versions", ", ".join(f"{name} {version}" for name, version in card.versions.items())),
    ]
    title = f"{entry.label} on {results.label}"
    return FactGroup(title, tuple((name, value) for name, value in rows if value))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

"""How the report was made: benchmarks, runs, rules, and everything that is missing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tellapart._version import __version__
from tellapart.measures.ties import TieRule
from tellapart.reports.sheets import Entry, Sheet

LISTED = 50
"""So many skipped or failed things are listed; all are counted."""

TIE_RULES = {
    "wrong": "a tie counts as wrong, as the papers define it",
    "half": "a tie counts by what breaking it at random would give",
    "right": "a tie counts as right",
    "drop": "units that tie are left out",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values under one heading."""

    title: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """Something that is not in the numbers, or counts as wrong in them."""

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """All facts; `missing` holds the first `LISTED` of `missing_count`."""

    general: Facts
    benchmarks: tuple[Facts, ...]
    runs: tuple[Facts, ...]
    missing: tuple[Missing, ...]
    missing_count: int


def provenance(sheets: Sequence[Sheet], ties: TieRule, left_out: Sequence[str]) -> Provenance:
    """Collect what is known; `left_out` are runs that could not be read."""
    missing = [Missing("runs", what) for what in left_out]
    for sheet in sheets:
        missing += [Missing(sheet.label, what) for what in sheet.benchmark.card.skipped]
        for entry in (*sheet.entries, sheet.text_only):
            missing += _failures(sheet, entry)
    return Provenance(
        Facts("This report", tuple(_general(sheets, ties))),
        tuple(_benchmark(sheet) for sheet in sheets),
        tuple(
            _run(sheet, entry) for sheet in sheets for entry in (*sheet.entries, sheet.text_only)
        ),
        tuple(missing[:LISTED]),
        len(missing),
    )


def _failures(sheet: Sheet, entry: Entry) -> list[Missing]:
    where = f"{sheet.label}, {entry.label}"
    found = [
        Missing(where, f"{failure.item}, {failure.part}: {failure.reason}")
        for failure in entry.run.failures
    ]
    failed = entry.run.answers.filter(entry.run.answers["choice"].is_null())
    for item, question, reply in failed.select("item", "question", "reply").iter_rows():
        found.append(Missing(where, f"{item}, {question}: no answer ({reply or 'empty reply'})"))
    return found


def _general(sheets: Sequence[Sheet], ties: TieRule) -> list[tuple[str, str]]:
    methods = Counter(
        one.method for sheet in sheets for entry in sheet.entries for one in entry.found.values()
    )
    return [
        ("made by", f"tellapart {__version__}"),
        ("ties", f"{ties}: {TIE_RULES[ties]}"),
        ("ties of the text-only model", f"half: {TIE_RULES['half']}"),
        ("intervals", "95%; " + "; ".join(sorted(methods)) if methods else "95%"),
        ("clusters", "items that share images, directly or through other items"),
    ]


def _benchmark(sheet: Sheet) -> Facts:
    card, items = sheet.benchmark.card, sheet.benchmark.items
    kinds = Counter(item.kind for item in items)
    rows = [
        ("name", card.name),
        ("version", card.version),
        ("about", card.about),
        ("items sha256", sheet.benchmark.sha256),
        ("items", f"{len(items):,}"),
        ("images", f"{len(sheet.benchmark.images):,}"),
        ("captions", f"{len({c for item in items for c in item.captions}):,}"),
        ("clusters", f"{len({item.group for item in items}):,}"),
        ("kinds", ", ".join(f"{kind} {count:,}" for kind, count in sorted(kinds.items()))),
        ("measures", ", ".join(card.measures)),
        ("verified", card.verified or "by nobody"),
        *((f"made: {name}", _text(value)) for name, value in card.made.items()),
        ("licence", card.licence or "not stated"),
        ("citation", card.citation),
        ("canary", sheet.benchmark.canary),
    ]
    return Facts(sheet.label, tuple((name, value) for name, value in rows if value))


def _run(sheet: Sheet, entry: Entry) -> Facts:
    card = entry.run.card
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
        ("items", f"{len(entry.run.covered):,} of {len(sheet.benchmark.items):,}"),
        ("missing answers", f"{len(_failures(sheet, entry)):,}"),
        ("made by", _made_by(sheet, entry)),
        ("versions", ", ".join(f"{name} {version}" for name, version in card.versions.items())),
    ]
    title = f"{entry.label} on {sheet.label}"
    return Facts(title, tuple((name, value) for name, value in rows if value))


def _made_by(sheet: Sheet, entry: Entry) -> str:
    if entry is sheet.text_only and sheet.computed:
        return "this report, as no run of blind was given"
    return entry.run.card.made_by


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

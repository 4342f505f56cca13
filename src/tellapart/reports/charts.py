"""What the charts show: the numbers of each, its name and its text alternative."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tellapart.measures.estimate import Estimate
from tellapart.reports.results import file_name, percent
from tellapart.reports.sheets import Entry, Sheet

MAX_SERIES = 6


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart before it is drawn: its name, its text alternative and its data.

    `labels` name the rows, from the top; a chart with `series` has several dots a row.
    """

    name: str
    title: str
    words: str
    rows: tuple[dict[str, Any], ...]
    measure: str
    labels: tuple[str, ...]
    series: tuple[str, ...] = ()


def main_chart(sheet: Sheet) -> Chart | None:
    """The main measure of a benchmark: a dot and an interval for each model."""
    measure = sheet.main.name
    named = [(entry.label, entry, False) for entry in sheet.entries]
    named.append(("text-only", sheet.text_only, True))
    rows: list[dict[str, Any]] = []
    for label, entry, blind in named:
        one = entry.estimate(measure)
        if one is not None and one.n:
            rows.append({"label": short(label), "blind": blind, **_numbers(one)})
    rows.sort(key=lambda row: (row["blind"], -row["value"]))
    rows = [{"y": place, **row} for place, row in enumerate(rows)]
    if not rows:
        return None
    said = [
        f"{row['label']} {row['value']:.1f} ({row['low']:.1f} to {row['high']:.1f})" for row in rows
    ]
    levels = sorted({round(row["chance"], 1) for row in rows})
    words = (
        f"{sheet.label}, {measure} in percent with 95% intervals: {'; '.join(said)}. "
        f"Chance: {' or '.join(f'{level:.1f}' for level in levels)}."
    )
    seen: set[float] = set()
    for row in rows:  # every chance level is named once, where it first occurs
        level = round(row["chance"], 1)
        row["chance_label"] = "" if level in seen else f"chance {level:.1f}"
        seen.add(level)
    labels = tuple(row["label"] for row in rows)
    name = file_name(sheet.label, measure)
    return Chart(name, f"{sheet.label}: {measure}", words, tuple(rows), measure, labels)


def kinds_chart(sheet: Sheet) -> Chart | None:
    """The main measure by kind, for the best models and the text-only one."""
    measure = sheet.main.name
    if len(sheet.kinds) < 2:
        return None
    shown = best_entries(sheet, MAX_SERIES - 1)
    named = [(short(entry.label), entry) for entry in shown] + [("text-only", sheet.text_only)]
    rows: list[dict[str, Any]] = []
    for place, (label, entry) in enumerate(named):
        offset = (place - (len(named) - 1) / 2) * 0.62 / len(named) + 0.1
        for number, kind in enumerate(sheet.kinds):
            one = entry.estimate(measure, kind)
            if one is not None and one.n:
                rows.append({"y": number + offset, "kind": number, "label": label, **_numbers(one)})
    if not rows:
        return None
    said = []
    for label, _ in named:
        of_label = [row for row in rows if row["label"] == label]
        values = [f"{sheet.kinds[row['kind']]} {row['value']:.1f}" for row in of_label]
        said.append(f"{label}: {', '.join(values)}")
    words = f"{sheet.label}, {measure} in percent by kind: {'; '.join(said)}."
    name = file_name(sheet.label, measure, "by-kind")
    series = tuple(label for label, _ in named)
    title = f"{sheet.label}: {measure} by kind"
    return Chart(name, title, words, tuple(rows), measure, sheet.kinds, series)


def best_entries(sheet: Sheet, most: int) -> list[Entry]:
    """The models with the highest main measure, in the order of the sheet."""
    scored = [(one.value, k) for k, e in enumerate(sheet.entries)
              if (one := e.estimate(sheet.main.name))]  # fmt: skip
    kept = {k for _, k in sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:most]}
    return [entry for k, entry in enumerate(sheet.entries) if k in kept]


def short(label: str, most: int = 52) -> str:
    """A label that fits: long ones lose their middle, as their ends tell them apart.

    >>> short("a" * 30 + "b" * 30, 11)
    'aaaaa…bbbbb'
    """
    half = (most - 1) // 2
    return label if len(label) <= most else f"{label[:half]}…{label[-half:]}"


def _numbers(one: Estimate) -> dict[str, Any]:
    return {
        "value": round(100 * one.value, 3),
        "low": round(100 * one.low, 3),
        "high": round(100 * one.high, 3),
        "chance": round(100 * one.chance, 3),
        "text": percent(one.value),
    }

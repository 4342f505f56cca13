"""Tables of scores for the page and as LaTeX: models as rows, measures or kinds as columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from tellapart import seeds
from tellapart.files import write_text
from tellapart.measures.overview import TEXT_ALONE, line_name, way_behind
from tellapart.measures.scores import Estimate
from tellapart.reports.results import BenchmarkResults, Entry
from tellapart.text.table_text import escape, percent

AVERAGES = {"micro": "all units count equally", "macro": "mean over kinds"}


class RowKind(StrEnum):
    """The kind of a table row."""

    MODEL = "model"
    LINE = "line"
    TEXT_ONLY = "text-only"
    CUE = "cue"
    CHANCE = "chance"


@dataclass(frozen=True, slots=True)
class TableCell:
    """A number in percent; chance has no interval. `best` marks the highest of the models' values.

    `note` says how a guess was made; `way` names the decision rule if the heading does not.
    """

    value: str
    low: str = ""
    high: str = ""
    ties: int = 0
    failed: int = 0
    n: int = 0
    best: bool = False
    note: str = ""
    way: str = ""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column heading; `n` is the most frequent number of units among the rows."""

    label: str
    about: str = ""
    n: int = 0


@dataclass(frozen=True, slots=True)
class TableRow:
    """A label and one cell per column, None if the measure does not apply."""

    kind: RowKind
    label: str
    note: str
    cells: tuple[TableCell | None, ...]


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """A table; its name can be used as a file name."""

    name: str
    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[TableRow, ...]


def file_name(*parts: str) -> str:
    """Parts as a file name; unusual ones get a hash, so that names are unique.

    >>> file_name("foil", "T2-nouns"), file_name("my bench")
    ('foil-T2-nouns', 'my-bench-8e23d0bb')
    """
    whole = "-".join(parts)
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", whole).strip("-.")
    return plain if plain == whole else f"{plain}-{seeds.digest(whole)[:8]}"


def measures_table(results: BenchmarkResults) -> ScoreTable:
    """All measures of a benchmark, over all items."""
    columns = tuple(TableColumn(results.shown(one.name), one.about) for one in results.measures)
    keys = [(one.name, "micro") for one in results.measures]
    return _table(
        results, file_name(results.label), f"{results.label}: all measures", columns, keys
    )


def kinds_tables(results: BenchmarkResults) -> list[ScoreTable]:
    """For each measure, a table by kind if there are several kinds."""
    tables = []
    for measure in results.measures if len(results.kinds) > 1 else ():
        columns = [TableColumn(name, about) for name, about in AVERAGES.items()]
        columns += [TableColumn(kind) for kind in results.kinds]
        keys = [(measure.name, column.label) for column in columns]
        name = file_name(results.label, measure.name, "by-kind")
        title = f"{results.label}: {results.shown(measure.name)} by kind"
        tables.append(_table(results, name, title, columns, keys))
    return tables


def _table(
    results: BenchmarkResults,
    name: str,
    title: str,
    columns: Sequence[TableColumn],
    keys: Sequence[tuple[str, str]],
) -> ScoreTable:
    best: list[float | None] = []
    for key in keys:
        values = [one.value for entry in results.entries if (one := entry.estimate(*key))]
        best.append(max(values) if len(values) > 1 else None)
    models = [_row(results, RowKind.MODEL, entry, keys, best) for entry in results.entries]
    text_only = _row(results, RowKind.TEXT_ONLY, results.text_only, keys, [None] * len(keys))
    lines = [_row(results, RowKind.LINE, e, keys, [None] * len(keys)) for e in results.lines]
    rows = [*models, text_only, *lines, _cue_row(results, keys), *_chance_rows(results, keys)]
    sized = []
    for k, column in enumerate(columns):
        sizes = Counter(cell.n for row in [*models, text_only] if (cell := row.cells[k]))
        sized.append(replace(column, n=max(sizes, key=lambda n: (sizes[n], n), default=0)))
    return ScoreTable(name, title, tuple(sized), tuple(rows))


def _row(
    results: BenchmarkResults,
    kind: RowKind,
    entry: Entry,
    keys: Sequence[tuple[str, str]],
    best: Sequence[float | None],
) -> TableRow:
    """A model's row; a value equal to its column's `best` is marked."""
    note = ""
    if results.partial(entry):
        note = f"{len(entry.run.covered):,} of {len(results.benchmark.items):,} items"
    cells = tuple(
        _cell(entry.estimate(*key), top, results.shown(key[0]))
        for key, top in zip(keys, best, strict=True)
    )
    label = line_name(entry.label) if kind is RowKind.LINE else entry.label
    return TableRow(kind, label, note, cells)


def _cue_row(results: BenchmarkResults, keys: Sequence[tuple[str, str]]) -> TableRow:
    """The best guess from the captions alone."""
    cells = []
    for key in keys:
        best = results.cues.get(key)
        cell = _cell(best.estimate) if best else None
        cells.append(replace(cell, ties=0, note=best.told) if best and cell else None)
    note = "the strongest known guess: an attacker, or a cue chosen on other images"
    return TableRow(RowKind.CUE, TEXT_ALONE, note, tuple(cells))


def _cell(one: Estimate | None, top: float | None = None, head: str = "") -> TableCell | None:
    if one is None or not one.n:
        return None
    return TableCell(
        percent(one.value), percent(one.low), percent(one.high), one.ties, one.failed, one.n,
        best=one.value == top, way=way_behind(one, head),
    )  # fmt: skip


def _chance_rows(results: BenchmarkResults, keys: Sequence[tuple[str, str]]) -> Iterator[TableRow]:
    """Chance levels; scorers and choosers differ if one score answers two questions."""
    levels = {}
    for kind in ("scorer", "chooser"):
        shown = results.looked_at or (results.text_only,)
        members = [entry for entry in shown if entry.run.card.kind == kind]
        if members:
            levels[f"chance for {kind}s"] = tuple(_chance_cell(members, key) for key in keys)
    if len(set(levels.values())) == 1:
        levels = {"chance": next(iter(levels.values()))}
    for label, cells in levels.items():
        yield TableRow(RowKind.CHANCE, label, "", cells)


def _chance_cell(members: list[Entry], key: tuple[str, str]) -> TableCell | None:
    levels = sorted({percent(one.chance) for e in members if (one := e.estimate(*key))}, key=float)
    if not levels:
        return None
    return TableCell(levels[0] if len(levels) == 1 else f"{levels[0]}–{levels[-1]}")


# LaTeX, for papers: a booktabs tabular with everything escaped.


def to_latex(table: ScoreTable) -> str:
    """A table with its caption; the best value of each column is bold, intervals in brackets."""
    lines = [
        "% needs \\usepackage{booktabs}; for special characters \\usepackage[T1]{fontenc}",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(table.title)}. Percent, 95\% intervals in brackets.}}",
        rf"\label{{tab:{re.sub('[^A-Za-z0-9-]+', '-', table.name)}}}",
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
        r"\toprule",
        " & ".join(["", *(escape(column.label) for column in table.columns)]) + r" \\",
        r"\midrule",
    ]
    kind = table.rows[0].kind
    for row in table.rows:
        if kind is RowKind.MODEL and row.kind is not RowKind.MODEL:
            lines.append(r"\midrule")
        kind = row.kind
        lines.append(_latex_row(row))
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _latex_row(row: TableRow) -> str:
    notes = {
        RowKind.TEXT_ONLY: " (text-only, ties halved)",
        RowKind.LINE: " (never looks, ties halved)",
        RowKind.CUE: " (captions alone)",
    }
    label = row.label + notes.get(row.kind, "")
    label += f" ({row.note})" if row.note else ""
    return " & ".join([escape(label), *(_latex_cell(cell) for cell in row.cells)]) + r" \\"


def _latex_cell(cell: TableCell | None) -> str:
    if cell is None:
        return "--"
    value = rf"\textbf{{{cell.value}}}" if cell.best else escape(cell.value)
    value += escape(cell.way)
    return f"{value} [{cell.low}, {cell.high}]" if cell.low else value


def write_latex(tables: list[ScoreTable], folder: Path) -> None:
    """Write one file per table."""
    for table in tables:
        write_text(folder / f"{table.name}.tex", to_latex(table))

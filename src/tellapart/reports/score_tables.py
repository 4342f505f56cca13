"""Tables of scores: models as rows, measures or kinds as columns; for the page and as LaTeX."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from tellapart import seeds
from tellapart.files import write_text
from tellapart.measures.scores import Estimate
from tellapart.reports.results import BenchmarkResults, Entry
from tellapart.text.table_text import escape, percent

AVERAGES = {
    "micro": "all units alike",
    "macro": "mean of the kinds",
}


class RowKind(StrEnum):
    """What stands in a row."""

    MODEL = "model"
    TEXT_ONLY = "text-only"
    CUE = "cue"
    CHANCE = "chance"


@dataclass(frozen=True, slots=True)
class TableCell:
    """A number in percent; chance has no interval. `best` is the highest of the models' values.

    `note` says how a guess was made.
    """

    value: str
    low: str = ""
    high: str = ""
    ties: int = 0
    failed: int = 0
    n: int = 0
    best: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class TableColumn:
    """The head of a column; `n` is the number of units that most rows have."""

    label: str
    about: str = ""
    n: int = 0


@dataclass(frozen=True, slots=True)
class TableRow:
    """A label and one cell a column, None where the measure does not apply."""

    kind: RowKind
    label: str
    note: str
    cells: tuple[TableCell | None, ...]


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """A table with a name that can be a file's name."""

    name: str
    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[TableRow, ...]


def file_name(*parts: str) -> str:
    """Parts as a file's name; odd ones get a hash, so that no two share a file.

    >>> file_name("foil", "T2-nouns"), file_name("my bench")
    ('foil-T2-nouns', 'my-bench-8e23d0bb')
    """
    whole = "-".join(parts)
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", whole).strip("-.")
    return plain if plain == whole else f"{plain}-{seeds.digest(whole)[:8]}"


def measures_table(results: BenchmarkResults) -> ScoreTable:
    """All measures of a benchmark, over all items."""
    columns = tuple(TableColumn(one.name, one.about) for one in results.measures)
    keys = [(one.name, "micro") for one in results.measures]
    return _table(
        results, file_name(results.label), f"{results.label}: all measures", columns, keys
    )


def kinds_tables(results: BenchmarkResults) -> list[ScoreTable]:
    """For each measure a table by kind, where there are several kinds."""
    made = []
    for measure in results.measures if len(results.kinds) > 1 else ():
        columns = [TableColumn(name, about) for name, about in AVERAGES.items()]
        columns += [TableColumn(kind) for kind in results.kinds]
        keys = [(measure.name, column.label) for column in columns]
        name = file_name(results.label, measure.name, "by-kind")
        made.append(
            _table(results, name, f"{results.label}: {measure.name} by kind", columns, keys)
        )
    return made


def _table(
    results: BenchmarkResults,
    name: str,
    title: str,
    columns: Sequence[TableColumn],
    keys: Sequence[tuple[str, str]],
) -> ScoreTable:
    models = [_row(results, RowKind.MODEL, entry, keys) for entry in results.entries]
    text_only = _row(results, RowKind.TEXT_ONLY, results.text_only, keys)
    rows = [*_marked(results, models, keys), text_only, _cue_row(results, keys)]
    rows += _chance_rows(results, keys)
    sized = []
    for k, column in enumerate(columns):
        sizes = Counter(cell.n for row in [*models, text_only] if (cell := row.cells[k]))
        sized.append(replace(column, n=max(sizes, key=lambda n: (sizes[n], n), default=0)))
    return ScoreTable(name, title, tuple(sized), tuple(rows))


def _row(
    results: BenchmarkResults, kind: RowKind, entry: Entry, keys: Sequence[tuple[str, str]]
) -> TableRow:
    note = ""
    if results.partial(entry):
        note = f"{len(entry.run.covered):,} of {len(results.benchmark.items):,} items"
    cells = tuple(_cell(entry.estimate(*key)) for key in keys)
    return TableRow(kind, entry.label, note, cells)


def _cue_row(results: BenchmarkResults, keys: Sequence[tuple[str, str]]) -> TableRow:
    """The best guess from the form of the captions, chosen on other images."""
    cells = []
    for key in keys:
        best = results.cues.get(key)
        cell = _cell(best.estimate) if best else None
        cells.append(replace(cell, ties=0, note=best.cue) if best and cell else None)
    note = "length, marks, words; chosen on other images"
    return TableRow(RowKind.CUE, "best cue", note, tuple(cells))


def _cell(one: Estimate | None) -> TableCell | None:
    if one is None or not one.n:
        return None
    return TableCell(
        percent(one.value), percent(one.low), percent(one.high), one.ties, one.failed, one.n
    )


def _marked(
    results: BenchmarkResults, rows: list[TableRow], keys: Sequence[tuple[str, str]]
) -> Iterator[TableRow]:
    """The rows with the best value of each column marked (where there is more than one model)."""
    best = []
    for key in keys:
        found = [one.value for entry in results.entries if (one := entry.estimate(*key))]
        best.append(max(found) if len(found) > 1 else None)
    for row, entry in zip(rows, results.entries, strict=True):
        cells = []
        for cell, key, top in zip(row.cells, keys, best, strict=True):
            one = entry.estimate(*key)
            is_best = cell is not None and one is not None and one.value == top
            cells.append(replace(cell, best=True) if cell and is_best else cell)
        yield replace(row, cells=tuple(cells))


def _chance_rows(results: BenchmarkResults, keys: Sequence[tuple[str, str]]) -> Iterator[TableRow]:
    """What guessing gets: scorers and choosers differ where one score answers two questions."""
    sorts: list[tuple[str, Callable[[Entry], bool]]] = [
        ("scorers", lambda entry: entry.run.card.kind == "scorer"),
        ("choosers", lambda entry: entry.run.card.kind == "chooser"),
    ]
    made = []
    for name, belongs in sorts:
        members = [entry for entry in results.entries if belongs(entry)]
        members = members or ([results.text_only] if not results.entries else [])
        if members:
            made.append((name, tuple(_chance_cell(members, key) for key in keys)))
    same = len({cells for _, cells in made}) == 1
    for name, cells in made[:1] if same else made:
        yield TableRow(RowKind.CHANCE, "chance" if same else f"chance for {name}", "", cells)


def _chance_cell(members: list[Entry], key: tuple[str, str]) -> TableCell | None:
    levels = sorted({percent(one.chance) for e in members if (one := e.estimate(*key))}, key=float)
    if not levels:
        return None
    return TableCell(levels[0] if len(levels) == 1 else f"{levels[0]}–{levels[-1]}")


# LaTeX, for papers: a booktabs tabular with everything escaped.


def to_latex(table: ScoreTable) -> str:
    """A table with its caption; the best value of a column is bold, intervals are in brackets."""
    lines = [
        "% needs \\usepackage{booktabs}; for odd characters \\usepackage[T1]{fontenc}",
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
    told = {RowKind.TEXT_ONLY: " (text-only, ties halved)", RowKind.CUE: " (captions alone)"}
    label = row.label + told.get(row.kind, "")
    label += f" ({row.note})" if row.note else ""
    return " & ".join([escape(label), *(_latex_cell(cell) for cell in row.cells)]) + r" \\"


def _latex_cell(cell: TableCell | None) -> str:
    if cell is None:
        return "--"
    value = rf"\textbf{{{cell.value}}}" if cell.best else escape(cell.value)
    return f"{value} [{cell.low}, {cell.high}]" if cell.low else value


def write_latex(tables: list[ScoreTable], folder: Path) -> None:
    """One file a table."""
    for table in tables:
        write_text(folder / f"{table.name}.tex", to_latex(table))

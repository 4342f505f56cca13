"""Tables of results: models as rows, measures or kinds as columns; for the page and for LaTeX."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from tellapart import seeds
from tellapart.measures.estimate import Estimate
from tellapart.reports.sheets import Entry, Sheet

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
class Cell:
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
class Column:
    """The head of a column; `n` is the number of units that most rows have."""

    label: str
    about: str = ""
    n: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A label and one cell a column, None where the measure does not apply."""

    kind: RowKind
    label: str
    note: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a name that can be a file's name."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


def percent(share: float) -> str:
    """A share as a number with one decimal.

    >>> percent(0.71333)
    '71.3'
    """
    return f"{100 * share:.1f}"


def file_name(*parts: str) -> str:
    """Parts as a file's name; odd ones get a hash, so that no two share a file.

    >>> file_name("foil", "T2-nouns"), file_name("my bench")
    ('foil-T2-nouns', 'my-bench-8e23d0bb')
    """
    whole = "-".join(parts)
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", whole).strip("-.")
    return plain if plain == whole else f"{plain}-{seeds.digest(whole)[:8]}"


def measures_table(sheet: Sheet) -> Table:
    """All measures of a benchmark, over all items."""
    columns = tuple(Column(one.name, one.about) for one in sheet.measures)
    keys = [(one.name, "micro") for one in sheet.measures]
    return _table(sheet, file_name(sheet.label), f"{sheet.label}: all measures", columns, keys)


def kinds_tables(sheet: Sheet) -> list[Table]:
    """For each measure a table by kind, where there are several kinds."""
    made = []
    for measure in sheet.measures if len(sheet.kinds) > 1 else ():
        columns = [Column(name, about) for name, about in AVERAGES.items()]
        columns += [Column(kind) for kind in sheet.kinds]
        keys = [(measure.name, column.label) for column in columns]
        name = file_name(sheet.label, measure.name, "by-kind")
        made.append(_table(sheet, name, f"{sheet.label}: {measure.name} by kind", columns, keys))
    return made


def _table(
    sheet: Sheet,
    name: str,
    title: str,
    columns: Sequence[Column],
    keys: Sequence[tuple[str, str]],
) -> Table:
    models = [_row(sheet, RowKind.MODEL, entry, keys) for entry in sheet.entries]
    text_only = _row(sheet, RowKind.TEXT_ONLY, sheet.text_only, keys)
    rows = [*_marked(sheet, models, keys), text_only, _cue_row(sheet, keys)]
    rows += _chance_rows(sheet, keys)
    sized = []
    for k, column in enumerate(columns):
        sizes = Counter(cell.n for row in [*models, text_only] if (cell := row.cells[k]))
        sized.append(replace(column, n=max(sizes, key=lambda n: (sizes[n], n), default=0)))
    return Table(name, title, tuple(sized), tuple(rows))


def _row(sheet: Sheet, kind: RowKind, entry: Entry, keys: Sequence[tuple[str, str]]) -> Row:
    note = ""
    if sheet.partial(entry):
        note = f"{len(entry.run.covered):,} of {len(sheet.benchmark.items):,} items"
    cells = tuple(_cell(entry.estimate(*key)) for key in keys)
    return Row(kind, entry.label, note, cells)


def _cue_row(sheet: Sheet, keys: Sequence[tuple[str, str]]) -> Row:
    """The best guess from the form of the captions, chosen on other images."""
    cells = []
    for key in keys:
        best = sheet.cues.get(key)
        cell = _cell(best.estimate) if best else None
        cells.append(replace(cell, ties=0, note=best.cue) if best and cell else None)
    note = "length, marks, words; chosen on other images"
    return Row(RowKind.CUE, "best cue", note, tuple(cells))


def _cell(one: Estimate | None) -> Cell | None:
    if one is None or not one.n:
        return None
    return Cell(
        percent(one.value), percent(one.low), percent(one.high), one.ties, one.failed, one.n
    )


def _marked(sheet: Sheet, rows: list[Row], keys: Sequence[tuple[str, str]]) -> Iterator[Row]:
    """The rows with the best value of each column marked (where there is more than one model)."""
    best = []
    for key in keys:
        found = [one.value for entry in sheet.entries if (one := entry.estimate(*key))]
        best.append(max(found) if len(found) > 1 else None)
    for row, entry in zip(rows, sheet.entries, strict=True):
        cells = []
        for cell, key, top in zip(row.cells, keys, best, strict=True):
            one = entry.estimate(*key)
            is_best = cell is not None and one is not None and one.value == top
            cells.append(replace(cell, best=True) if cell and is_best else cell)
        yield replace(row, cells=tuple(cells))


def _chance_rows(sheet: Sheet, keys: Sequence[tuple[str, str]]) -> Iterator[Row]:
    """What guessing gets: scorers and choosers differ where one score answers two questions."""
    sorts: list[tuple[str, Callable[[Entry], bool]]] = [
        ("scorers", lambda entry: entry.run.card.kind == "scorer"),
        ("choosers", lambda entry: entry.run.card.kind == "chooser"),
    ]
    made = []
    for name, belongs in sorts:
        members = [entry for entry in sheet.entries if belongs(entry)]
        members = members or ([sheet.text_only] if not sheet.entries else [])
        if members:
            made.append((name, tuple(_chance_cell(members, key) for key in keys)))
    same = len({cells for _, cells in made}) == 1
    for name, cells in made[:1] if same else made:
        yield Row(RowKind.CHANCE, "chance" if same else f"chance for {name}", "", cells)


def _chance_cell(members: list[Entry], key: tuple[str, str]) -> Cell | None:
    levels = sorted({percent(one.chance) for e in members if (one := e.estimate(*key))}, key=float)
    if not levels:
        return None
    return Cell(levels[0] if len(levels) == 1 else f"{levels[0]}–{levels[-1]}")

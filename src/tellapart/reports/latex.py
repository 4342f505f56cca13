"""Tables as LaTeX, for papers: a booktabs tabular with everything escaped."""

from __future__ import annotations

import re
from pathlib import Path

from tellapart.reports.results import Cell, Row, RowKind, Table
from tellapart.tables import write_text
from tellapart.text.latex import escape


def to_latex(table: Table) -> str:
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
        lines.append(_line(row))
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    told = {RowKind.TEXT_ONLY: " (text-only, ties halved)", RowKind.CUE: " (captions alone)"}
    label = row.label + told.get(row.kind, "")
    label += f" ({row.note})" if row.note else ""
    return " & ".join([escape(label), *(_number(cell) for cell in row.cells)]) + r" \\"


def _number(cell: Cell | None) -> str:
    if cell is None:
        return "--"
    value = rf"\textbf{{{cell.value}}}" if cell.best else escape(cell.value)
    return f"{value} [{cell.low}, {cell.high}]" if cell.low else value


def write_latex(tables: list[Table], folder: Path) -> None:
    """One file a table."""
    for table in tables:
        write_text(folder / f"{table.name}.tex", to_latex(table))

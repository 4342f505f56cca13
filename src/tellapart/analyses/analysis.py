"""The result of an analysis: sentences, tables and a figure, and how they are written to files.

An analysis is a function that takes runs (or other results) and its own options and returns an
`Analysis`. It is registered as an `AnalysisKind` under `tellapart.analyses`, with an example
command.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from tellapart.analyses.figure import Figure
from tellapart.files import whole_file, whole_folder, write_json, write_text
from tellapart.options import Help, Seed
from tellapart.reports.drawing import write_drawing
from tellapart.text.table_text import aligned, escape

SHOWN = 30
"""At most this many rows of a table are printed; files have all rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalysisOptions:
    """Options of every analysis; an analysis adds its own in a subclass."""

    resamples: Annotated[int, Help("Bootstrap resamples for the intervals.", last=True)] = 2_000
    seed: Seed = 0


@dataclass(frozen=True, slots=True)
class AnalysisKind:
    """An analysis as registered: the function and an example command."""

    function: Callable[..., Analysis]
    example: str

    @property
    def about(self) -> str:
        """The first line of the function's docstring."""
        return (self.function.__doc__ or "").strip().split("\n")[0]


@dataclass(frozen=True, slots=True, eq=False)
class ResultTable:
    """A table whose name can be used as a file name.

    `frame` holds the exact numbers; `forms` says how each column is shown: `percent` (for a
    share), or a number format such as `.2f`. Columns `low` and `high`, or `x_low` and `x_high`,
    are shown as one interval.
    """

    name: str
    title: str
    frame: pl.DataFrame
    forms: Mapping[str, str] = field(default_factory=dict)

    def shown(self) -> list[list[str]]:
        """Column heads and cells as text."""
        columns = self.frame.columns
        heads, cells = [], []
        for name in columns:
            if name.endswith("high") and name.replace("high", "low") in columns:
                continue
            values = self.frame[name].to_list()
            if name.endswith("low") and name.replace("low", "high") in columns:
                others = self.frame[name.replace("low", "high")].to_list()
                heads.append("95% interval")
                cells.append([self._ends(name, *both) for both in zip(values, others, strict=True)])
            else:
                heads.append(plain(name))
                cells.append([self._text(name, value) for value in values])
        return [heads, *(list(row) for row in zip(*cells, strict=True))]

    def _ends(self, name: str, low: Any, high: Any) -> str:
        form = name if name in self.forms else name.removesuffix("low").rstrip("_") or "value"
        texts = [self._text(form, one) for one in (low, high)]
        return "-" if low is None or high is None else " to ".join(texts)

    def _text(self, name: str, value: Any) -> str:
        form = self.forms.get(name, "")
        if value is None:
            return "-"
        if isinstance(value, bool | str):
            return str(value)
        if form == "percent":
            return f"{100 * value:.1f}"
        if form:
            return format(value, form)
        return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"

    def text_columns(self) -> set[int]:
        """The positions of the shown columns that hold text."""
        texts = [name for name in self.frame.columns if self.frame[name].dtype == pl.String]
        heads = self.shown()[0]
        return {k for k, head in enumerate(heads) if head in {plain(t) for t in texts}}

    def __str__(self) -> str:
        rows = self.shown()
        more = len(rows) - 1 - SHOWN
        text = aligned(rows[: SHOWN + 1], self.text_columns())
        return f"{self.title}\n{text}" + (f"\n... and {more:,} more rows" if more > 0 else "")

    def to_latex(self) -> str:
        """A booktabs table."""
        heads, *rows = self.shown()
        left = self.text_columns()
        align = "".join("l" if k in left else "r" for k in range(len(heads)))
        lines = [
            r"% needs \usepackage{booktabs}",
            rf"\begin{{tabular}}{{{align}}}",
            r"\toprule",
            " & ".join(map(escape, heads)) + r" \\",
            r"\midrule",
            *(" & ".join(map(escape, row)) + r" \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """An analysis's findings as sentences, tables and a figure; `methods` names the methods.

    `values` holds the numbers in the sentences, for use by programs.
    """

    name: str
    title: str
    sentences: tuple[str, ...]
    tables: tuple[ResultTable, ...]
    figure: Figure | None = None
    methods: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)

    def table(self, name: str) -> pl.DataFrame:
        """The numbers of one table, by its name."""
        (found,) = (one.frame for one in self.tables if one.name == name)
        return found

    def to_json(self) -> dict[str, Any]:
        """Everything but the figure itself, which is given by its text alternative."""
        return {
            "analysis": self.name,
            "title": self.title,
            "sentences": list(self.sentences),
            "tables": {one.name: json.loads(one.frame.write_json()) for one in self.tables},
            "figure": self.figure.words if self.figure else "",
            "methods": list(self.methods),
            "values": dict(self.values),
        }

    def to_latex(self) -> str:
        """All tables."""
        return "\n".join(one.to_latex() for one in self.tables)

    def __str__(self) -> str:
        blocks = ["\n".join(self.sentences), *(str(one) for one in self.tables)]
        if self.methods:
            blocks.append("\n".join(self.methods))
        return "\n\n".join(blocks)

    def write(self, out: Path, *, forms: Sequence[str] = ("svg",), overwrite: bool = False) -> None:
        """Write a folder: tables as CSV and LaTeX, everything as JSON and text, the figure."""
        with whole_folder(out, overwrite=overwrite) as partial:
            for one in self.tables:
                with whole_file(partial / f"{one.name}.csv") as path:
                    _flat(one.frame).write_csv(path)
                write_text(partial / f"{one.name}.tex", one.to_latex())
            write_json(partial / f"{self.name}.json", self.to_json())
            write_text(partial / f"{self.name}.txt", f"{self}\n")
            if self.figure is not None:
                write_drawing(self.figure.drawing, partial / self.name, forms)


def plain(column: str) -> str:
    """A column's name in words.

    >>> plain("foil_position")
    'foil position'
    """
    return column.replace("_", " ")


def told_p(p: float) -> str:
    """A p-value in words.

    >>> told_p(0.0312), told_p(1e-20)
    ('p = 0.031', 'p < 0.0001')
    """
    return f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """Lists as strings, since CSV has no lists."""
    lists = [name for name, kind in frame.schema.items() if isinstance(kind, pl.List)]
    return frame.with_columns(pl.col(n).cast(pl.List(pl.String)).list.join("; ") for n in lists)

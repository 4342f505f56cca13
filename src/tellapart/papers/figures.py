"""Published figures: the numbers printed in papers, in YAML files beside this one, with sources.

A file is one paper; each of its tables has columns (a measure of runs, a metric of captions or a
recall) and rows (systems, people, chance). Values are in percent, as printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Literal

import yaml

from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import UnknownName
from tellapart.mine.mcic import WAYS

GOT, BUILT = "tellapart get ", "tellapart build "
Who = Literal["system", "people", "chance"]


@dataclass(frozen=True, slots=True)
class FigureColumn:
    """One column: exactly one of `measure`, `metric` and `recall` says where our figures come from.

    `recall` is a direction, `at` its k; `kind` restricts a measure to items of one kind. `built` is
    how a user's own benchmark must be built to appear in the column; benchmarks from the paper's
    authors appear in the column `paper`.
    """

    head: str
    measure: str = ""
    metric: str = ""
    recall: str = ""
    at: int = 1
    built: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One row; `system` is the name under which we train it, and None is a missing figure.

    Trainings whose `settings` differ from the row's do not belong to it.
    """

    name: str
    values: tuple[float | None, ...]
    system: str = ""
    who: Who = "system"
    note: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of a paper; differences of our figures are stated relative to `facts`.

    `apart` names a setting whose values get separate rows for our trainings, `prepare` says how
    captions are prepared before judging; `main` tables are quoted beside measured runs. If a paper
    `builds`, runs on benchmarks made by the toolkit's builder of that name are included, too, each
    benchmark in its own rows.
    """

    name: str
    title: str
    paper: str
    source: str
    benchmark: str
    columns: tuple[FigureColumn, ...]
    rows: tuple[PublishedRow, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    apart: str = ""
    prepare: str = ""
    main: bool = True
    builds: bool = False

    @property
    def cites(self) -> str:
        """The source of the figures."""
        return f"{self.paper}, {self.source}"


@cache
def published_tables() -> Mapping[str, PublishedTable]:
    """All known tables, by name."""
    found: dict[str, PublishedTable] = {}
    folder = resources.files("tellapart.papers") / "published"
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        if file.name.endswith(".yaml"):
            found |= {table.name: table for table in _tables(file.read_text(encoding="utf-8"))}
    return found


def published_table(name: str) -> PublishedTable:
    """A table by its name."""
    (table,) = tables_named(name)
    return table


def tables_named(name: str) -> tuple[PublishedTable, ...]:
    """The table of a name, or all tables of a paper: `bison-2`, `bison`."""
    known = published_tables()
    found = [table for table in known.values() if name in (table.name, table.name.split("-")[0])]
    if not found:
        papers = dict.fromkeys(one.split("-")[0] for one in known)
        raise UnknownName("published table", name, [*papers, *known])
    return tuple(found)


def importer_of(benchmark: Benchmark) -> str:
    """The importer of a benchmark, such as `bison`; empty for a benchmark built here."""
    by = str(benchmark.card.made.get("by", ""))
    return by.removeprefix(GOT) if by.startswith(GOT) else ""


def source_of(benchmark: Benchmark) -> tuple[str, str]:
    """The importer or builder of a benchmark, and how it was built: (`mcic`, `fair-sets`)."""
    by = str(benchmark.card.made.get("by", ""))
    if not by.startswith(BUILT):
        return importer_of(benchmark), ""
    told = str(benchmark.card.made.get("options", ""))
    return by.removeprefix(BUILT), next((way for way, text in WAYS.items() if text == told), "own")


def figures_of(
    benchmark: str, measure: str
) -> Iterator[tuple[PublishedTable, PublishedRow, float]]:
    """Published figures on a benchmark by a measure; `benchmark` is its importer's name."""
    for table in published_tables().values():
        if table.benchmark != benchmark or not table.main:
            continue
        for place, column in enumerate(table.columns):
            if column.measure == measure:
                for row in table.rows:
                    value = row.values[place]
                    if value is not None:
                        yield table, row, value


def _tables(text: str) -> Iterator[PublishedTable]:
    paper = yaml.safe_load(text)
    for name, table in paper["tables"].items():
        columns = tuple(FigureColumn(**column) for column in table["columns"])
        rows = tuple(
            PublishedRow(**{**row, "values": tuple(row["values"])}) for row in table["rows"]
        )
        for row in rows:
            if len(row.values) != len(columns):
                raise ValueError(f"{name}: {row.name} has {len(row.values)} values")
        yield PublishedTable(
            name, table["title"], paper["paper"], table["source"],
            table.get("benchmark", paper["benchmark"]), columns, rows, paper.get("facts", {}),
            builds=bool(paper.get("builds")),
            **{key: table[key] for key in ("apart", "prepare", "main") if key in table},
        )  # fmt: skip

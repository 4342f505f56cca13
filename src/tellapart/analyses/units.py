"""Units of runs for analyses: each run's outcome on each question, with the facts of its item.

A unit is what the measure counts: an answer, or an item if its answers count together. Runs of one
benchmark are aligned on all units that any of them covers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl

from tellapart import registry
from tellapart.analyses.analysis import AnalysisOptions
from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput, UnknownName
from tellapart.files import read_table
from tellapart.measures.contestants import labels
from tellapart.measures.contrast import paired_units
from tellapart.measures.item_columns import item_table, own_table, question_table
from tellapart.measures.measure import Measure
from tellapart.measures.scores import read_runs
from tellapart.options import Help
from tellapart.score.run import Run
from tellapart.types import Bools, Floats, Ints

Sources = Annotated["Run | Path | str | Sequence[Run | Path | str]",
                    Help("Runs, or folders of runs.")]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitOptions(AnalysisOptions):
    """Options of analyses of runs."""

    measure: Annotated[str, Help("The measure (default: the benchmark's first).")] = ""
    item_table: Annotated[
        Path | None, Help("Your own table with a column item; its other columns become facts.")
    ] = None
    on: Annotated[Path | None, Help("The runs' benchmark, if it has moved.")] = None


@dataclass(frozen=True, eq=False)
class UnitTable:
    """Runs side by side: `value` and `covered` have one row per unit and one column per run.

    `item` is the position of a unit's item in the benchmark, `cluster` its group of items that
    share images.
    """

    benchmark: Benchmark
    measure: Measure
    models: tuple[str, ...]
    item: Ints
    cluster: Ints
    value: Floats
    covered: Bools
    own: pl.DataFrame | None = None

    @cached_property
    def facts(self) -> pl.DataFrame:
        """One row per unit: the columns of its item, and of the user's table."""
        table = item_table(self.benchmark, self.own).with_row_index("place")
        asked = question_table(self.benchmark, self.measure.asks).group_by("item").agg(
            pl.col("options", "right_place").first()
        )  # fmt: skip
        table = table.drop("options", "right_place", strict=False).join(
            asked, left_on="place", right_on="item", how="left", maintain_order="left"
        )
        return table.drop("place")[self.item]

    def fact(self, name: str) -> pl.Series:
        """One column of facts."""
        if name not in self.facts.columns:
            known = [c for c in self.facts.columns if c != "item"]
            raise UnknownName("fact", name, known)
        column = self.facts[name]
        if not column.drop_nulls().len():
            raise BadInput(f"no item of {self.benchmark.name} has a value in column {name}")
        return column

    def of(self, run: int) -> tuple[Floats, Ints, Ints]:
        """Values, clusters and rows of the units that one run covers."""
        rows = np.flatnonzero(self.covered[:, run])
        return self.value[rows, run], self.cluster[rows], rows


def unit_table(
    runs: Run | Path | str | Sequence[Run | Path | str],
    options: UnitOptions,
    preferred: Sequence[str] = (),
) -> UnitTable:
    """The units of runs of one benchmark.

    If no measure is named, it is the first of `preferred` that the benchmark has, or else the
    benchmark's first.
    """
    read = read_runs(runs, options.on)
    versions = {run.benchmark.sha256: run.benchmark.name for run in read}
    if len(versions) > 1:
        raise BadInput(
            f"these runs belong to {len(versions)} benchmarks: {', '.join(versions.values())}",
            allowed="runs of one benchmark",
            todo="give the runs of one of them",
        )
    usual = read[0].benchmark.card.measures
    name = options.measure or next((one for one in preferred if one in usual), usual[0])
    found: Measure = registry.measures.get(name)
    if not found.by_item:
        raise BadInput(
            f"{found.name} compares across items, so it does not make an item right or wrong",
            allowed="a measure that counts answers",
            todo="name one with --measure",
        )
    places, units = paired_units(read, found, "wrong")
    if not places:
        raise BadInput(
            f"no run answered what {found.name} asks",
            where=", ".join(dict.fromkeys(run.model for run in read)),
            todo="name another measure with --measure (see: tellapart list measures)",
        )
    names = labels(read)
    own = None if options.item_table is None else own_table(read_table(options.item_table))
    return UnitTable(
        read[0].benchmark, found, tuple(names[k] for k in places), units.item, units.cluster,
        units.value, units.covered, own,
    )  # fmt: skip

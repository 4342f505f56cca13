"""Published figures beside the scores of runs."""

from __future__ import annotations

from collections.abc import Mapping

from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput
from tellapart.measures.overview import Overview, ReferenceLine
from tellapart.papers.figures import figures_of, importer_of, published_tables


def published_lines(
    benchmarks: Mapping[str, Benchmark], overview: Overview
) -> tuple[ReferenceLine, ...]:
    """Published figures for benchmarks (by their labels), as lines of an overview.

    Chance is left out, because the overview has its own line for it.
    """
    lines = []
    for column in overview.columns:
        benchmark = benchmarks[column.benchmark]
        for table, row, value in figures_of(importer_of(benchmark), column.measure):
            if row.who != "chance":
                whole = table.facts.get("items")
                part = whole and len(benchmark) < whole
                note = f"{table.cites}; on {whole:,} items" if whole else table.cites
                note += f" ({len(benchmark):,} of them here)" if part else ""
                lines.append(
                    ReferenceLine(
                        row.name, column.benchmark, column.measure, value / 100, note=note
                    )
                )
    if not lines:
        known = sorted({table.benchmark for table in published_tables().values()})
        raise BadInput(
            "no published figures are known for these benchmarks and measures",
            where=", ".join(benchmarks),
            allowed=", ".join(f"the result of `tellapart get {name}`" for name in known),
        )
    return tuple(lines)

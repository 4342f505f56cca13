"""`analyse composition`: what benchmarks consist of (BISON Table 1, FOIL Table 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import polars as pl

from tellapart.analyses.analysis import Analysis, AnalysisKind, AnalysisOptions, ResultTable
from tellapart.analyses.figure import Figure, Panel
from tellapart.analyses.sources import Benchmarks, benchmarks_of
from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput, UnknownName
from tellapart.measures.item_columns import item_table
from tellapart.options import Help
from tellapart.types import Progress, silent

COUNTED = ("items", "images", "captions", "groups", "pairs", "targets", "foils")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositionOptions(AnalysisOptions):
    """Whether parts are counted, too."""

    by: Annotated[str, Help("Also by a fact: kind, supercategory, split, ...")] = ""


def analyse_composition(
    benchmarks: Benchmarks,
    options: CompositionOptions = CompositionOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Analysis:
    """What benchmarks consist of: items, distinct images and captions, pairs of target and foil.

    Captions are distinct once white space is collapsed.
    """
    every = benchmarks_of(benchmarks)
    rows: list[dict[str, Any]] = []
    for one in every:
        table = _facts(one)
        rows.append({"benchmark": one.name, "part": "all", **_counts(table)})
        if options.by:
            if options.by not in table.columns:
                known = [c for c in table.columns if c not in ("item", "images", "captions")]
                raise UnknownName("fact", options.by, known)
            parts = table.group_by(options.by, maintain_order=True)
            named = sorted(((str(key[0]), own) for key, own in parts), key=lambda part: part[0])
            rows += [{"benchmark": one.name, "part": key, **_counts(own)} for key, own in named]
    frame = pl.DataFrame(rows)
    if not frame["items"].sum():
        raise BadInput("these benchmarks have no items")
    frame = frame.drop([name for name in ("pairs", "targets", "foils") if not frame[name].sum()])
    sentences = tuple(
        f"{row['benchmark']}: {row['items']:,} items, {row['images']:,} images, "
        f"{row['captions']:,} captions"
        + (f", {row['pairs']:,} pairs of target and foil." if row.get("pairs") else ".")
        for row in frame.filter(pl.col("part") == "all").iter_rows(named=True)
    )
    shown = frame.filter(pl.col("part") != "all") if options.by else frame
    bars = tuple(
        {"label": row["part"] if options.by else row["benchmark"], "y": row["items"],
         "series": row["benchmark"] if len(every) > 1 and options.by else ""}
        for row in shown.iter_rows(named=True)
    )  # fmt: skip
    title = "What " + ", ".join(one.name for one in every) + " consist of"
    figure = Figure(title, f"{title}. {' '.join(sentences)}",
                    (Panel("bars", bars, options.by, "items"),))  # fmt: skip
    made = ResultTable("composition", title, frame)
    return Analysis("composition", title, sentences, (made,), figure)


def _facts(benchmark: Benchmark) -> pl.DataFrame:
    frame = benchmark.items.frame
    return item_table(benchmark).with_columns(frame["images"], frame["captions"])


def _counts(table: pl.DataFrame) -> dict[str, int]:
    captions = table["captions"].explode().str.replace_all(r"\s+", " ").str.strip_chars()
    return {
        "items": table.height,
        "images": table["images"].explode().n_unique(),
        "captions": captions.n_unique(),
        "groups": table["group"].n_unique(),
        **{name: table[name.removesuffix("s")].drop_nulls().n_unique() for name in COUNTED[4:]},
    }


ANALYSIS = AnalysisKind(
    analyse_composition, "tellapart analyse composition foil --by supercategory"
)

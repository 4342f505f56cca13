"""`analyse composition`, `analyse dropped`: what benchmarks consist of, and what was dropped.

Table 1 of BISON and of FOIL; BiVLC keeps 39% of SugarCrepe's items (Miranda et al. 2024, section
3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from tellapart.analyses.analysis import Analysis, AnalysisKind, AnalysisOptions, ResultTable, told_p
from tellapart.analyses.figure import Figure, Panel, dot_rows
from tellapart.analyses.sources import Benchmarks, benchmarks_of
from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput, UnknownName
from tellapart.measures.item_columns import item_table
from tellapart.options import Help
from tellapart.stats.intervals import wilson
from tellapart.types import Progress, silent

COUNTED = ("items", "images", "captions", "groups", "pairs", "targets", "foils")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompositionOptions(AnalysisOptions):
    """Whether to count parts of a benchmark, too."""

    by: Annotated[str, Help("Also count by a fact: kind, supercategory, split, ...")] = ""


def analyse_composition(
    benchmarks: Benchmarks,
    options: CompositionOptions = CompositionOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Analysis:
    """What benchmarks consist of: items, distinct images and captions, target-foil pairs.

    Captions that differ only in white space count as one.
    """
    every = benchmarks_of(benchmarks)
    names = _names(every)
    rows: list[dict[str, Any]] = []
    for name, one in zip(names, every, strict=True):
        table = _facts(one)
        rows.append({"benchmark": name, "part": "all", **_counts(table)})
        if options.by:
            if options.by not in table.columns:
                known = [c for c in table.columns if c not in ("item", "images", "captions")]
                raise UnknownName("fact", options.by, known)
            parts = table.group_by(options.by, maintain_order=True)
            named = sorted(((str(key[0]), own) for key, own in parts), key=lambda part: part[0])
            rows += [{"benchmark": name, "part": key, **_counts(own)} for key, own in named]
    frame = pl.DataFrame(rows)
    if not frame["items"].sum():
        raise BadInput("these benchmarks have no items")
    frame = frame.drop([name for name in ("pairs", "targets", "foils") if not frame[name].sum()])
    sentences = tuple(
        f"{row['benchmark']}: {row['items']:,} items, {row['images']:,} images, "
        f"{row['captions']:,} captions"
        + (f", {row['pairs']:,} target-foil pairs." if row.get("pairs") else ".")
        for row in frame.filter(pl.col("part") == "all").iter_rows(named=True)
    )
    series = "benchmark" if len(every) > 1 else "none"
    if options.by:
        shown = frame.filter(pl.col("part") != "all").rename({"part": "label", "items": "y"})
    else:
        shown = frame.unpivot(COUNTED[:3], index="benchmark", variable_name="label", value_name="y")
    bars = tuple(
        {"label": row["label"], "y": row["y"], "series": row.get(series, "")}
        for row in shown.iter_rows(named=True)
    )
    title = f"What {', '.join(names)} {'consists' if len(every) == 1 else 'consist'} of"
    panel = Panel("bars", bars, options.by, "items" if options.by else "number")
    figure = Figure(title, f"{title}. {' '.join(sentences)}", (panel,))
    made = ResultTable("composition", title, frame)
    return Analysis("composition", title, sentences, (made,), figure)


def _names(every: Sequence[Benchmark]) -> list[str]:
    """The names of benchmarks; parts that share one are told apart by their folders, or counted."""
    names = [one.name for one in every]
    if len(set(names)) < len(names):
        names = [one.root.name or one.name for one in every]
    if len(set(names)) < len(names):
        names = [f"{one.name} ({k})" for k, one in enumerate(every, 1)]
    return names


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


COMPOSITION = AnalysisKind(
    analyse_composition, "tellapart analyse composition foil --by supercategory"
)


FORMS = {"dropped": "percent", "low": "percent"}


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedOptions(AnalysisOptions):
    """The fact to count by."""

    by: Annotated[str, Help("The fact to count by: kind, family, supercategory, ...")] = "kind"


def analyse_dropped(
    benchmarks: Benchmarks,
    options: DroppedOptions = DroppedOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Analysis:
    """The share of items dropped between two versions of a benchmark, by kind.

    The first benchmark is the version before, the second the version after, such as the items
    that a study verified. Items are counted, not matched, because a step may turn old items into
    new ones.
    """
    every = benchmarks_of(benchmarks)
    if len(every) != 2:
        raise BadInput(f"{len(every)} benchmarks were given", allowed="two: before and after")
    first_name, last_name = _names(every)
    before, after = (_by_value(one, options.by) for one in every)
    more = [name for name in after if after[name] > before.get(name, 0)]
    if more:
        raise BadInput(
            f"{last_name} has more items of {more[0]} than {first_name}",
            allowed="the benchmark before, then what is left of it",
        )
    names = ["all", *sorted(before)]
    counts = [(sum(before.values()), sum(after.values()))]
    counts += [(before[name], after.get(name, 0)) for name in names[1:]]
    rows: list[dict[str, Any]] = []
    for name, (first, last) in zip(names, counts, strict=True):
        low, high = wilson((first - last) / first, first)
        rows.append({options.by: name, "before": first, "after": last,
                     "dropped": (first - last) / first, "low": low, "high": high})  # fmt: skip
    frame = pl.DataFrame(rows)
    parts = frame[1:].sort("dropped", descending=True)
    p = _chi_square(np.array(counts[1:], float))
    whole = frame.row(0, named=True)
    sentence = (
        f"Of {whole['before']:,} items of {first_name}, {100 * whole['dropped']:.1f}% "
        f"({100 * whole['low']:.1f} to {100 * whole['high']:.1f}) were dropped"
    )
    if parts.height > 1:
        worst, best = parts.row(0, named=True), parts.row(-1, named=True)
        told = "differ" if p < 0.05 else "are not shown to differ"
        sentence += (
            f"; the most of {worst[options.by]} ({100 * worst['dropped']:.1f}%), the fewest of "
            f"{best[options.by]} ({100 * best['dropped']:.1f}%); groups {told} ({told_p(p)})"
        )
    title = f"Dropped between {first_name} and {last_name}, by {options.by}"
    value, low_, high_ = ((100 * frame[c]).to_list() for c in ("dropped", "low", "high"))
    panel = Panel("dots", tuple(dot_rows(names, value, low_, high_)),
                  "% dropped (bar: 95% interval)", domain=(0, 100))  # fmt: skip
    figure = Figure(title, f"{title}. {sentence}.", (panel,))
    methods = ("interval: Wilson, items as independent; test: chi-square over groups",)
    table = ResultTable("dropped", title, frame, FORMS)
    return Analysis("dropped", title, (f"{sentence}.",), (table,), figure, methods)


def _by_value(benchmark: Any, by: str) -> dict[str, int]:
    table = item_table(benchmark)
    if by not in table.columns:
        raise UnknownName("fact", by, [c for c in table.columns if c != "item"])
    counts = table.group_by(pl.col(by).cast(pl.String).fill_null("(none)")).len()
    return dict(counts.iter_rows())


def _chi_square(counts: Any) -> float:
    """Pearson's test that all groups have the same share dropped (Pearson 1900)."""
    from scipy.stats import chi2

    first, last = counts.T
    gone = first - last
    share = gone.sum() / first.sum()
    if len(first) < 2 or share in (0.0, 1.0):
        return 1.0
    statistic = ((gone - share * first) ** 2 / (first * share * (1 - share))).sum()
    return float(chi2.sf(statistic, len(first) - 1))


DROPPED = AnalysisKind(analyse_dropped, "tellapart analyse dropped sugarcrepe bivlc --by kind")

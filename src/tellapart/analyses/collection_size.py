"""`analyse collection-size`: recall against the size of the collection (BISON, Figure 9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.analyses.analysis import Analysis, AnalysisKind, AnalysisOptions, ResultTable
from tellapart.analyses.figure import BAND, Figure, Panel
from tellapart.analyses.sources import QueryFiles, paths_of
from tellapart.corpus.reader import name_of
from tellapart.errors import BadInput
from tellapart.measures.retrieval import DIRECTIONS
from tellapart.measures.retrieval_queries import read_queries
from tellapart.options import Help
from tellapart.stats.intervals import mean_interval
from tellapart.types import Floats, Ints, Progress, silent

FORMS = {"recall": "percent", "low": "percent"}
POINTS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionOptions(AnalysisOptions):
    """Sizes of the collection, and the ranks at which recall is computed."""

    sizes: Annotated[tuple[int, ...], Help("Sizes of the collection (default: twelve).")] = ()
    at: Annotated[tuple[int, ...], Help("Recall at these ranks.")] = (1, 5, 10)


def analyse_collection_size(
    queries: QueryFiles,
    options: CollectionOptions = CollectionOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Analysis:
    """Recall@k of image retrieval against the size of the collection, with a band.

    Reads what retrieve --per-query wrote. Let a query's own image have rank r. In a random
    collection it is among the first k if at most k - 1 of the r - 1 images before it are drawn;
    the hypergeometric probability of that is the exact mean over all random collections.
    """
    rows: list[dict[str, Any]] = []
    for path in paths_of(queries):
        table = read_queries(path).filter(pl.col("direction") == DIRECTIONS[1])
        images = table["image"].n_unique()
        if images < 3:
            raise BadInput(f"{path.name} has captions of {images} images", allowed="3 or more")
        sizes = options.sizes or tuple(
            np.unique(np.geomspace(min(10, images), images, POINTS).astype(int)).tolist()
        )
        if min(sizes) < 2 or max(sizes) > images:
            raise BadInput(
                f"collections of {min(sizes):,} to {max(sizes):,} images", where=str(path),
                allowed=f"2 to {images:,}, the size of the collection",
            )  # fmt: skip
        ranks = table["rank"].to_numpy()
        clusters = np.unique(table["image"].to_numpy(), return_inverse=True)[1]
        for k in options.at:
            for size in sizes:
                shares = found_among(ranks, images, size, k)
                rng = seeds.rng(options.seed, "collection", name_of(path), k, size)
                interval = mean_interval(shares, clusters, rng, options.resamples)
                rows.append({
                    "queries": name_of(path), "k": k, "images": int(size), "n": len(ranks),
                    "recall": float(shares.mean()), "low": interval.low, "high": interval.high,
                })  # fmt: skip
    frame = pl.DataFrame(rows)
    sentences = []
    for (name, k), curve in frame.group_by("queries", "k", maintain_order=True):
        first, last = curve.row(0, named=True), curve.row(-1, named=True)
        sentences.append(_sentence(f"{name}: recall@{k}", first, last))
    title = "Recall by size of the collection"
    figure = Figure(title, f"{title}. {' '.join(sentences)}", tuple(_panels(frame)))
    methods = ("mean over all random collections (hypergeometric); interval: over images",)
    table_ = ResultTable("collection-size", title, frame, FORMS)
    return Analysis("collection-size", title, tuple(sentences), (table_,), figure, methods)


def _panels(frame: pl.DataFrame) -> Iterator[Panel]:
    """One panel for a single system; for several systems, one panel for each k."""
    rows = frame.with_columns(pl.format("recall@{}", "k").alias("measure"))
    apart, series = "queries", "measure"
    if frame["queries"].n_unique() > 1:
        apart, series = series, apart
    axes = "images in the collection", f"recall, %{BAND}"
    for (title,), own in rows.group_by(apart, maintain_order=True):
        points = tuple(
            {"x": r["images"], "y": 100 * r["recall"], "low": 100 * r["low"],
             "high": 100 * r["high"], "series": r[series]}
            for r in own.iter_rows(named=True)
        )  # fmt: skip
        yield Panel("lines", points, *axes, str(title), log=True, domain=(0, 100))


def found_among(ranks: Ints, images: int, size: int, k: int) -> Floats:
    """The chance that each query's image is among the first k of a random collection.

    >>> found_among(np.array([1, 2, 3]), 3, 2, 1).tolist()
    [1.0, 0.5, 0.0]
    """
    from scipy.stats import hypergeom

    return np.asarray(hypergeom(images - 1, ranks - 1, size - 1).cdf(k - 1), float)


def _sentence(name: str, first: dict[str, Any], last: dict[str, Any]) -> str:
    """Recall in the smallest and the largest collection."""
    queries = f"{last['n']:,} queries"
    if first["images"] == last["images"]:
        return f"{name} is {_recall(last)} among {last['images']:,} images, {queries}."
    way = "falls from" if last["recall"] < first["recall"] else "is"
    then = "to" if way != "is" else "and"
    return (
        f"{name} {way} {_recall(first)} among {first['images']:,} images {then} {_recall(last)} "
        f"among {last['images']:,}, {queries}."
    )


def _recall(row: dict[str, Any]) -> str:
    return f"{100 * row['recall']:.1f}% ({100 * row['low']:.1f} to {100 * row['high']:.1f})"


ANALYSIS = AnalysisKind(analyse_collection_size, "tellapart analyse collection-size queries.csv")

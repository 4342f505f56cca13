"""`analyse recall-errors`: retrieval errors that people call right (BISON short paper, Table 1)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.analyses.analysis import Analysis, AnalysisKind, AnalysisOptions, ResultTable
from tellapart.analyses.figure import Figure, Panel, dot_rows
from tellapart.analyses.sources import QueryFiles, paths_of
from tellapart.errors import BadInput
from tellapart.files import read_table, require_columns
from tellapart.measures.retrieval import DIRECTIONS
from tellapart.measures.retrieval_queries import read_queries
from tellapart.options import Help
from tellapart.stats.agreement import bootstrap_statistic
from tellapart.stats.intervals import mean_interval
from tellapart.types import Floats, Progress, silent

YES, NO = "yes", "no"
FORMS = {"share": "percent", "low": "percent", "value": "percent"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallErrorOptions(AnalysisOptions):
    """People's judgements of the errors."""

    judgements: Annotated[
        Path | None,
        Help("Judgements from a yes-no study of the errors, as study export writes them."),
    ] = None
    direction: Annotated[
        str, Help("The direction of the queries.", choices=("text to image", "image to text"))
    ] = DIRECTIONS[1]


def analyse_recall_errors(
    queries: QueryFiles,
    options: RecallErrorOptions = RecallErrorOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Analysis:
    """How many recall@1 errors people accept as right, and recall corrected for them.

    Queries come from retrieve --per-query; a study made with study create QUERIES --ask yes-no
    asks people whether the caption describes what was retrieved instead. The majority decides; a
    tie counts as no. If only a sample of the errors was judged, its share stands for all errors.
    """
    table, judged = _judged(queries, options)
    errors = int((table["rank"] > 1).sum())
    fine = judged["right"].cast(pl.Float64).to_numpy()
    images = np.unique(judged["image"].to_numpy(), return_inverse=True)[1]
    rng = seeds.rng(options.seed, "recall-errors")
    share = mean_interval(fine, images, rng, options.resamples)
    recall, corrected = _corrected(table, judged, rng, options)
    rows = [
        ("errors that people confirm", NO, len(fine) - int(fine.sum()), 1 - fine.mean(),
         1 - share.high, 1 - share.low),
        ("errors that people call right", YES, int(fine.sum()), fine.mean(), share.low,
         share.high),
    ]  # fmt: skip
    columns = ["recall@1 incorrect", "people", "number", "share", "low", "high"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    recalls = pl.DataFrame(
        [{"recall@1": "as counted", **recall}, {"recall@1": "corrected", **corrected}]
    )
    sentences = (
        f"{len(fine):,} of {errors:,} errors were judged; people call {int(fine.sum()):,} of them "
        f"right: {100 * fine.mean():.1f}% ({100 * share.low:.1f} to "
        f"{100 * share.high:.1f}).",
        f"Recall@1 ({options.direction}) is {100 * recall['value']:.1f}% "
        f"({100 * recall['low']:.1f} to {100 * recall['high']:.1f}) as counted and "
        f"{100 * corrected['value']:.1f}% ({100 * corrected['low']:.1f} to "
        f"{100 * corrected['high']:.1f}) corrected.",
    )
    title = "Retrieval errors that people call right"
    value, low, high = (
        [100 * one[c] for one in (recall, corrected)] for c in ("value", "low", "high")
    )
    dots = dot_rows(["recall@1 as counted", "recall@1 corrected"], value, low, high)
    panel = Panel("dots", tuple(dots), "% (bar: 95% interval)", domain=(0, 100))
    figure = Figure(title, f"{title}. {' '.join(sentences)}", (panel,))
    tables = (ResultTable("errors", title, frame, FORMS),
              ResultTable("recall", "Recall@1", recalls, FORMS))  # fmt: skip
    methods = ("interval: over images of the queries; majority vote, a tie counts as no",)
    return Analysis("recall-errors", title, sentences, tables, figure, methods)


def _judged(queries: QueryFiles, options: RecallErrorOptions) -> tuple[pl.DataFrame, pl.DataFrame]:
    """All queries in one direction, and the errors among them that people judged."""
    (path, *others) = paths_of(queries)
    if others:
        raise BadInput("several files of queries were given", allowed="one")
    if options.judgements is None:
        raise BadInput(
            "there are no judgements of the errors",
            todo=f"make a study with: tellapart study create {path} OUT --ask yes-no, and give "
            "its judgements with --judgements",
        )
    table = read_queries(path).filter(pl.col("direction") == options.direction)
    if not table.height:
        raise BadInput(f"{path.name} has no queries {options.direction}", where=str(path))
    votes = _votes(options.judgements)
    wrong = table.filter(pl.col("rank") > 1)
    judged = wrong.join(votes, on="query", how="inner", maintain_order="left")
    if not judged.height:
        raise BadInput(
            f"none of the {wrong.height:,} errors in {path.name} was judged",
            where=str(options.judgements),
            allowed="judgements from a study of these queries",
        )
    return table, judged


def _votes(path: Path) -> pl.DataFrame:
    """Whether most people said yes to each query; void judgements and checks are left out."""
    table = read_table(path)
    require_columns(table, ["item", "choice"], path)
    if "void" in table.columns:
        table = table.filter(
            ~pl.col("void").cast(pl.String).str.to_lowercase().is_in(["true", "1"])
        )
    table = table.filter(pl.col("choice").is_in([YES, NO])).with_columns(
        pl.col("item").str.replace(r"^.*:", "").alias("query")
    )
    if not table.height:
        raise BadInput(
            "there are no yes-no answers", where=str(path), allowed="judgements of a yes-no study"
        )
    return table.group_by("query", maintain_order=True).agg(
        ((pl.col("choice") == YES).mean() > 0.5).alias("right"), pl.len().alias("votes")
    )


def _corrected(
    table: pl.DataFrame, judged: pl.DataFrame, rng: np.random.Generator, options: RecallErrorOptions
) -> tuple[dict[str, float], dict[str, float]]:
    """Recall@1 as counted, and with the share of errors that people call right added."""
    verdict = dict(judged.select("query", "right").iter_rows())
    hit = (table["rank"] == 1).cast(pl.Float64).to_numpy()
    seen = np.array([float(query in verdict) for query in table["query"]])
    fine = np.array([float(verdict.get(query, False)) for query in table["query"]])
    features = np.stack([hit, np.ones(len(hit)), seen, fine], axis=1)
    clusters = np.unique(table["image"].to_numpy(), return_inverse=True)[1]

    def whole(totals: Floats) -> Floats:
        hits, n, asked, right = (totals[..., k] for k in range(4))
        return np.asarray((hits + (n - hits) * right / asked) / n)

    recall = mean_interval(hit, clusters, rng, options.resamples)
    low, high = bootstrap_statistic(features, clusters, whole, rng, options.resamples)
    value = float(whole(features.sum(axis=0)))
    return (
        {"value": float(hit.mean()), "low": recall.low, "high": recall.high},
        {"value": value, "low": low, "high": high},
    )


ANALYSIS = AnalysisKind(
    analyse_recall_errors,
    "tellapart analyse recall-errors queries.csv --judgements results/judgements.parquet",
)

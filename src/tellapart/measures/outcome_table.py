"""Outcomes as a table: one row for each question and run, with the properties of its item.

It is meant for further analysis: regressions on caption length, accuracy by foil position, items
that only one model gets right.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from tellapart.errors import BadInput
from tellapart.files import check_table_name, write_table
from tellapart.measures.contestants import labels
from tellapart.measures.item_columns import COLUMNS, item_table, question_table
from tellapart.measures.scores import asks_of
from tellapart.questions import Ask
from tellapart.score.answer_columns import QUESTION
from tellapart.score.answers import answers
from tellapart.score.run import Run

ANSWERED = ("benchmark", "model", "item", "question", "right", "share", "tied", "failed", "chance",
            "trials")  # fmt: skip
"""Who was asked what, and the outcome: `right` counts a tie as wrong, `share` as its expected value
when broken at random; with several trials both are means."""


def outcome_table(
    runs: Sequence[Run], own: pl.DataFrame | None = None, measures: Sequence[str] | None = None
) -> pl.DataFrame:
    """One row per question of each run, of all types that the benchmark's measures read.

    `ANSWERED` first, then the columns of the item (`item_columns.COLUMNS`), its notes and the
    user's own. Questions that a run was never asked have no row; one without an answer has failed.
    """
    parts = []
    for run, label in zip(runs, labels(runs), strict=True):
        asks = asks_of(measures or run.benchmark.card.measures)
        told = [
            _answers_by_question(run, ask) for ask in Ask if ask in asks and _was_asked(run, ask)
        ]
        if not told:
            continue
        facts = question_table(run.benchmark, asks)
        of_items = item_table(run.benchmark, own).with_row_index("place")
        rows = pl.concat(told).join(
            facts, on=["item", "ask", "image", "caption"], how="left", maintain_order="left"
        )
        rows = rows.rename({"item": "place"}).join(
            of_items, on="place", how="left", maintain_order="left"
        )
        parts.append(
            rows.with_columns(
                pl.lit(run.benchmark.name).alias("benchmark"), pl.lit(label).alias("model")
            )
        )
    if not parts:
        raise BadInput("these runs have no answers", allowed="runs with answers")
    table = pl.concat(parts, how="diagonal_relaxed")
    first = [*ANSWERED, *COLUMNS]
    inner = {"place", "ask", "image", "caption"}
    return table.select(*first, *(c for c in table.columns if c not in {*first, *inner}))


def _answers_by_question(run: Run, ask: Ask) -> pl.DataFrame:
    """The answers to one type of question, with trials averaged."""
    shown = pl.concat_list(pl.col("image", "caption")).list.eval(
        pl.element().filter(pl.element() >= 0).cast(pl.String)
    )  # fmt: skip
    return (
        answers(run, ask)
        .group_by(QUESTION, maintain_order=True)
        .agg(
            pl.col("right").cast(pl.Float64).mean(),
            pl.col("share").mean(),
            pl.col("tied", "failed").any(),
            pl.col("chance").first(),
            (pl.col("trial") >= 0).sum().cast(pl.Int64).alias("trials"),
        )
        .with_columns(
            pl.col("item").cast(pl.UInt32),
            pl.lit(str(ask)).alias("ask"),
            pl.concat_str(pl.lit(f"{ask}@"), shown.list.join(",")).alias("question"),
        )
    )


def _was_asked(run: Run, ask: Ask) -> bool:
    """Whether a run was asked such questions; if it does not say, whether it has an answer."""
    return ask in run.card.asks or not bool(answers(run, ask)["failed"].all())


def write_outcomes(table: pl.DataFrame, out: Path) -> None:
    """Write the table in the format that the file name ends with."""
    check_table_name(out, "a table of outcomes")
    write_table(out, table)

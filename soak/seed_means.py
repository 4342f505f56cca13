"""The mean over trainings that differ only in their seed, with an interval over items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tellapart.seeds import rng
from tellapart.stats.intervals import mean_interval


@dataclass(frozen=True, slots=True)
class SeedMean:
    """In percent, a tie counting half: the mean, its interval at 95%, and each seed's own value.

    `ties` is the share of tied questions; `questions` are counted once for all seeds.
    """

    mean: float
    low: float
    high: float
    seeds: tuple[float, ...]
    ties: float
    questions: int

    def __str__(self) -> str:
        return f"{self.mean:.1f} ({self.low:.1f} - {self.high:.1f})"


def seed_mean(tables: Sequence[pl.DataFrame], *path: str) -> SeedMean:
    """Of the outcomes of each seed (`ta.outcomes`), on the same questions.

    A question's own value is its mean over seeds; the interval draws whole groups of items, so it
    says how far other items would lead, not other seeds.
    """
    every = pl.concat(tables)
    by_question = _by_question(tables)
    return SeedMean(
        *_percent(by_question, *path),
        tuple(100 * float(table["share"].to_numpy().mean()) for table in tables),
        float(every["tied"].to_numpy().mean()),
        by_question.height,
    )


def seed_difference(
    first: Sequence[pl.DataFrame], second: Sequence[pl.DataFrame], *path: str
) -> tuple[float, float, float]:
    """How far the mean over seeds of the first is above the second's, and its interval at 95%.

    Both answered the same questions, so the interval is that of their differences question by
    question, over groups of items.
    """
    keys = ["item", "question"]
    both = _by_question(first).join(
        _by_question(second), on=keys, suffix="_other", validate="1:1", maintain_order="left"
    )
    # A share of 0.5 is no difference, so that intervals of shares apply.
    halved = both.with_columns((pl.col("share") - pl.col("share_other") + 1) / 2)
    value, low, high = (2 * one - 100 for one in _percent(halved, *path))
    return value, low, high


def _by_question(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The mean over seeds of each question."""
    return (
        pl.concat(tables)
        .group_by("item", "question", maintain_order=True)
        .agg(pl.col("share").mean(), pl.col("group").first())
    )


def _percent(questions: pl.DataFrame, *path: str) -> tuple[float, float, float]:
    """The mean over questions with its interval, in percent."""
    shares = questions["share"].to_numpy()
    groups = questions["group"].rank("dense").cast(pl.Int64).to_numpy() - 1
    within = mean_interval(shares, groups, rng(0, *path))
    return 100 * float(shares.mean()), 100 * within.low, 100 * within.high

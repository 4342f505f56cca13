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
    by_question = every.group_by("item", "question", maintain_order=True).agg(
        pl.col("share").mean(), pl.col("group").first()
    )
    groups = by_question["group"].rank("dense").cast(pl.Int64).to_numpy() - 1
    within = mean_interval(by_question["share"].to_numpy(), groups, rng(0, *path))
    return SeedMean(
        100 * float(by_question["share"].to_numpy().mean()),
        100 * within.low,
        100 * within.high,
        tuple(100 * float(table["share"].to_numpy().mean()) for table in tables),
        float(every["tied"].to_numpy().mean()),
        by_question.height,
    )

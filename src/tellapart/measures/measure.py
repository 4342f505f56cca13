"""The protocol of a measure: a reduction over the answers of a run, unit by unit.

A measure says which questions it reads and what each unit is worth (`outcomes`). By default its
value is the mean over units, its interval a bootstrap over groups of items that share images, and
two runs are compared unit by unit. A measure that is not a mean defines `reduce`; one that compares
across items, such as an AUC, also defines its own interval and contrast.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from tellapart.measures.ties import TieRule
from tellapart.questions import Ask
from tellapart.score.answer_columns import QUESTION
from tellapart.score.answers import answers
from tellapart.score.cells import GRID_ASKS
from tellapart.score.run import Run
from tellapart.stats.intervals import Interval, mean_interval, resampled_interval
from tellapart.types import Bools, Floats, Ints


@dataclass(frozen=True, slots=True)
class Outcomes:
    """One entry per unit: its item's position, its value (0 to 1), chance, ties and failures.

    A failed unit counts as wrong and stays in; `left_out` marks ties under the rule `drop`.
    """

    item: Ints
    value: Floats
    tied: Bools
    failed: Bools
    chance: Floats
    left_out: Bools

    @classmethod
    def joined(cls, parts: Iterable[Outcomes]) -> Outcomes:
        """Several sets of outcomes as one, in the order of the items."""
        every = list(parts)
        if not every:
            none, no = np.zeros(0), np.zeros(0, dtype=bool)
            return cls(np.zeros(0, dtype=np.int64), none, no, no, none, no)
        fields = {
            name: np.concatenate([getattr(part, name) for part in every])
            for name in cls.__dataclass_fields__
        }
        order = np.argsort(fields["item"], kind="stable")
        return cls(**{name: column[order] for name, column in fields.items()})

    @classmethod
    def of_answers(cls, table: pl.DataFrame, ties: TieRule) -> Outcomes:
        """One unit per question; a chooser's trials are averaged."""
        if table.height and (table["trial"] > 0).any():
            table = table.group_by(QUESTION, maintain_order=True).agg(
                pl.col("right").mean(),
                pl.col("failed", "tied").any(),
                pl.col("share").mean(),
                pl.col("chance").first(),
            )
        tied = table["tied"].to_numpy()
        right = table["right"].cast(pl.Float64).to_numpy()
        if ties == "half":
            value = np.where(tied, table["share"].to_numpy(), right)
        else:
            value = np.where(tied, float(ties == "right"), right)
        return cls(
            table["item"].to_numpy(),
            value,
            tied,
            table["failed"].to_numpy(),
            table["chance"].to_numpy(),
            tied & (ties == "drop"),
        )

    def kept(self, rule: TieRule) -> Outcomes:
        """The outcomes without the units that the rule leaves out."""
        return self.where(~self.left_out) if rule == "drop" else self

    def where(self, keep: Bools | Ints) -> Outcomes:
        """The outcomes of some units."""
        return Outcomes(*(getattr(self, name)[keep] for name in self.__dataclass_fields__))


@dataclass(frozen=True, slots=True)
class Contrast:
    """Two runs by one measure: values, difference, interval and p-values.

    `p` comes from the test over clusters, `naive_p` from one that treats units as independent;
    `differing` counts clusters in which the runs differ.
    """

    first_value: float
    second_value: float
    difference: float
    low: float
    high: float
    p: float
    naive_p: float
    error: float | None
    clusters: int
    differing: int
    test: str
    naive_test: str
    method: str


@dataclass(frozen=True, slots=True)
class Resampling:
    """How an interval is drawn: `clusters` is the group number of each unit.

    `whole` is False if the units are of one kind of item only.
    """

    clusters: Ints
    rng: np.random.Generator
    resamples: int
    whole: bool = True


class Measure(ABC):
    """A measure is a value: its name is enough to rebuild it.

    `asks` are the questions that it reads. `by_item` is False if a unit is judged against other
    items, so that it says nothing about its own item or kind alone. `one_sided` means that always
    giving the same answer is perfect.
    """

    name: str
    about: str
    cites: str
    asks: frozenset[Ask]
    by_item: ClassVar[bool] = True

    @abstractmethod
    def outcomes(self, run: Run, ties: TieRule) -> Outcomes:
        """The run's outcomes, unit by unit; empty if the measure does not apply."""

    def reduce(self, values: Floats) -> float:
        """The measure's value from the values of some units."""
        return float(values.mean())

    @property
    def is_mean(self) -> bool:
        """Whether the value is the mean over units, for which fast resampling applies."""
        return type(self).reduce is Measure.reduce

    def reduce_by(self, strata: Ints, values: Floats) -> float:
        """The mean of the measure's values on each stratum (a macro average)."""
        return float(np.mean([self.reduce(values[strata == k]) for k in np.unique(strata)]))

    def interval(
        self, run: Run, ties: TieRule, outcomes: Outcomes, resampling: Resampling
    ) -> Interval:
        """The 95% interval of the value."""
        drawn = resampling.clusters, resampling.rng, resampling.resamples
        if self.is_mean:
            return mean_interval(outcomes.value, *drawn)
        return resampled_interval(lambda rows: self.reduce(outcomes.value[rows]), *drawn)

    def contrast(self, first: Run, second: Run, ties: TieRule) -> Contrast | None:
        """Two runs compared in the measure's own way; None to compare unit by unit."""
        return None

    def decided_by(self, run: Run) -> str | None:
        """The procedure that decides a run's answers, if the measure knows several."""
        return None

    @property
    def one_sided(self) -> bool:
        """Whether always giving the same answer is perfect."""
        return False

    def about_side(self, side: str) -> Measure | None:
        """The part of the measure that asks for a "caption", an "image" or "both", or None.

        Audits use it to read guessers that see only one side.
        """
        return None


def answered(run: Run, asks: Iterable[Ask]) -> pl.DataFrame:
    """The answers to several types of questions, in the order of the items."""
    # Questions are asked in the order of `Ask`, so units of an item are in that order.
    tables = [answers(run, ask) for ask in Ask if ask in set(asks)]
    if len(tables) == 1:
        return tables[0]
    return pl.concat(tables).sort("item", maintain_order=True)


def was_asked(run: Run, asks: frozenset[Ask]) -> bool:
    """Whether a run was asked the questions of a measure: an unasked question is no failure."""
    asked = {Ask(name) for name in run.card.asks}
    if not asked:  # an imported run that does not say
        return True
    if run.card.kind == "scorer":  # scorers fill the whole grid, and nouns are words, too
        asked |= GRID_ASKS if asked & GRID_ASKS else set()
        asked |= {Ask.NOUN} if Ask.WORD in asked else set()
    return asks <= asked

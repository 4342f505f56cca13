"""A model's answers to single questions, and its outcome for each item."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import chain

import numpy as np
import numpy.typing as npt
import polars as pl

from tellapart.measures.measure import Measure, was_asked
from tellapart.questions import Ask, Question
from tellapart.score.answer_columns import QUESTION
from tellapart.score.answers import answers
from tellapart.score.run import Run
from tellapart.types import Ints


class State(StrEnum):
    """The outcome of an answer; the value is its letter on a card in the gallery."""

    RIGHT = "r"
    WRONG = "w"
    TIE = "t"
    MIXED = "m"  # a chooser that was asked several times and was sometimes right
    FAILED = "f"
    UNASKED = "-"


RANKS = (State.WRONG, State.FAILED, State.TIE, State.MIXED, State.RIGHT, State.UNASKED)
"""The outcome of a whole item is the first of these among the outcomes of its units."""
Ranks = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Pick:
    """The chosen options (several if they tie or if trials differ), and the outcome."""

    options: tuple[int, ...]
    state: State


Reader = Callable[[Question], Pick]
_UNASKED = Pick((), State.UNASKED)
_FAILED = Pick((), State.FAILED)


def reader(run: Run, shown: Collection[str]) -> Reader:
    """A function that returns the run's answer to a question about the items in `shown`."""
    row = {item: run.benchmark.items.place[item] for item in shown if item in run.covered}
    places = np.array(sorted(row.values()), np.int64)

    @cache
    def picks(ask: Ask) -> dict[tuple[int, int, int], Pick]:
        trials = _answers_to(answers(run, ask), places).group_by(QUESTION).agg(
            "chosen", "right", "tied", "failed"
        )  # fmt: skip
        return {tuple(trial[:3]): _pick(*trial[3:]) for trial in trials.iter_rows()}

    def read(question: Question) -> Pick:
        if question.item.id not in row or not was_asked(run, frozenset({question.ask})):
            return _UNASKED
        key = (row[question.item.id], question.image, question.caption)
        return picks(question.ask).get(key, _FAILED)

    return read


def _answers_to(table: pl.DataFrame, places: Ints) -> pl.DataFrame:
    """The rows of some items; the table is sorted by item."""
    item = table["item"].to_numpy()
    first, last = np.searchsorted(item, places), np.searchsorted(item, places, "right")
    rows = [np.arange(a, b) for a, b in zip(first.tolist(), last.tolist(), strict=True)]
    return table[np.concatenate(rows)] if rows else table.clear()


def _pick(chosen: list[list[int]], right: list[bool], tied: list[bool], failed: list[bool]) -> Pick:
    """The trials of one question as one pick."""
    if any(failed):
        return _FAILED
    options = tuple(dict.fromkeys(chain.from_iterable(chosen)))
    if any(tied):
        return Pick(options, State.TIE)
    if len(set(right)) > 1:
        return Pick(options, State.MIXED)
    return Pick(options, State.RIGHT if right[0] else State.WRONG)


def verdict_measure(measures: tuple[Measure, ...]) -> Measure:
    """The measure that decides whether an item is right: the first that judges single items."""
    return next((one for one in measures if one.by_item), measures[0])


def verdicts(run: Run, measure: Measure) -> dict[str, State]:
    """Each item's outcome: wrong if any of its units is, then failed, tied, mixed, right."""
    ranks = verdict_ranks(run, measure)
    asked = np.flatnonzero(ranks < len(RANKS) - 1)
    ids = run.benchmark.items.ids.gather(asked)
    return {item: RANKS[k] for item, k in zip(ids, ranks[asked].tolist(), strict=True)}


def verdict_ranks(run: Run, measure: Measure) -> Ranks:
    """The outcome of each item of the benchmark, as indices into `RANKS`."""
    ranks = np.full(len(run.benchmark.items), RANKS.index(State.UNASKED), np.uint8)
    if was_asked(run, measure.asks):
        outcomes = measure.outcomes(run, "wrong")
        units = np.select(
            [outcomes.failed, outcomes.tied, outcomes.value == 1, outcomes.value == 0],
            [RANKS.index(one) for one in (State.FAILED, State.TIE, State.RIGHT, State.WRONG)],
            RANKS.index(State.MIXED),
        ).astype(np.uint8)
        np.minimum.at(ranks, outcomes.item, units)
    return ranks

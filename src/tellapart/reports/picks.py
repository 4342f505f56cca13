"""What a model answered to a single question, and how an item came out for it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import chain

import polars as pl

from tellapart.measures.measure import Measure
from tellapart.questions import Ask, Question
from tellapart.reports.results import was_asked
from tellapart.score.answers import QUESTION, answers
from tellapart.score.run import Run


class State(StrEnum):
    """How an answer came out; the value is what a card in the gallery carries."""

    RIGHT = "r"
    WRONG = "w"
    TIE = "t"
    MIXED = "m"  # a chooser that was asked several times and was right at times
    FAILED = "f"
    UNASKED = "-"


@dataclass(frozen=True, slots=True)
class Pick:
    """The options that were chosen (several where they tie or where tries differ), and how so."""

    options: tuple[int, ...]
    state: State


Reader = Callable[[Question], Pick]
_UNASKED = Pick((), State.UNASKED)
_FAILED = Pick((), State.FAILED)


def reader(run: Run, shown: Collection[str]) -> Reader:
    """A function that says what the run answered, for questions of the items in `shown`."""
    row = {item: run.benchmark.items.place[item] for item in shown if item in run.covered}

    @cache
    def picks(ask: Ask) -> dict[tuple[int, int, int], Pick]:
        of_shown = answers(run, ask).filter(pl.col("item").is_in(list(row.values())))
        trials = of_shown.group_by(QUESTION).agg("chosen", "right", "tied", "failed")
        return {tuple(trial[:3]): _pick(*trial[3:]) for trial in trials.iter_rows()}

    def read(question: Question) -> Pick:
        if question.item.id not in row or not was_asked(run, frozenset({question.ask})):
            return _UNASKED
        key = (row[question.item.id], question.image, question.caption)
        return picks(question.ask).get(key, _FAILED)

    return read


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
    """The measure that says whether an item is right: the first one that judges single items."""
    return next((one for one in measures if one.by_item), measures[0])


def verdicts(run: Run, measure: Measure) -> dict[str, State]:
    """How each item came out: wrong if any of its units is, then failed, tied, mixed, right."""
    if not was_asked(run, measure.asks):
        return {}
    outcomes = measure.outcomes(run, "wrong")
    states: dict[str, State] = {}
    ranks = (State.WRONG, State.FAILED, State.TIE, State.MIXED, State.RIGHT)
    columns = (outcomes.item, outcomes.value, outcomes.tied, outcomes.failed)
    ids = run.benchmark.items.ids
    for index, value, tied, failed in zip(*(c.tolist() for c in columns), strict=True):
        item = ids[index]
        state = _unit_state(value, tied, failed)
        states[item] = min(states.get(item, State.RIGHT), state, key=ranks.index)
    return states


def _unit_state(value: float, tied: bool, failed: bool) -> State:
    if failed:
        return State.FAILED
    if tied:
        return State.TIE
    return State.RIGHT if value == 1 else State.WRONG if value == 0 else State.MIXED

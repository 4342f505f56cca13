"""What a model answered to a single question, and how an item came out for it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import polars as pl

from tellapart.measures.foil import AucMeasure, crossfitted_thresholds, judged_cells
from tellapart.measures.outcomes import Measure, choices_made, grid_scores
from tellapart.questions import Ask, Question
from tellapart.reports.results import was_asked
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
    if run.card.kind == "chooser":
        return lambda question: _chosen(run, question)
    return _Scored(run, shown).pick


def _chosen(run: Run, question: Question) -> Pick:
    if question.item.id not in run.covered or not was_asked(run, frozenset({question.ask})):
        return _UNASKED
    tries = [choice for _, choice in choices_made(run).get((question.item.id, question.id), [])]
    given = [choice for choice in tries if choice is not None]
    if len(given) < len(tries) or not given:
        return _FAILED
    rights = {choice in question.right for choice in given}
    state = State.MIXED if len(rights) == 2 else State.RIGHT if True in rights else State.WRONG
    return Pick(tuple(dict.fromkeys(given)), state)


class _Scored:
    """A scorer's answers: the options that score highest, or the side of the threshold."""

    def __init__(self, run: Run, shown: Collection[str]) -> None:
        self._run = run
        self._flat, self._begins = grid_scores(run)
        self._index = {item.id: k for k, item in enumerate(run.benchmark.items)}
        edits = run.scores.filter((pl.col("edit") != "") & pl.col("item").is_in(sorted(shown)))
        self._edits = {row[:4]: row[4] for row in edits.iter_rows()}
        self._thresholds: dict[int, float] | None = None

    def pick(self, question: Question) -> Pick:
        """The answer to one question."""
        asked = was_asked(self._run, frozenset({question.ask}))
        if question.item.id not in self._run.covered or not asked:
            return _UNASKED
        if question.ask is Ask.JUDGE:
            return self._judge(question)
        scores = [self._score(question, option) for option in question.options]
        if any(np.isnan(scores)):
            return _FAILED
        best = tuple(k for k, score in enumerate(scores) if score == max(scores))
        return Pick(best, _state(best, question.right))

    def _score(self, question: Question, option: int | str) -> float:
        image, caption = question.image, question.caption
        if question.ask is Ask.CAPTION:
            return self._cell(question, image, int(option))
        if question.ask is Ask.IMAGE:
            return self._cell(question, int(option), caption)
        edit = f"={option}" if question.ask is Ask.MEND else f"-{option}"
        return float(self._edits.get((question.item.id, image, caption, edit), np.nan))

    def _cell(self, question: Question, image: int, caption: int) -> float:
        place = self._begins[self._index[question.item.id]]
        return float(self._flat[place + image * len(question.item.captions) + caption])

    def _judge(self, question: Question) -> Pick:
        score = self._cell(question, question.image, question.caption)
        if np.isnan(score):
            return _FAILED
        threshold = self._threshold(self._index[question.item.id])
        if score == threshold:
            return Pick((0, 1), State.TIE)
        said = (0,) if score > threshold else (1,)
        return Pick(said, _state(said, question.right))

    def _threshold(self, index: int) -> float:
        """The threshold of an item's fold: all of its cells share one."""
        if self._thresholds is None:
            cells = judged_cells(self._run)
            found = crossfitted_thresholds(cells)
            self._thresholds = dict(zip(cells.item.tolist(), found.tolist(), strict=True))
        return self._thresholds[index]


def _state(best: tuple[int, ...], right: frozenset[int]) -> State:
    hits = sum(k in right for k in best)
    if not hits:
        return State.WRONG
    return State.RIGHT if hits == len(best) else State.TIE


def verdict_measure(measures: tuple[Measure, ...]) -> Measure:
    """The measure that says whether an item is right: the first one that judges single items."""
    return next((one for one in measures if not isinstance(one, AucMeasure)), measures[0])


def verdicts(run: Run, measure: Measure) -> dict[str, State]:
    """How each item came out: wrong if any of its units is, then failed, tied, mixed, right."""
    if not was_asked(run, measure.asks):
        return {}
    outcomes = measure.outcomes(run, "wrong")
    found: dict[str, State] = {}
    ranks = (State.WRONG, State.FAILED, State.TIE, State.MIXED, State.RIGHT)
    columns = (outcomes.item, outcomes.value, outcomes.tied, outcomes.failed)
    for index, value, tied, failed in zip(*(c.tolist() for c in columns), strict=True):
        item = run.benchmark.items[index].id
        state = _unit_state(value, tied, failed)
        found[item] = min(found.get(item, State.RIGHT), state, key=ranks.index)
    return found


def _unit_state(value: float, tied: bool, failed: bool) -> State:
    if failed:
        return State.FAILED
    if tied:
        return State.TIE
    return State.RIGHT if value == 1 else State.WRONG if value == 0 else State.MIXED

"""Measures of choice: accuracy, and BiVLC's I2T, T2I and Group with their four finer parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart.items import Item
from tellapart.measures.outcomes import Outcomes, Pattern, choices_made, pattern_scores, patterns
from tellapart.measures.ties import (
    Choice,
    Floats,
    TieRule,
    all_right,
    chance_for_chooser,
    chance_for_scorer,
)  # fmt: skip
from tellapart.questions import Ask, Question, questions
from tellapart.score.run import Run

BIVLC = "Miranda et al. 2024, BiVLC, section 3.2 and appendix C (after Thrush et al. 2022)"


@dataclass(frozen=True)
class ChoiceMeasure:
    """How often questions of choice are answered rightly.

    `together`: all questions of an item must be right, and the item is the unit; else each
    question is one. `side` keeps the questions about the original (`+1`) or the edited (`-1`)
    image or caption.
    """

    name: str
    about: str
    asks: frozenset[Ask]
    cites: str
    together: bool = False
    side: int = 0
    grid: tuple[int, int] | None = None

    def questions(self, item: Item) -> list[Question]:
        """The questions of an item that count."""
        if self.grid not in (None, (len(item.images), len(item.captions))):
            return []
        return [q for q in questions(item, self.asks) if self._on_side(q)]

    def _on_side(self, question: Question) -> bool:
        original = question.item.original
        if self.side == 0:
            return True
        if original is None:
            return False
        shown = question.image if question.ask is Ask.CAPTION else question.caption
        of_original = shown == original[0 if question.ask is Ask.CAPTION else 1]
        return of_original == (self.side > 0)

    def outcomes(self, run: Run, ties: TieRule) -> Outcomes:
        """What the run answered."""
        parts: list[Outcomes] = []
        if run.card.kind == "scorer":
            for pattern, scores in pattern_scores(run):
                for group in self._units(pattern):
                    parts.append(_scored(pattern, scores, _choices(pattern, group), ties))
        else:
            for pattern in patterns(run.benchmark, run.covered):
                for group in self._units(pattern):
                    parts.append(_chosen(run, pattern, group))
        return Outcomes.joined(parts)

    def _units(self, pattern: Pattern) -> list[list[Question]]:
        found = self.questions(pattern.example)
        if not found:
            return []
        return [found] if self.together else [[question] for question in found]


def _choices(pattern: Pattern, group: list[Question]) -> tuple[Choice, ...]:
    """Questions as columns of the pattern's grid."""
    made = []
    for question in group:
        if question.ask is Ask.CAPTION:
            columns = [pattern.column(question.image, int(j)) for j in question.options]
        else:
            columns = [pattern.column(int(i), question.caption) for i in question.options]
        right = tuple(c for place, c in enumerate(columns) if place in question.right)
        wrong = tuple(c for place, c in enumerate(columns) if place not in question.right)
        made.append(Choice(right, wrong))
    return tuple(made)


def _scored(
    pattern: Pattern, scores: Floats, choices: tuple[Choice, ...], ties: TieRule
) -> Outcomes:
    used = sorted({cell for choice in choices for cell in (*choice.right, *choice.wrong)})
    failed = np.asarray(np.isnan(scores[:, used]).any(axis=1))
    value, tied = all_right(np.where(np.isnan(scores), 0.0, scores), choices, ties)
    tied &= ~failed
    chance = np.full(len(scores), chance_for_scorer(choices))
    return Outcomes(
        pattern.items, np.where(failed, 0.0, value), tied, failed, chance, tied & (ties == "drop")
    )


def _chosen(run: Run, pattern: Pattern, group: list[Question]) -> Outcomes:
    """A chooser's answers; several trials of a question count by their mean."""
    made = choices_made(run)
    value, failed = np.zeros(len(pattern.items)), np.zeros(len(pattern.items), dtype=bool)
    for row, index in enumerate(pattern.items):
        item = run.benchmark.items[index]
        answers = [made.get((item.id, question.id), []) for question in group]
        trials = min(map(len, answers))
        rights = [
            [choice is not None and choice in question.right for _, choice in answer[:trials]]
            for question, answer in zip(group, answers, strict=True)
        ]
        failed[row] = not trials or any(c is None for answer in answers for _, c in answer)
        if trials:
            value[row] = np.mean(np.logical_and.reduce(rights))
    columns = _choices(pattern, group)
    level = chance_for_scorer if run.card.scored_cells else chance_for_chooser
    chance = np.full(len(value), level(columns))
    no_ties = np.zeros(len(value), dtype=bool)
    return Outcomes(pattern.items, value, no_ties, failed, chance, no_ties)


_TO_TEXT, _TO_IMAGE = frozenset({Ask.CAPTION}), frozenset({Ask.IMAGE})
_BOTH = _TO_TEXT | _TO_IMAGE
_TWO = (2, 2)

ACCURACY = ChoiceMeasure(
    "accuracy",
    "share of choices that are right (BISON, MCIC, SugarCrepe, FOIL pairs)",
    _BOTH,
    "Hu et al. 2019, BISON, section 4.3; Ding et al. 2016, MCIC, section 3.1",
)
I2T = ChoiceMeasure("I2T", "both images get their own caption", _TO_TEXT, BIVLC, True, 0, _TWO)
T2I = ChoiceMeasure("T2I", "both captions get their own image", _TO_IMAGE, BIVLC, True, 0, _TWO)
GROUP = ChoiceMeasure("Group", "I2T and T2I at once", _BOTH, BIVLC, True, 0, _TWO)
IPOS2T = ChoiceMeasure(
    "Ipos2T", "the original image gets its caption", _TO_TEXT, BIVLC, False, 1, _TWO
)
INEG2T = ChoiceMeasure(
    "Ineg2T", "the edited image gets its caption", _TO_TEXT, BIVLC, False, -1, _TWO
)
TPOS2I = ChoiceMeasure(
    "Tpos2I", "the original caption gets its image", _TO_IMAGE, BIVLC, False, 1, _TWO
)
TNEG2I = ChoiceMeasure(
    "Tneg2I", "the edited caption gets its image", _TO_IMAGE, BIVLC, False, -1, _TWO
)

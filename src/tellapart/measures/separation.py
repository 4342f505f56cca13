"""Separation: if several options are true, every one of them must beat every false one.

Accuracy only requires that the top option is true; with two true captions out of three, a guess is
right two times in three, and a model that knows one of the two wordings passes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from tellapart.measures.measure import Measure, Outcomes
from tellapart.measures.ties import TieRule
from tellapart.questions import Ask
from tellapart.score.answers import option_columns, pattern_questions, pattern_scores
from tellapart.score.run import Run
from tellapart.types import Bools, Floats

ASKS = frozenset({Ask.CAPTION, Ask.IMAGE})


@dataclass(frozen=True)
class SeparationMeasure(Measure):
    """The share of questions in which all true options score above all false ones."""

    name: str = "separation"
    about: str = "every true option above every false one (SugarCrepe++'s image-to-text task)"
    cites: str = "Dumpala et al. 2024, SugarCrepe++, section 4"
    asks: frozenset[Ask] = ASKS

    def outcomes(self, run: Run, ties: TieRule) -> Outcomes:
        """One unit per question; empty for choosers, which name one option."""
        if run.card.kind != "scorer":
            return Outcomes.joined([])
        parts = []
        for pattern, scores in pattern_scores(run):
            for ask in (ask for ask in Ask if ask in self.asks):
                for question in pattern_questions(run.benchmark.items, pattern, ask):
                    cells = option_columns(pattern, question)
                    right = [c for place, c in enumerate(cells) if place in question.right]
                    wrong = [c for place, c in enumerate(cells) if place not in question.right]
                    failed = np.asarray(np.isnan(scores[:, cells]).any(axis=1))
                    value, tied = separated(scores[:, right], scores[:, wrong], ties)
                    tied &= ~failed
                    chance = np.full(len(scores), 1 / comb(len(cells), len(right)))
                    parts.append(
                        Outcomes(
                            pattern.rows, np.where(failed, 0.0, value), tied, failed, chance,
                            tied & (ties == "drop"),
                        )
                    )  # fmt: skip
        return Outcomes.joined(parts)


def separated(right: Floats, wrong: Floats, rule: TieRule) -> tuple[Floats, Bools]:
    """For each row: whether the lowest right score beats the highest wrong one, and ties.

    Under `half` a tie is worth the chance that a random order of the tied scores separates them:
    of m right and n wrong ones that are equal, 1 / (m + n choose m).

    >>> separated(np.array([[2.0, 1.0], [2.0, 0.0]]), np.array([[0.0], [0.0]]), "half")[0].tolist()
    [1.0, 0.5]
    """
    low, high = right.min(axis=1), wrong.max(axis=1)
    tied = np.asarray(low == high)
    value = np.asarray((low >= high) if rule == "right" else (low > high)).astype(float)
    if rule == "half":
        for row in np.flatnonzero(tied).tolist():
            m, n = int((right[row] == low[row]).sum()), int((wrong[row] == low[row]).sum())
            value[row] = 1 / comb(m + n, m)
    return value, tied


SEPARATION = SeparationMeasure()

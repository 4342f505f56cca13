"""Consistency: does a chooser pick the same option when the order of options changes?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart.measures.outcomes import Outcomes, choices_made
from tellapart.measures.ties import TieRule
from tellapart.questions import Ask, questions
from tellapart.score.run import Run


@dataclass(frozen=True)
class ConsistencyMeasure:
    """The share of questions whose trials were all answered alike, right or wrong."""

    name: str = "consistency"
    about: str = "share of questions answered alike in every order of the options (choosers)"
    cites: str = "Zheng et al. 2024, Large language models are not robust multiple choice selectors"
    asks: frozenset[Ask] = frozenset({Ask.CAPTION, Ask.IMAGE})

    def outcomes(self, run: Run, ties: TieRule) -> Outcomes:
        """One unit a question that was asked more than once; empty for scorers."""
        rows: list[tuple[int, float, bool, float]] = []
        made = choices_made(run) if run.card.kind == "chooser" else {}
        for index, item in enumerate(run.benchmark.items):
            for question in questions(item, self.asks):
                answers = [choice for _, choice in made.get((item.id, question.id), [])]
                if len(answers) < 2:
                    continue
                failed = None in answers
                same = len(set(answers)) == 1 and not failed
                chance = len(question.options) ** (1 - len(answers))
                rows.append((index, float(same), failed, chance))
        if not rows:
            return Outcomes.joined([])
        items, values, failed_, chances = (np.array(column) for column in zip(*rows, strict=True))
        no_ties = np.zeros(len(rows), dtype=bool)
        return Outcomes(
            items.astype(np.intp), values, no_ties, failed_.astype(bool), chances, no_ties
        )


CONSISTENCY = ConsistencyMeasure()

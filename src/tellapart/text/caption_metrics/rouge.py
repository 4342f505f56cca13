"""ROUGE-L: the longest common subsequence with a reference (Lin 2004)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart.text._numba import Array, in_threads, kernel
from tellapart.text.caption_metrics.metric import BuiltInMetric, Marks, Material
from tellapart.text.caption_metrics.references import OverlapScores, ReferenceSets

BETA = 1.2
"""The weight of recall relative to precision, as in the COCO scripts."""


def rouge_l(sets: ReferenceSets, beta: float = BETA) -> OverlapScores:
    """F-measure of the highest precision and the highest recall over the references.

    The two may come from different references, as in the COCO scripts. A candidate without words
    gets 0 (those scripts treat no words as one empty word, which an empty reference shares).

    >>> rouge_l(ReferenceSets.of(["a dog runs"], [["a dog sits", "the dog runs"]])).corpus
    0.6666666666666666
    """
    scores = np.empty(len(sets))
    sentences = sets.spaced
    in_threads(
        lambda a, b: score_sets(sentences.ids, sentences.starts, sets.starts, beta, scores, a, b),
        len(sets),
    )
    return OverlapScores.of(scores)


@dataclass(frozen=True, slots=True)
class RougeL(BuiltInMetric):
    """ROUGE-L."""

    name = "ROUGE-L"
    about = "longest common subsequence with a reference"
    cites = "Lin 2004, ROUGE"

    def marks(self, material: Material) -> Marks:
        """The overall score is the mean over captions."""
        return Marks.averaged(rouge_l(material.sets).sentences)


ROUGE_L = RougeL()


@kernel
def common(left: Array, right: Array, row: Array) -> Any:
    """Length of the longest common subsequence; `row` has space for len(right) + 1 numbers."""
    # one row of the dynamic program suffices: a cell needs only its upper and left neighbours
    row[: right.size + 1] = 0
    for word in left:
        diagonal = 0
        for j in range(right.size):
            above = row[j + 1]
            row[j + 1] = diagonal + 1 if right[j] == word else max(above, row[j])
            diagonal = above
    return row[right.size]


@kernel
def score_sets(
    ids: Array, starts: Array, sets: Array, beta: float, scores: Array, begin: int, end: int
) -> None:
    """ROUGE-L of each candidate."""
    longest = 0
    for s in range(sets.size - 1):
        longest = max(longest, starts[s + 1] - starts[s])
    row = np.empty(longest + 1, np.int64)
    for s in range(begin, end):
        candidate = ids[starts[s] : starts[s + 1]]
        precision, recall = 0.0, 0.0
        for r in range(sets[s], sets[s + 1]):
            reference = ids[starts[r] : starts[r + 1]]
            if candidate.size == 0 or reference.size == 0:
                continue
            shared = common(reference, candidate, row)
            precision = max(precision, shared / candidate.size)
            recall = max(recall, shared / reference.size)
        both = recall + beta * beta * precision
        scores[s] = (1 + beta * beta) * precision * recall / both if both > 0 else 0.0

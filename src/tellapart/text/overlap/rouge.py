"""ROUGE-L: the longest common subsequence with a reference (Lin 2004)."""

from __future__ import annotations

import numpy as np

from tellapart.text.overlap.references import ReferenceSets, Scores

BETA = 1.2
"""How much more recall weighs than precision, as in the COCO scripts."""


def rouge_l(sets: ReferenceSets, beta: float = BETA) -> Scores:
    """F-measure of the highest precision and the highest recall over the references.

    The two may come from different references, as in the COCO scripts. A candidate without words
    gets 0 (those scripts take no words as one empty word, which an empty reference shares).

    >>> rouge_l(ReferenceSets.of(["a dog runs"], [["a dog sits", "the dog runs"]])).corpus
    0.6666666666666666
    """
    from tellapart.text._numba import in_threads
    from tellapart.text.overlap.kernels_rouge import score_sets

    scores = np.empty(len(sets))
    held = sets.spaced
    in_threads(
        lambda a, b: score_sets(held.ids, held.starts, sets.starts, beta, scores, a, b), len(sets)
    )
    return Scores.of(scores)

"""ROUGE-L: the longest common subsequence with a reference (Lin 2004)."""

from __future__ import annotations

import numpy as np

from tellapart.text.references import ReferenceSets, Scores

BETA = 1.2
"""How much more recall weighs than precision, as in the COCO scripts."""


def rouge_l(sets: ReferenceSets, beta: float = BETA) -> Scores:
    """F-measure of the highest precision and the highest recall over the references.

    The two may come from different references, as in the COCO scripts.

    >>> rouge_l(ReferenceSets.of(["a dog runs"], [["a dog sits", "the dog runs"]])).corpus
    0.6666666666666666
    """
    from tellapart.text._kernels_rouge import score_sets
    from tellapart.text._numba import in_threads

    scores = np.empty(len(sets))
    held = sets.sentences
    in_threads(
        lambda a, b: score_sets(held.ids, held.starts, sets.starts, beta, scores, a, b), len(sets)
    )
    return Scores(float(scores.mean()) if len(scores) else 0.0, scores)

"""Kernels for ROUGE-L."""

from __future__ import annotations

from typing import Any

import numpy as np

from tellapart.text._numba import kernel

Array = Any


@kernel
def common(left: Array, right: Array, row: Array) -> Any:
    """Length of the longest common subsequence; `row` is room for len(right) + 1 numbers."""
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

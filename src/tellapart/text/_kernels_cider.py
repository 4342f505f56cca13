"""Kernels for CIDEr."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tellapart.text._numba import kernel

Array = Any


@kernel
def count_documents(
    ids: Array, starts: Array, documents: Array, n: int, k: int, counts: Array
) -> None:
    """In how many documents each n-gram of length k + 1 is; a document is a run of sentences."""
    seen = np.full(counts.size, -1, np.int32)
    for d in range(documents.size - 1):
        for s in range(documents[d], documents[d + 1]):
            for i in range(starts[s * n + k], starts[s * n + k + 1]):
                if seen[ids[i]] != d:
                    seen[ids[i]] = d
                    counts[ids[i]] += 1


@kernel
def weigh(
    ids: Array, counts: Array, starts: Array, rarity: Any, weights: Array, norms: Array,
    begin: int, end: int,
) -> None:  # fmt: skip
    """Weights of the n-grams of some sentences, and the norm of each one's vectors of them."""
    n = len(rarity)
    for s in range(begin, end):
        for k in range(n):
            rare = rarity[k]
            total = 0.0
            for i in range(starts[s * n + k], starts[s * n + k + 1]):
                weights[i] = counts[i] * rare[ids[i]]
                total += weights[i] * weights[i]
            norms[s, k] = math.sqrt(total)


@kernel
def length_penalty(length: int, other: int, sigma: float) -> float:
    """CIDEr-D's penalty; lengths are numbers of bigrams, as in the COCO scripts."""
    delta = max(0, length - 1) - max(0, other - 1)
    return math.exp(-(delta * delta) / (2 * sigma * sigma))


@kernel
def product(
    left: Array, left_weights: Array, right: Array, right_weights: Array, clipped: bool
) -> float:
    """Inner product of two vectors, given as sorted ids and weights.

    `clipped` takes no more of the left one than the right one has (CIDEr-D, equation 6).
    """
    i, j, total = 0, 0, 0.0
    while i < left.size and j < right.size:
        if left[i] < right[j]:
            i += 1
        elif left[i] > right[j]:
            j += 1
        else:
            mine, other = left_weights[i], right_weights[j]
            total += (min(mine, other) if clipped else mine) * other
            i += 1
            j += 1
    return total


@kernel
def score_sets(
    ids: Array, weights: Array, norms: Array, starts: Array, sets: Array, lengths: Array,
    sigma: float, scale: float, scores: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """CIDEr-D of each candidate, or CIDEr where `sigma` is 0."""
    n = norms.shape[1]
    for s in range(begin, end):
        total = 0.0
        for r in range(sets[s], sets[s + 1]):
            fit = 0.0
            for k in range(n):
                norm = norms[s, k] * norms[r, k]
                if norm > 0:
                    a, b = starts[s * n + k], starts[s * n + k + 1]
                    i, j = starts[r * n + k], starts[r * n + k + 1]
                    fit += product(ids[a:b], weights[a:b], ids[i:j], weights[i:j], sigma > 0) / norm
            if sigma > 0:
                fit *= length_penalty(lengths[s], lengths[r], sigma)
            total += fit
        scores[s] = scale * total / n / (sets[s + 1] - sets[s])

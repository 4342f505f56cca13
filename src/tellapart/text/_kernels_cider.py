"""Kernels for CIDEr."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tellapart.text._numba import kernel

Array = Any


@kernel
def count_documents(
    ids: Array, starts: Array, documents: Array, n: int, k: int, size: int
) -> Array:
    """In how many documents each n-gram of length k + 1 is; a document is a run of sentences."""
    counts = np.zeros(size, np.int32)
    seen = np.full(size, -1, np.int32)
    for d in range(documents.size - 1):
        for s in range(documents[d], documents[d + 1]):
            for i in range(starts[s * n + k], starts[s * n + k + 1]):
                if seen[ids[i]] != d:
                    seen[ids[i]] = d
                    counts[ids[i]] += 1
    return counts


@kernel
def weigh(
    ids: Array, counts: Array, starts: Array, rarity: Array, n: int, k: int,
    weights: Array, norms: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """Weights of n-grams of length k + 1, and the length of each sentence's vector of them."""
    for s in range(begin, end):
        total = 0.0
        for i in range(starts[s * n + k], starts[s * n + k + 1]):
            weights[i] = counts[i] * rarity[ids[i]]
            total += weights[i] * weights[i]
        norms[s, k] = math.sqrt(total)


@kernel
def product(ids: Array, weights: Array, starts: Array, a: int, b: int, clipped: bool) -> float:
    """Inner product of two lists of n-grams; `clipped` takes no more of `a` than `b` has."""
    i, last = starts[a], starts[a + 1]
    j, stop = starts[b], starts[b + 1]
    total = 0.0
    while i < last and j < stop:
        if ids[i] < ids[j]:
            i += 1
        elif ids[i] > ids[j]:
            j += 1
        else:
            left = min(weights[i], weights[j]) if clipped else weights[i]
            total += left * weights[j]
            i += 1
            j += 1
    return total


@kernel
def score_sets(
    ids: Array, weights: Array, norms: Array, starts: Array, candidates: Array, sets: Array,
    lengths: Array, sigma: float, scale: float, scores: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """CIDEr-D of each candidate, or CIDEr where `sigma` is 0."""
    n = norms.shape[1]
    for s in range(begin, end):
        total = 0.0
        c = candidates[s]
        for r in range(sets[s], sets[s + 1]):
            fit = 0.0
            for k in range(n):
                norm = norms[c, k] * norms[r, k]
                if norm > 0:
                    fit += product(ids, weights, starts, c * n + k, r * n + k, sigma > 0) / norm
            if sigma > 0:
                delta = max(0, lengths[c] - 1) - max(0, lengths[r] - 1)
                fit *= math.exp(-(delta * delta) / (2 * sigma * sigma))
            total += fit
        scores[s] = scale * total / n / (sets[s + 1] - sets[s])

"""Kernels for CIDEr and CIDEr-D, of whole sets and of captions as they are sampled."""

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
    ids: Array, counts: Array, starts: Array, rarity: Array, firsts: Array,
    weights: Array, norms: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """Weights of the n-grams of some sentences, and the norm of each one's vectors of them.

    The rarities of n-grams of length k + 1 lie from `firsts[k]` on.
    """
    n = norms.shape[1]
    for s in range(begin, end):
        for k in range(n):
            total = 0.0
            for i in range(starts[s * n + k], starts[s * n + k + 1]):
                weights[i] = counts[i] * rarity[firsts[k] + ids[i]]
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

    `clipped` takes no more of the left one than the right one has, as CIDEr-D does.
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


@kernel
def own_ids(places: Array, words: Array, k: int, found: Array) -> None:
    """Ids of a caption's n-grams of length k + 1 by place.

    One that is not known (-1) gets a number below 0 that tells where it first comes up.
    """
    for i in range(words.size - k):
        found[i] = places[i]
        if places[i] >= 0:
            continue
        found[i] = -1 - i
        for j in range(i):
            if places[j] < 0 and same_words(words, i, j, k + 1):
                found[i] = -1 - j
                break


@kernel
def same_words(words: Array, i: int, j: int, length: int) -> bool:
    """Whether a sentence has the same words at two places."""
    k = 0
    while k < length and words[i + k] == words[j + k]:
        k += 1
    return k == length


@kernel
def count_sorted(found: Array, size: int, ids: Array, counts: Array) -> int:
    """Distinct ids in order, with counts; how many there are."""
    known = 0
    for i in range(size):
        at = known
        while at > 0 and ids[at - 1] > found[i]:
            at -= 1
        if at > 0 and ids[at - 1] == found[i]:
            counts[at - 1] += 1
            continue
        for j in range(known, at, -1):
            ids[j], counts[j] = ids[j - 1], counts[j - 1]
        ids[at], counts[at] = found[i], 1
        known += 1
    return known


@kernel
def weigh_counts(ids: Array, counts: Array, rarity: Array, unknown: float, weights: Array) -> float:
    """Weights of n-grams, and the norm of the vector of them."""
    total = 0.0
    for i in range(ids.size):
        weights[i] = counts[i] * (rarity[ids[i]] if ids[i] >= 0 else unknown)
        total += weights[i] * weights[i]
    return math.sqrt(total)


@kernel
def score_captions(
    words: Array, starts: Array, places: Array, images: Array, prepared: Any, knowledge: Any,
    sigma: float, scale: float, scores: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """CIDEr-D of captions (ids of words and n-grams) against the references of their images."""
    others, other_weights, norms, other_starts, lengths, sets = prepared
    rarity, firsts, unknown = knowledge
    n = firsts.size - 1
    longest = 1
    for c in range(begin, end):
        longest = max(longest, starts[c + 1] - starts[c])
    found, ids, counts = np.empty((3, longest), np.int64)
    weights = np.empty(longest)
    for c in range(begin, end):
        first, last = starts[c], starts[c + 1]
        begin_set, end_set = sets[images[c]], sets[images[c] + 1]
        total = 0.0
        for k in range(min(n, last - first)):
            own_ids(places[k, first:last], words[first:last], k, found)
            size = count_sorted(found, last - first - k, ids, counts)
            known = rarity[firsts[k] : firsts[k + 1]]
            norm = weigh_counts(ids[:size], counts, known, unknown, weights)
            for r in range(begin_set, end_set):
                if norm * norms[r, k] > 0:
                    i, j = other_starts[r * n + k], other_starts[r * n + k + 1]
                    fit = product(ids[:size], weights, others[i:j], other_weights[i:j], True)
                    penalty = length_penalty(last - first, lengths[r], sigma)
                    total += penalty * fit / (norm * norms[r, k])
        scores[c] = scale * total / n / (end_set - begin_set)

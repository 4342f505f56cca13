"""Kernels for CIDEr-D of captions against prepared references."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tellapart.text._kernels_cider import length_penalty, product
from tellapart.text._kernels_ngrams import slot_of
from tellapart.text._numba import kernel

Array = Any


@kernel
def renumber(ids: Array, counts: Array, starts: Array, new: Any, begin: int, end: int) -> None:
    """Give n-grams of some sentences new ids and sort them by those."""
    n = len(new)
    for s in range(begin, end):
        for k in range(n):
            first = starts[s * n + k]
            for i in range(first, starts[s * n + k + 1]):
                one, many = new[k][ids[i]], counts[i]
                at = i
                while at > first and ids[at - 1] > one:
                    ids[at], counts[at] = ids[at - 1], counts[at - 1]
                    at -= 1
                ids[at], counts[at] = one, many


@kernel
def longer_ids(found: Array, words: Array, first: int, last: int, k: int, table: Array) -> None:
    """From ids of n-grams of k words by place those of k + 1 words.

    An n-gram that the table does not have gets a number below 0 that tells the place where it first
    comes up in the caption.
    """
    for i in range(last - first - k):
        known: Any = -1
        if found[i] >= 0:
            key = (np.int64(found[i]) << 32) | np.int64(words[first + i + k])
            known = table[slot_of(table, key), 1]
        if known < 0:
            known = -1 - earliest(found, words, first, i, k + 1)
        found[i] = known


@kernel
def earliest(found: Array, words: Array, first: int, i: int, length: int) -> int:
    """The first place up to `i` with the same words as at `i`, among those of unknown n-grams."""
    for j in range(i):
        if found[j] < 0:
            k = 0
            while k < length and words[first + j + k] == words[first + i + k]:
                k += 1
            if k == length:
                return j
    return i


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
        known = 0 <= ids[i] < rarity.size
        weights[i] = counts[i] * (rarity[ids[i]] if known else unknown)
        total += weights[i] * weights[i]
    return math.sqrt(total)


@kernel
def score_captions(
    words: Array, starts: Array, images: Array, prepared: Any, knowledge: Any,
    sigma: float, scale: float, scores: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """CIDEr-D of captions (ids of words) against the references of their images."""
    others, other_weights, norms, other_starts, lengths, sets = prepared
    tables, rarity, unknown = knowledge
    n = len(rarity)
    longest = 1
    for c in range(begin, end):
        longest = max(longest, starts[c + 1] - starts[c])
    found, ids = np.empty(longest, np.int64), np.empty(longest, np.int64)
    counts, weights = np.empty(longest, np.int64), np.empty(longest)
    for c in range(begin, end):
        first, last = starts[c], starts[c + 1]
        begin_set, end_set = sets[images[c]], sets[images[c] + 1]
        found[: last - first] = words[first:last]
        total = 0.0
        for k in range(min(n, last - first)):
            if k > 0:
                longer_ids(found, words, first, last, k, tables[k - 1])
            size = count_sorted(found, last - first - k, ids, counts)
            norm = weigh_counts(ids[:size], counts, rarity[k], unknown, weights)
            for r in range(begin_set, end_set):
                if norm * norms[r, k] > 0:
                    i, j = other_starts[r * n + k], other_starts[r * n + k + 1]
                    fit = product(ids[:size], weights, others[i:j], other_weights[i:j], True)
                    penalty = length_penalty(last - first, lengths[r], sigma)
                    total += penalty * fit / (norm * norms[r, k])
        scores[c] = scale * total / n / (end_set - begin_set)

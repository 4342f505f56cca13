"""Kernels for BLEU: matching n-grams, and scores from how many match."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tellapart.text._numba import kernel
from tellapart.text.smoothing import ADD, COCO, EXP, FLOOR

Array = Any
TINY, SMALL = 1e-15, 1e-9


@kernel
def brevity_penalty(length: float, reference: float, kind: int) -> float:
    """exp(1 - reference / length) for a candidate that is shorter than its reference."""
    if kind == COCO:
        ratio = (length + TINY) / (reference + SMALL)
        return math.exp(1 - 1 / ratio) if ratio < 1 else 1.0
    if length >= reference:
        return 1.0
    return math.exp(1 - reference / length) if length > 0 else 0.0


@kernel
def precision(matched: float, total: float, k: int, kind: int, value: float, empty: int) -> float:
    """The smoothed precision of n-grams of `k` words; `empty` shorter lengths had no match."""
    if kind == COCO:
        return (matched + TINY) / (total + SMALL)
    if kind == ADD and k > 1:
        return (matched + value) / (total + value)
    if total == 0:
        return 0.0
    if matched == 0 and kind == FLOOR:
        return value / total
    if matched == 0 and kind == EXP:
        return 0.5 ** (empty + 1) / total
    return matched / total


@kernel
def score_rows(
    matched: Array, totals: Array, references: Array, rules: Array, scores: Array,
    begin: int, end: int,
) -> None:  # fmt: skip
    """BLEU-1 to BLEU-n from rows of matches; `rules` is (kind, value, brevity, effective)."""
    kind, value, brevity, effective = rules
    n = matched.shape[1]
    for s in range(begin, end):
        penalty = 1.0
        if brevity:
            penalty = brevity_penalty(totals[s, 0], references[s], kind)
        if matched[s, 0] == 0 and kind != COCO:
            penalty = 0.0
        product, empty, order = 1.0, 0, 0
        for k in range(n):
            if not (effective and totals[s, k] == 0):
                product *= precision(matched[s, k], totals[s, k], k + 1, kind, value, empty)
                order += 1
            if matched[s, k] == 0:
                empty += 1
            scores[k, s] = penalty * product ** (1.0 / max(order, 1))


@kernel
def match_sets(
    ids: Array, counts: Array, starts: Array, sets: Array, lengths: Array, n: int,
    matched: Array, references: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """How many n-grams of each candidate are in its references, and the closest one's length.

    An n-gram counts at most as often as in the reference that has it most often (clipping).
    """
    room = 0
    for s in range(begin * n, end * n):
        room = max(room, starts[s + 1] - starts[s])
    most = np.empty(room, np.int32)
    for s in range(begin, end):
        closest = lengths[sets[s]]
        for r in range(sets[s] + 1, sets[s + 1]):
            nearer = abs(lengths[r] - lengths[s]) - abs(closest - lengths[s])
            if nearer < 0 or (nearer == 0 and lengths[r] < closest):
                closest = lengths[r]
        references[s] = closest
        for k in range(n):
            first, last = starts[s * n + k], starts[s * n + k + 1]
            most[: last - first] = 0
            for r in range(sets[s], sets[s + 1]):
                i, j, stop = first, starts[r * n + k], starts[r * n + k + 1]
                while i < last and j < stop:
                    if ids[i] < ids[j]:
                        i += 1
                    elif ids[i] > ids[j]:
                        j += 1
                    else:
                        most[i - first] = max(most[i - first], counts[j])
                        i += 1
                        j += 1
            found = 0
            for i in range(first, last):
                found += min(counts[i], most[i - first])
            matched[s, k] = found

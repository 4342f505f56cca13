"""Kernels for BLEU: matching n-grams, and scores from how many match.

Those for pairs have n-grams sorted, repeated ones repeated (see `sort_grams`): what two such lists
share is the number of clipped matches.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tellapart.text._numba import kernel
from tellapart.text.overlap.smoothing import ADD, COCO, EXP, FLOOR

Array = Any
TINY, SMALL = 1e-15, 1e-9
LINE, AHEAD = 16, 16
"""How many n-grams lie in a line of the cache; how many sentences are fetched ahead."""


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
        return 1.0 / ((2 << empty) * total)
    return matched / total


@kernel
def is_left_out(total: float, k: int, kind: int) -> bool:
    """Whether the effective order ends before `k`: there are no such n-grams, nor made-up ones."""
    return total == 0 and kind != COCO and not (kind == ADD and k > 1)


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
            if not (effective and is_left_out(totals[s, k], k + 1, kind)):
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


@kernel
def shared(grams: Array, i: int, last: int, j: int, stop: int) -> int:
    """How many members two sorted lists share, with repetition; without a branch to mispredict."""
    found = 0
    while i < last and j < stop:
        left, right = grams[i], grams[j]
        found += left == right
        i += left <= right
        j += right <= left
    return found


@kernel
def pair_score(matched: Array, length: int, reference: int, rules: Any) -> float:
    """BLEU-n of one pair, from its matches for each length of n-grams."""
    kind, value, brevity, effective = rules
    if matched[0] == 0 and kind != COCO:
        return 0.0
    product, empty, order = 1.0, 0, 0
    for k in range(matched.size):
        total = max(0, length - k)
        if effective and is_left_out(total, k + 1, kind):
            break
        product *= precision(matched[k], total, k + 1, kind, value, empty)
        empty += matched[k] == 0
        order += 1
    if product == 0.0 or order == 0:
        return 0.0
    found = math.sqrt(math.sqrt(product)) if order == 4 else product ** (1.0 / order)
    return found * brevity_penalty(length, reference, kind) if brevity else found


@kernel
def fetch(grams: Array, starts: Array, n: int, places: Array) -> int:
    """Touch the n-grams of some sentences, so that they are in the cache when they are compared.

    Nothing here waits for what was read, so that the reads from memory overlap.
    """
    touched = 0
    for place in places:
        for at in range(n * starts[place], n * starts[place + 1], LINE):
            touched ^= grams[at]
    return touched


@kernel
def score_pairs(
    grams: Array, starts: Array, n: int, rules: Any, candidates: Array, references: Array,
    scores: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """BLEU-n of pairs of sentences."""
    matched, touched = np.empty(n, np.int64), np.zeros(2, np.int64)
    for p in range(begin, end):
        if (p - begin) % AHEAD == 0:
            touched[0] = fetch(grams, starts, n, candidates[p : min(end, p + AHEAD)])
            touched[1] = fetch(grams, starts, n, references[p : min(end, p + AHEAD)])
        a, b = candidates[p], references[p]
        length, other = starts[a + 1] - starts[a], starts[b + 1] - starts[b]
        matched[:] = 0
        for k in range(min(n, length, other)):
            i, j = n * starts[a] + k * length, n * starts[b] + k * other
            matched[k] = shared(grams, i, i + length - k, j, j + other - k)
            if matched[k] == 0:
                break
        scores[p] = pair_score(matched, length, other, rules)


@kernel
def fill(table: Array, counts: Array, grams: Array, first: int, last: int) -> None:
    """Put n-grams into an empty open table, with how often each is there."""
    mask = table.size - 1
    for i in range(first, last):
        at = (grams[i] * 40503) & mask
        while table[at] >= 0 and table[at] != grams[i]:
            at = (at + 1) & mask
        table[at] = grams[i]
        counts[at] += 1


@kernel
def matches(table: Array, counts: Array, grams: Array, first: int, last: int) -> int:
    """How many members of a sorted list are in the table, each at most as often as there."""
    mask = table.size - 1
    found, run, before = 0, 0, np.int32(-1)
    for i in range(first, last):
        one = grams[i]
        run = run + 1 if one == before else 1
        before = one
        at = (one * 40503) & mask
        while table[at] >= 0:
            if table[at] == one:
                found += run <= counts[at]
                break
            at = (at + 1) & mask
    return found


@kernel
def score_against(
    grams: Array, starts: Array, n: int, rules: Any, references: Array, candidates: Array,
    scores: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """BLEU-n of rows of candidates with one reference each, whose n-grams are looked up once."""
    longest = 1
    for q in range(begin, end):
        longest = max(longest, starts[references[q] + 1] - starts[references[q]])
    room = 16
    while room < 4 * n * longest:
        room *= 2
    table, counts = np.empty(room, np.int32), np.empty(room, np.int32)
    matched, touched = np.empty(n, np.int64), np.zeros(1, np.int64)
    for q in range(begin, end):
        b = references[q]
        other = starts[b + 1] - starts[b]
        table[:] = -1
        counts[:] = 0
        for k in range(min(n, other)):
            j = n * starts[b] + k * other
            fill(table, counts, grams, j, j + other - k)
        for c in range(candidates.shape[1]):
            if c % AHEAD == 0:
                touched[0] = fetch(grams, starts, n, candidates[q, c : c + AHEAD])
            a = candidates[q, c]
            length = starts[a + 1] - starts[a]
            matched[:] = 0
            for k in range(min(n, length, other)):
                i = n * starts[a] + k * length
                matched[k] = matches(table, counts, grams, i, i + length - k)
                if matched[k] == 0:
                    break
            scores[q, c] = pair_score(matched, length, other, rules)

"""Kernels that give n-grams ids, sort and count them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tellapart.text._numba import kernel

Array = Any
FIRST_ROOM = 1 << 14


@kernel
def slot_of(table: Array, key: Any) -> Any:
    """Where a key is in an open table of (key, id), or the empty place where it belongs."""
    mask = table.shape[0] - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    at = np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(mask))
    while table[at, 0] != -1 and table[at, 0] != key:
        at = (at + 1) & mask
    return at


@kernel
def grown(table: Array) -> Array:
    """The same table with twice the room."""
    larger = np.full((2 * table.shape[0], 2), -1, np.int64)
    for k in range(table.shape[0]):
        if table[k, 0] != -1:
            larger[slot_of(larger, table[k, 0])] = table[k]
    return larger


@kernel
def intern(
    shorter: Array, distinct: int, words: Array, starts: Array, k: int
) -> tuple[Array, Array]:
    """Ids of n-grams of `k` words by the place of their first, given those of `k - 1` words.

    Exact: two ids below 2**31 fit into one key, and keys are compared, not only hashed. What has a
    part that comes up once comes up once itself, and need not be looked for.
    """
    often = np.zeros(distinct, np.int32)
    for i in range(shorter.size):
        if shorter[i] >= 0:
            often[shorter[i]] += 1
    found = np.full(words.size, -1, np.int32)
    keys = np.empty(words.size, np.int64)
    table = np.full((FIRST_ROOM, 2), -1, np.int64)
    known, kept = 0, 0
    for s in range(starts.size - 1):
        for i in range(starts[s], starts[s + 1] - k + 1):
            key = (np.int64(shorter[i]) << 32) | np.int64(words[i + k - 1])
            if often[shorter[i]] > 1 and often[shorter[i + 1]] > 1:
                at = slot_of(table, key)
                if table[at, 0] == key:
                    found[i] = table[at, 1]
                    continue
                table[at, 0] = key
                table[at, 1] = known
                kept += 1
                if 2 * kept > table.shape[0]:
                    table = grown(table)
            found[i] = known
            keys[known] = key
            known += 1
    return found, keys[:known].copy()


@kernel
def count(
    places: Array, starts: Array, ids: Array, counts: Array, sizes: Array, begin: int, end: int
) -> None:
    """Sort and count the n-grams of some sentences; lists start where there is surely room."""
    n = places.shape[0]
    for s in range(begin, end):
        first, last = starts[s], starts[s + 1]
        for k in range(n):
            base = n * first + k * (last - first)
            size = 0
            for i in range(first, last - k):
                one = places[k, i]
                at = base + size
                while at > base and ids[at - 1] > one:
                    at -= 1
                if at > base and ids[at - 1] == one:
                    counts[at - 1] += 1
                    continue
                for j in range(base + size, at, -1):
                    ids[j] = ids[j - 1]
                    counts[j] = counts[j - 1]
                ids[at] = one
                counts[at] = 1
                size += 1
            sizes[s * n + k + 1] = size


@kernel
def pack(
    ids: Array, counts: Array, starts: Array, ends: Array, packed: Array, n: int,
    begin: int, end: int,
) -> None:  # fmt: skip
    """Move the lists of some sentences together."""
    for s in range(begin, end):
        first, length = starts[s], starts[s + 1] - starts[s]
        for k in range(n):
            base = n * first + k * length
            to = ends[s * n + k]
            for i in range(ends[s * n + k + 1] - to):
                packed[0, to + i] = ids[base + i]
                packed[1, to + i] = counts[base + i]


@kernel
def sort_grams(
    places: Array, firsts: Array, starts: Array, grams: Array, begin: int, end: int
) -> None:
    """Sort the n-grams of some sentences, repeated ones repeated.

    Those of sentence s that have k + 1 words lie from n * starts[s] + k * length on. `firsts[k]` is
    added to their ids, so that n-grams of two lengths are never equal.
    """
    n = places.shape[0]
    for s in range(begin, end):
        length = starts[s + 1] - starts[s]
        for k in range(n):
            base = n * starts[s] + k * length
            for i in range(length - k):
                one = places[k, starts[s] + i] + firsts[k]
                at = base + i
                while at > base and grams[at - 1] > one:
                    grams[at] = grams[at - 1]
                    at -= 1
                grams[at] = one


@kernel
def table_of(keys: Array) -> Array:
    """A table from keys to their places."""
    room = 16
    while room < 2 * keys.size:
        room *= 2
    table = np.full((room, 2), -1, np.int64)
    for k in range(keys.size):
        at = slot_of(table, keys[k])
        table[at, 0] = keys[k]
        table[at, 1] = k
    return table


@kernel
def find_all(table: Array, keys: Array) -> Array:
    """Ids of keys, -1 for those that are not there."""
    found = np.empty(keys.size, np.int32)
    for k in range(keys.size):
        found[k] = -1 if keys[k] < 0 else table[slot_of(table, keys[k]), 1]
    return found


@kernel
def renumber(
    ids: Array, counts: Array, starts: Array, new: Array, firsts: Array, begin: int, end: int
) -> None:
    """Give n-grams of some sentences new ids and sort them by those."""
    n = firsts.size - 1
    for s in range(begin, end):
        for k in range(n):
            first = starts[s * n + k]
            for i in range(first, starts[s * n + k + 1]):
                one, many = new[firsts[k] + ids[i]], counts[i]
                at = i
                while at > first and ids[at - 1] > one:
                    ids[at], counts[at] = ids[at - 1], counts[at - 1]
                    at -= 1
                ids[at], counts[at] = one, many


@kernel
def known_ids(
    words: Array, starts: Array, table: Array, rooms: Array, places: Array, begin: int, end: int
) -> None:
    """Ids of n-grams by the place of their first word, -1 where a table does not have them.

    `places[0]` has the ids of words already; the table of n-grams of k + 1 words is the part of
    `table` from `rooms[k - 1]` to `rooms[k]`.
    """
    for k in range(1, places.shape[0]):
        part = table[rooms[k - 1] : rooms[k]]
        for s in range(begin, end):
            for i in range(starts[s], starts[s + 1]):
                places[k, i] = -1
                if i + k < starts[s + 1] and places[k - 1, i] >= 0 and words[i + k] >= 0:
                    key = (np.int64(places[k - 1, i]) << 32) | np.int64(words[i + k])
                    places[k, i] = part[slot_of(part, key), 1]

"""The kernel that gives words ids."""

from __future__ import annotations

from typing import Any

import numpy as np

from tellapart.text._numba import kernel

Array = Any
FIRST_ROOM = 1 << 14


@kernel
def word_bytes() -> Array:
    """Which bytes are part of words: all but those that `str.split` parts at."""
    inside = np.ones(256, np.bool_)
    inside[9:14] = False
    inside[28:33] = False
    return inside


@kernel
def same(text: Array, a: int, b: int, length: int) -> bool:
    """Whether two stretches of a text are equal."""
    k = 0
    while k < length and text[a + k] == text[b + k]:
        k += 1
    return k == length


@kernel
def rehashed(hashes: Array, known: int, room: int) -> Array:
    """A table of `room` places with the words that are known."""
    table = np.full(room, -1, np.int32)
    for word in range(known):
        at = np.int64(hashes[word]) & (room - 1)
        while table[at] >= 0:
            at = (at + 1) & (room - 1)
        table[at] = word
    return table


@kernel
def intern_words(text: Array, sentences: int) -> tuple[Array, Array, Array, Array]:
    """Ids of words in a text (UTF-8) with a sentence on each line, and where sentences start.

    Also where each distinct word was first seen, and its length. Words of equal hash are compared
    byte by byte, so that ids are exact.
    """
    ids = np.empty((text.size + 1) // 2, np.int32)
    starts = np.zeros(sentences + 1, np.int64)
    table = np.full(FIRST_ROOM, -1, np.int32)
    hashes = np.empty(FIRST_ROOM, np.uint32)
    firsts, lengths = np.empty(FIRST_ROOM, np.int64), np.empty(FIRST_ROOM, np.int64)
    inside = word_bytes()
    known, size, line, at = 0, 0, 0, 0
    while at < text.size:
        if not inside[text[at]]:
            if text[at] == 10:
                line += 1
                starts[line] = size
            at += 1
            continue
        begin, mixed = at, np.uint32(2166136261)
        while at < text.size and inside[text[at]]:
            mixed = np.uint32((mixed ^ np.uint32(text[at])) * np.uint32(16777619))
            at += 1
        mixed = np.uint32(mixed ^ (mixed >> np.uint32(15)))
        length = at - begin
        place = np.int64(mixed) & (table.size - 1)
        while table[place] >= 0:
            word = table[place]
            if (
                hashes[word] == mixed
                and lengths[word] == length
                and same(text, firsts[word], begin, length)
            ):
                break
            place = (place + 1) & (table.size - 1)
        if table[place] >= 0:
            ids[size] = table[place]
        else:
            ids[size] = table[place] = known
            hashes[known], firsts[known], lengths[known] = mixed, begin, length
            known += 1
            if 2 * known > table.size:
                table = rehashed(hashes, known, 2 * table.size)
                hashes = np.concatenate((hashes, np.empty_like(hashes)))
                firsts = np.concatenate((firsts, np.empty_like(firsts)))
                lengths = np.concatenate((lengths, np.empty_like(lengths)))
        size += 1
    starts[sentences] = size
    return ids[:size].copy(), starts, firsts[:known].copy(), lengths[:known].copy()

"""N-grams as numbers: an id for each distinct n-gram, and its counts in each sentence.

N-grams are compared exactly, never by a hash alone: a collision would count as a match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tellapart.errors import BadInput
from tellapart.text._numba import Array, in_threads, kernel
from tellapart.text.caption_metrics.sentences import Sentences
from tellapart.types import Ints, Ints32

FIRST_ROOM = 1 << 14
"""The initial size of a table of n-grams."""


@dataclass(frozen=True, slots=True)
class NGramIndex:
    """N-grams of up to `n` words; ids count from 0 within each length.

    Those of length 1 are the words. `keys[k - 2][id]` is an n-gram of length k: the id of its first
    k - 1 words times 2**32, plus the id of its last word.
    """

    words: tuple[str, ...]
    keys: tuple[Ints, ...]
    _tables: list[Ints] = field(default_factory=list, repr=False, compare=False)

    @property
    def n(self) -> int:
        """How many words the longest n-grams have."""
        return len(self.keys) + 1

    @property
    def sizes(self) -> list[int]:
        """The number of n-grams of each length."""
        return [len(self.words), *map(len, self.keys)]

    @property
    def firsts(self) -> Ints:
        """Where n-grams of each length begin if all are concatenated; last, their number."""
        return np.cumsum([0, *self.sizes])

    def tables(self) -> list[Ints]:
        """Hash tables from keys to ids, for each length from 2; built once."""
        if not self._tables:
            self._tables.extend(table_of(keys) for keys in self.keys)
        return self._tables

    def places(self, other: NGramIndex) -> list[Ints32]:
        """The id here of each n-gram of another index; -1 for those not in this index."""
        return self._joined(other, grow=False)[1]

    def joined(self, other: NGramIndex) -> tuple[NGramIndex, list[Ints32]]:
        """An index with another's n-grams after these, and the ids of the other's n-grams."""
        if other is self:
            return self, [np.arange(size, dtype=np.int32) for size in self.sizes]
        return self._joined(other, grow=True)

    def _joined(self, other: NGramIndex, *, grow: bool) -> tuple[NGramIndex, list[Ints32]]:
        known = {word: k for k, word in enumerate(self.words)}
        first = np.array([known.get(word, -1) for word in other.words], np.int32)
        new = tuple(other.words[k] for k in np.flatnonzero(first < 0)) if grow else ()
        places = [_numbered(first, len(self.words)) if grow else first]
        keys = []
        for mine, table, theirs in zip(self.keys, self.tables(), other.keys, strict=True):
            before, last = places[-1][theirs >> 32], places[0][theirs & 0x7FFFFFFF]
            moved = np.where((before < 0) | (last < 0), -1, (before.astype(np.int64) << 32) | last)
            here = find_all(table, moved)
            keys.append(np.concatenate([mine, moved[here < 0]]) if grow else mine)
            places.append(_numbered(here, len(mine)) if grow else here)
        return (NGramIndex(self.words + new, tuple(keys)) if grow else self), places


def ngram_ids(sentences: Sentences, n: int) -> tuple[Ints32, NGramIndex]:
    """The id of the n-gram that begins at each word, shape (n, words), and their index.

    If the sentence ends before the n-gram does, the id is -1.
    """
    if n < 1:
        raise BadInput(f"there are no n-grams of {n} words", allowed="1 or more")
    places, keys, distinct = [sentences.ids], [], len(sentences.words)
    for k in range(2, n + 1):
        place, new = intern(places[-1], distinct, sentences.ids, sentences.starts, k)
        places.append(place)
        keys.append(new)
        distinct = len(new)
    return np.stack(places), NGramIndex(sentences.words, tuple(keys))


def _numbered(places: Ints32, first: int) -> Ints32:
    """Replace each -1 by numbers from `first` on."""
    new = places < 0
    return np.where(new, first + np.cumsum(new) - 1, places).astype(np.int32)


@dataclass(frozen=True, slots=True)
class NGramCounts:
    """Distinct n-grams of each sentence, ordered by id, with their counts.

    The n-grams of length k (from 1 to `n`) of sentence s are the entries from
    `starts[s * n + k - 1]` to `starts[s * n + k]`.
    """

    index: NGramIndex
    ids: Ints32
    counts: Ints32
    starts: Ints

    @property
    def n(self) -> int:
        """How many words the longest n-grams have."""
        return self.index.n

    @classmethod
    def of(cls, sentences: Sentences, n: int) -> NGramCounts:
        """Count the n-grams of up to `n` words."""
        places, index = ngram_ids(sentences, n)
        ids, counts = np.empty((2, places.size), np.int32)
        sizes = np.zeros(n * len(sentences) + 1, np.int64)
        in_threads(
            lambda a, b: count(places, sentences.starts, ids, counts, sizes, a, b), len(sentences)
        )
        return cls._packed(index, ids, counts, sizes, sentences.starts)

    @classmethod
    def _packed(
        cls, index: NGramIndex, ids: Ints32, counts: Ints32, sizes: Ints, starts: Ints
    ) -> NGramCounts:
        """Close the gaps that repeated and missing n-grams leave."""
        ends = np.cumsum(sizes)
        packed = np.empty((2, int(ends[-1])), np.int32)
        in_threads(
            lambda a, b: pack(ids, counts, starts, ends, packed, index.n, a, b), len(starts) - 1
        )
        return cls(index, packed[0], packed[1], ends)

    def renumbered(self, index: NGramIndex, places: Sequence[Ints32]) -> NGramCounts:
        """The same counts with the ids of another index, ordered by those."""
        ids, counts = self.ids.copy(), self.counts.copy()
        new, firsts = np.concatenate(places), self.index.firsts
        in_threads(
            lambda a, b: renumber(ids, counts, self.starts, new, firsts, a, b),
            (len(self.starts) - 1) // self.n,
        )
        return replace(self, index=index, ids=ids, counts=counts)


@kernel
def slot_of(table: Array, key: Any) -> Any:
    """The slot of a key in an open-addressing table of (key, id), or its empty slot."""
    # Fibonacci hashing (Knuth, vol. 3, section 6.4): keys are two small numbers side by side, whose
    # own low bits would crowd a few slots. Tables have 2**k slots and are at most half full.
    mask = table.shape[0] - 1
    mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    at = np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(mask))
    while table[at, 0] != -1 and table[at, 0] != key:
        at = (at + 1) & mask
    return at


@kernel
def grown(table: Array) -> Array:
    """The same table with twice the slots."""
    larger = np.full((2 * table.shape[0], 2), -1, np.int64)
    for k in range(table.shape[0]):
        if table[k, 0] != -1:
            larger[slot_of(larger, table[k, 0])] = table[k]
    return larger


@kernel
def intern(
    shorter: Array, distinct: int, words: Array, starts: Array, k: int
) -> tuple[Array, Array]:
    """Ids of n-grams of `k` words by the position of the first, given those of `k - 1` words.

    Exact: two ids below 2**31 fit into one key, and keys are compared, not only hashed.
    """
    often = np.zeros(distinct, np.int32)
    for i in range(shorter.size):
        if shorter[i] >= 0:
            often[shorter[i]] += 1
    ids = np.full(words.size, -1, np.int32)
    keys = np.empty(words.size, np.int64)
    table = np.full((FIRST_ROOM, 2), -1, np.int64)
    known, filled = 0, 0
    for s in range(starts.size - 1):
        for i in range(starts[s], starts[s + 1] - k + 1):
            key = (np.int64(shorter[i]) << 32) | np.int64(words[i + k - 1])
            # An n-gram with a part that occurs once occurs once itself: it is new and needs no
            # lookup. That keeps most of the longer n-grams out of the table.
            if often[shorter[i]] > 1 and often[shorter[i + 1]] > 1:
                at = slot_of(table, key)
                if table[at, 0] == key:
                    ids[i] = table[at, 1]
                    continue
                table[at, 0] = key
                table[at, 1] = known
                filled += 1
                if 2 * filled > table.shape[0]:
                    table = grown(table)
            ids[i] = known
            keys[known] = key
            known += 1
    return ids, keys[:known].copy()


@kernel
def count(
    places: Array, starts: Array, ids: Array, counts: Array, sizes: Array, begin: int, end: int
) -> None:
    """Sort and count the n-grams of some sentences; each list starts with enough room.

    Insertion sort, because a caption has about ten words, for which nothing is faster. Sorted lists
    let metrics compare two sentences in one pass over both.
    """
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
    """Move the lists of some sentences together, without gaps."""
    for s in range(begin, end):
        first, length = starts[s], starts[s + 1] - starts[s]
        for k in range(n):
            base = n * first + k * length
            to = ends[s * n + k]
            for i in range(ends[s * n + k + 1] - to):
                packed[0, to + i] = ids[base + i]
                packed[1, to + i] = counts[base + i]


@kernel
def table_of(keys: Array) -> Array:
    """A table from keys to their positions."""
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
    """Ids of keys, -1 for those not in the table."""
    ids = np.empty(keys.size, np.int32)
    for k in range(keys.size):
        ids[k] = -1 if keys[k] < 0 else table[slot_of(table, keys[k]), 1]
    return ids


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
    """Ids of n-grams by the position of their first word, -1 for those not in the table.

    `places[0]` already has the ids of words; the table of n-grams of k + 1 words is the part of
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

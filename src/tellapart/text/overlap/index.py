"""What each n-gram's id stands for, and the ids of another index's n-grams in this one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tellapart.errors import BadInput
from tellapart.text.overlap.sentences import Ids, Sentences, Starts

Keys = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class NGramIndex:
    """N-grams of up to `n` words; ids count from 0 within each length.

    Those of length 1 are the words. `keys[k - 2][id]` is an n-gram of length k: the id of its first
    k - 1 words times 2**32, plus the id of its last word.
    """

    words: tuple[str, ...]
    keys: tuple[Keys, ...]
    _tables: list[Keys] = field(default_factory=list, repr=False, compare=False)

    @property
    def n(self) -> int:
        """How many words the longest n-grams have."""
        return len(self.keys) + 1

    @property
    def sizes(self) -> list[int]:
        """How many n-grams there are of each length."""
        return [len(self.words), *map(len, self.keys)]

    @property
    def firsts(self) -> Starts:
        """Where n-grams of each length begin if all of them lie in one row; last, how many."""
        return np.cumsum([0, *self.sizes])

    def tables(self) -> list[Keys]:
        """Hash tables from keys to ids, for each length from 2; made once."""
        from tellapart.text.overlap.kernels_ngrams import table_of

        if not self._tables:
            self._tables.extend(table_of(keys) for keys in self.keys)
        return self._tables

    def places(self, other: NGramIndex) -> list[Ids]:
        """The id here of each n-gram of another index; -1 for those that are not here."""
        return self._joined(other, grow=False)[1]

    def joined(self, other: NGramIndex) -> tuple[NGramIndex, list[Ids]]:
        """An index with the n-grams of another after these, and where those of the other are."""
        if other is self:
            return self, [np.arange(size, dtype=np.int32) for size in self.sizes]
        return self._joined(other, grow=True)

    def _joined(self, other: NGramIndex, *, grow: bool) -> tuple[NGramIndex, list[Ids]]:
        from tellapart.text.overlap.kernels_ngrams import find_all

        known = {word: k for k, word in enumerate(self.words)}
        first = np.array([known.get(word, -1) for word in other.words], np.int32)
        new = tuple(other.words[k] for k in np.flatnonzero(first < 0)) if grow else ()
        places = [_numbered(first, len(self.words)) if grow else first]
        keys = []
        for mine, table, theirs in zip(self.keys, self.tables(), other.keys, strict=True):
            before, last = places[-1][theirs >> 32], places[0][theirs & 0x7FFFFFFF]
            moved = np.where((before < 0) | (last < 0), -1, (before.astype(np.int64) << 32) | last)
            found = find_all(table, moved)
            keys.append(np.concatenate([mine, moved[found < 0]]) if grow else mine)
            places.append(_numbered(found, len(mine)) if grow else found)
        return (NGramIndex(self.words + new, tuple(keys)) if grow else self), places


def ngram_ids(sentences: Sentences, n: int) -> tuple[Ids, NGramIndex]:
    """The id of the n-gram that begins at each word, shape (n, words), and what ids stand for.

    Where a sentence ends before its n-gram does the id is -1.
    """
    from tellapart.text.overlap.kernels_ngrams import intern

    if n < 1:
        raise BadInput(f"there are no n-grams of {n} words", allowed="1 or more")
    places, keys, distinct = [sentences.ids], [], len(sentences.words)
    for k in range(2, n + 1):
        place, found = intern(places[-1], distinct, sentences.ids, sentences.starts, k)
        places.append(place)
        keys.append(found)
        distinct = len(found)
    return np.stack(places), NGramIndex(sentences.words, tuple(keys))


def _numbered(places: Ids, first: int) -> Ids:
    """Those that are -1 get numbers from `first` on."""
    new = places < 0
    return np.where(new, first + np.cumsum(new) - 1, places).astype(np.int32)

"""How often each sentence has each of its n-grams; n-grams are told apart exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart.text.ngram_index import NGramIndex
from tellapart.text.sentences import Ids, Sentences, Starts


@dataclass(frozen=True, slots=True)
class NGramCounts:
    """Distinct n-grams of each sentence, in order of their ids, with their counts.

    Those of length k (from 1 to `n`) of sentence s are the entries from `starts[s * n + k - 1]` to
    `starts[s * n + k]`.
    """

    index: NGramIndex
    ids: Ids
    counts: Ids
    starts: Starts

    @property
    def n(self) -> int:
        """How many words the longest n-grams have."""
        return self.index.n

    @classmethod
    def of(cls, sentences: Sentences, n: int) -> NGramCounts:
        """Count the n-grams of up to `n` words."""
        from tellapart.text._kernels_ngrams import count, intern
        from tellapart.text._numba import in_threads

        place, keys = sentences.ids, []
        places = [place]
        for k in range(2, n + 1):
            place, found = intern(place, sentences.ids, sentences.starts, k)
            places.append(place)
            keys.append(found)
        stacked = np.stack(places)
        ids, counts = np.empty((2, n * len(sentences.ids)), np.int32)
        ends = np.zeros(n * len(sentences) + 1, np.int64)
        in_threads(
            lambda a, b: count(stacked, sentences.starts, ids, counts, ends, a, b), len(sentences)
        )
        index = NGramIndex(sentences.words, tuple(keys))
        return cls._packed(index, ids, counts, ends, sentences.starts)

    @classmethod
    def _packed(
        cls, index: NGramIndex, ids: Ids, counts: Ids, sizes: Starts, starts: Starts
    ) -> NGramCounts:
        """Close the gaps that repeated and missing n-grams leave."""
        from tellapart.text._kernels_ngrams import pack
        from tellapart.text._numba import in_threads

        ends = np.cumsum(sizes)
        packed = np.empty((2, int(ends[-1])), np.int32)
        in_threads(
            lambda a, b: pack(ids, counts, starts, ends, packed, index.n, a, b), len(starts) - 1
        )
        return cls(index, packed[0], packed[1], ends)

"""How often each sentence has each of its n-grams; n-grams are told apart exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart.text.overlap.index import NGramIndex, ngram_ids
from tellapart.text.overlap.sentences import Ids, Sentences, Starts


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
        from tellapart.text._numba import in_threads
        from tellapart.text.overlap.kernels_ngrams import count

        places, index = ngram_ids(sentences, n)
        ids, counts = np.empty((2, places.size), np.int32)
        sizes = np.zeros(n * len(sentences) + 1, np.int64)
        in_threads(
            lambda a, b: count(places, sentences.starts, ids, counts, sizes, a, b), len(sentences)
        )
        return cls._packed(index, ids, counts, sizes, sentences.starts)

    @classmethod
    def _packed(
        cls, index: NGramIndex, ids: Ids, counts: Ids, sizes: Starts, starts: Starts
    ) -> NGramCounts:
        """Close the gaps that repeated and missing n-grams leave."""
        from tellapart.text._numba import in_threads
        from tellapart.text.overlap.kernels_ngrams import pack

        ends = np.cumsum(sizes)
        packed = np.empty((2, int(ends[-1])), np.int32)
        in_threads(
            lambda a, b: pack(ids, counts, starts, ends, packed, index.n, a, b), len(starts) - 1
        )
        return cls(index, packed[0], packed[1], ends)

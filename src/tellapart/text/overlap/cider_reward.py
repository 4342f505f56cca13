"""CIDEr-D as a reward: captions sampled in training against references that are prepared once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import numpy.typing as npt

from tellapart.errors import BadInput
from tellapart.text.overlap.cider import SCALE, SIGMA, Floats, weighted
from tellapart.text.overlap.counts import NGramCounts
from tellapart.text.overlap.document_frequencies import DocumentFrequencies
from tellapart.text.overlap.index import NGramIndex
from tellapart.text.overlap.references import set_starts
from tellapart.text.overlap.sentences import Ids, Sentences, Starts


@dataclass(frozen=True, slots=True)
class CiderReward:
    """CIDEr-D of captions of images that are named by their places in the references.

    The same scores as `cider_d` gives (Rennie et al. 2017 train on them): n-grams that no reference
    has count in a caption's norm, with the rarity that `frequencies` give them.
    """

    index: NGramIndex
    rarity: Floats
    unknown: float
    sigma: float
    scale: float
    _words: dict[str, int]
    _table: npt.NDArray[np.int64]
    _rooms: Starts
    _grams: NGramCounts
    _weights: Floats
    _norms: Floats
    _lengths: Starts
    _starts: Starts

    @classmethod
    def of(
        cls,
        references: Sequence[Sequence[str]],
        frequencies: DocumentFrequencies | None = None,
        *,
        n: int = 4,
        sigma: float = SIGMA,
        scale: float = SCALE,
    ) -> CiderReward:
        """Prepared for the tokenised references of each image.

        >>> reward = CiderReward.of([["a dog runs"], ["the cat sits", "a cat"]])
        >>> reward.rewards(["a cat", "a dog runs"], [1, 0]).round(3).tolist()
        [3.212, 7.5]
        """
        starts = set_starts(references)
        sentences = Sentences.of(list(chain.from_iterable(references)))
        grams = NGramCounts.of(sentences, n)
        if frequencies is None:
            frequencies = DocumentFrequencies.of_counts(grams, starts)
        index, places = frequencies.up_to(n).index.joined(grams.index)
        grams = _renumbered(grams, index, places)
        rarity = frequencies.rarity(index)
        weights, norms = weighted(grams, rarity)
        tables = [np.empty((0, 2), np.int64), *index.tables()]
        return cls(
            index, rarity, frequencies.rarest, sigma, scale,
            {word: k for k, word in enumerate(index.words)},
            np.concatenate(tables), np.cumsum([len(table) for table in tables]),
            grams, weights, norms, sentences.lengths, starts,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self._starts) - 1

    def rewards(
        self, captions: Sequence[str], images: npt.NDArray[np.integer] | Sequence[int]
    ) -> Floats:
        """The reward of each tokenised caption for the image at the same place."""
        from tellapart.text._numba import in_threads
        from tellapart.text.overlap.kernels_cider import score_captions

        of = self._places(images, len(captions))
        given = Sentences.of(captions)
        prepared = (self._grams.ids, self._weights, self._norms, self._grams.starts,
                    self._lengths, self._starts)  # fmt: skip
        knowledge = (self.rarity, self.index.firsts, self.unknown)
        places = self._known(given)
        scores = np.empty(len(captions))
        in_threads(
            lambda a, b: score_captions(
                given.ids, given.starts, places, of, prepared, knowledge, self.sigma, self.scale,
                scores, a, b,
            ),
            len(captions),
            least=500,
        )  # fmt: skip
        return scores

    def _known(self, given: Sentences) -> Ids:
        """Ids of n-grams by length and place, -1 for those that are nowhere in the index."""
        from tellapart.text._numba import in_threads
        from tellapart.text.overlap.kernels_ngrams import known_ids

        words = np.array([self._words.get(word, -1) for word in given.words], np.int32)
        places = np.empty((self.index.n, len(given.ids)), np.int32)
        places[0] = words[given.ids]
        in_threads(
            lambda a, b: known_ids(places[0], given.starts, self._table, self._rooms, places, a, b),
            len(given),
        )
        return places

    def _places(
        self, images: npt.NDArray[np.integer] | Sequence[int], captions: int
    ) -> npt.NDArray[np.int64]:
        places = np.asarray(images, np.int64)
        if places.shape != (captions,):
            raise BadInput(f"{captions:,} captions, but images of shape {places.shape}")
        for place in (places.min(), places.max()) if captions else ():
            if not 0 <= place < len(self):
                raise BadInput(f"there is no image {place:,}", allowed=f"0 to {len(self) - 1:,}")
        return places


def _renumbered(grams: NGramCounts, index: NGramIndex, places: Sequence[Ids]) -> NGramCounts:
    """The same counts with ids of another index, in the order of those."""
    from tellapart.text._numba import in_threads
    from tellapart.text.overlap.kernels_ngrams import renumber

    ids, counts = grams.ids.copy(), grams.counts.copy()
    new, firsts = np.concatenate(places), grams.index.firsts
    in_threads(
        lambda a, b: renumber(ids, counts, grams.starts, new, firsts, a, b),
        (len(grams.starts) - 1) // grams.n,
    )
    return replace(grams, index=index, ids=ids, counts=counts)

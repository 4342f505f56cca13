"""CIDEr and CIDEr-D: tf-idf weighted n-grams shared with the references (Vedantam et al. 2015).

Also CIDEr-D as a reward for captions sampled in training, with references prepared once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from tellapart.errors import BadInput
from tellapart.text._numba import Array, in_threads, kernel
from tellapart.text.caption_metrics.metric import BuiltInMetric, Marks, Material
from tellapart.text.caption_metrics.ngrams import NGramCounts, NGramIndex, known_ids
from tellapart.text.caption_metrics.references import (
    DocumentFrequencies,
    OverlapScores,
    ReferenceSets,
    set_starts,
)
from tellapart.text.caption_metrics.sentences import Sentences
from tellapart.types import Floats, Ints, Ints32

SIGMA, SCALE = 6.0, 10.0
"""The width of CIDEr-D's length penalty, in words; the factor of the score."""


def cider_d(
    sets: ReferenceSets,
    frequencies: DocumentFrequencies | None = None,
    *,
    n: int = 4,
    sigma: float = SIGMA,
    scale: float = SCALE,
) -> OverlapScores:
    """CIDEr-D, which the COCO scripts call CIDEr (Vedantam et al. 2015).

    Without `frequencies`, each candidate's references are one document. With a single document all
    weights are log 1 = 0, so that everything scores 0. A `sigma` of 0 turns off clipping and the
    length penalty.

    >>> sets = ReferenceSets.of(["a dog runs", "a cat"], [["a dog runs"], ["the cat sits"]])
    >>> cider_d(sets).sentences.round(3).tolist()
    [7.5, 1.007]
    """
    grams, lengths = sets.ngrams(n), sets.sentences.lengths
    if frequencies is None:
        frequencies = DocumentFrequencies.of_counts(grams, sets.starts)
    weights, norms = weighted(grams, frequencies.rarity(grams.index))
    scores = np.empty(len(sets))
    in_threads(
        lambda a, b: score_sets(
            grams.ids, weights, norms, grams.starts, sets.starts, lengths, sigma, scale, scores,
            a, b,
        ),
        len(sets),
    )  # fmt: skip
    return OverlapScores.of(scores)


def cider(
    sets: ReferenceSets,
    frequencies: DocumentFrequencies | None = None,
    *,
    n: int = 4,
    scale: float = 1.0,
) -> OverlapScores:
    """CIDEr as first published: cosines without clipping, length penalty or factor of ten.

    Words are used as given; the paper stems them first.
    """
    return cider_d(sets, frequencies, n=n, sigma=0.0, scale=scale)


def weighted(grams: NGramCounts, rarity: Floats) -> tuple[Floats, Floats]:
    """The weight of each entry of `grams`, and the norms [sentence, length - 1] of its vectors."""
    many, firsts = (len(grams.starts) - 1) // grams.n, grams.index.firsts
    weights, norms = np.empty(len(grams.ids)), np.empty((many, grams.n))
    in_threads(
        lambda a, b: weigh(
            grams.ids, grams.counts, grams.starts, rarity, firsts, weights, norms, a, b
        ),
        many,
    )
    return weights, norms


@dataclass(frozen=True, slots=True)
class CiderMetric(BuiltInMetric):
    """CIDEr or CIDEr-D; the rarity of n-grams comes from the material's frequencies."""

    clipped: bool = True

    cites = "Vedantam et al. 2015, CIDEr"

    @property
    def name(self) -> str:
        """CIDEr-D is what the COCO scripts call CIDEr."""
        return "CIDEr-D" if self.clipped else "CIDEr"

    @property
    def about(self) -> str:
        """One line."""
        if self.clipped:
            return "rare n-grams shared with the references (the COCO scripts' CIDEr)"
        return "rare n-grams shared with the references, as first published"

    def marks(self, material: Material) -> Marks:
        """The overall score is the mean over captions; resampling keeps the frequencies."""
        judge = cider_d if self.clipped else cider
        return Marks.averaged(judge(material.sets, material.frequencies).sentences)


CIDER, CIDER_D = CiderMetric(clipped=False), CiderMetric()


@dataclass(frozen=True, slots=True)
class CiderReward:
    """CIDEr-D of captions; images are given by their positions in the references.

    The scores equal those of `cider_d` (Rennie et al. 2017 train on them): n-grams that are in no
    reference count in a caption's norm, with the rarity from `frequencies`.
    """

    index: NGramIndex
    rarity: Floats
    unknown: float
    sigma: float
    scale: float
    _words: dict[str, int]
    _table: Ints
    _rooms: Ints
    _grams: NGramCounts
    _weights: Floats
    _norms: Floats
    _lengths: Ints
    _starts: Ints

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
        """A reward prepared for the tokenised references of each image.

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
        grams = grams.renumbered(index, places)
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
        """The reward of each tokenised caption for its image in `images`."""
        of = self._places(images, len(captions))
        sentences = Sentences.of(captions)
        prepared = (self._grams.ids, self._weights, self._norms, self._grams.starts,
                    self._lengths, self._starts)  # fmt: skip
        knowledge = (self.rarity, self.index.firsts, self.unknown)
        places = self._known(sentences)
        scores = np.empty(len(captions))
        in_threads(
            lambda a, b: score_captions(
                sentences.ids, sentences.starts, places, of, prepared, knowledge,
                self.sigma, self.scale, scores, a, b,
            ),
            len(captions),
            least=500,
        )  # fmt: skip
        return scores

    def _known(self, sentences: Sentences) -> Ints32:
        """Ids of n-grams by length and position, -1 for those not in the index."""
        words = np.array([self._words.get(word, -1) for word in sentences.words], np.int32)
        places = np.empty((self.index.n, len(sentences.ids)), np.int32)
        places[0] = words[sentences.ids]
        in_threads(
            lambda a, b: known_ids(
                places[0], sentences.starts, self._table, self._rooms, places, a, b
            ),
            len(sentences),
        )
        return places

    def _places(self, images: npt.NDArray[np.integer] | Sequence[int], captions: int) -> Ints:
        places = np.asarray(images, np.int64)
        if places.shape != (captions,):
            raise BadInput(f"{captions:,} captions, but images of shape {places.shape}")
        for place in (places.min(), places.max()) if captions else ():
            if not 0 <= place < len(self):
                raise BadInput(f"there is no image {place:,}", allowed=f"0 to {len(self) - 1:,}")
        return places


@kernel
def weigh(
    ids: Array, counts: Array, starts: Array, rarity: Array, firsts: Array,
    weights: Array, norms: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """Weights of the n-grams of some sentences, and the norms of each sentence's vectors.

    The rarities of n-grams of length k + 1 start at `firsts[k]`.
    """
    n = norms.shape[1]
    for s in range(begin, end):
        for k in range(n):
            total = 0.0
            for i in range(starts[s * n + k], starts[s * n + k + 1]):
                weights[i] = counts[i] * rarity[firsts[k] + ids[i]]
                total += weights[i] * weights[i]
            norms[s, k] = math.sqrt(total)


@kernel
def length_penalty(length: int, other: int, sigma: float) -> float:
    """CIDEr-D's penalty; lengths are numbers of bigrams, as in the COCO scripts."""
    delta = max(0, length - 1) - max(0, other - 1)
    return math.exp(-(delta * delta) / (2 * sigma * sigma))


@kernel
def product(
    left: Array, left_weights: Array, right: Array, right_weights: Array, clipped: bool
) -> float:
    """Inner product of two vectors, given as sorted ids and weights.

    `clipped` limits weights on the left to those on the right, as in CIDEr-D.
    """
    # Both lists are sorted by id, so one pass over both finds the shared n-grams.
    i, j, total = 0, 0, 0.0
    while i < left.size and j < right.size:
        if left[i] < right[j]:
            i += 1
        elif left[i] > right[j]:
            j += 1
        else:
            mine, other = left_weights[i], right_weights[j]
            total += (min(mine, other) if clipped else mine) * other
            i += 1
            j += 1
    return total


@kernel
def score_sets(
    ids: Array, weights: Array, norms: Array, starts: Array, sets: Array, lengths: Array,
    sigma: float, scale: float, scores: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """CIDEr-D of each candidate, or CIDEr if `sigma` is 0."""
    n = norms.shape[1]
    for s in range(begin, end):
        total = 0.0
        for r in range(sets[s], sets[s + 1]):
            fit = 0.0
            for k in range(n):
                norm = norms[s, k] * norms[r, k]
                if norm > 0:
                    a, b = starts[s * n + k], starts[s * n + k + 1]
                    i, j = starts[r * n + k], starts[r * n + k + 1]
                    fit += product(ids[a:b], weights[a:b], ids[i:j], weights[i:j], sigma > 0) / norm
            if sigma > 0:
                fit *= length_penalty(lengths[s], lengths[r], sigma)
            total += fit
        scores[s] = scale * total / n / (sets[s + 1] - sets[s])


@kernel
def own_ids(places: Array, words: Array, k: int, own: Array) -> None:
    """Ids of a caption's n-grams of length k + 1 by position.

    An unknown n-gram (-1) gets a negative number that encodes its first position: unknown n-grams
    match nothing, but equal ones count together in the caption's norm. Captions are short, so
    scanning all earlier positions is cheaper than a table.
    """
    for i in range(words.size - k):
        own[i] = places[i]
        if places[i] >= 0:
            continue
        own[i] = -1 - i
        for j in range(i):
            if places[j] < 0 and same_words(words, i, j, k + 1):
                own[i] = -1 - j
                break


@kernel
def same_words(words: Array, i: int, j: int, length: int) -> bool:
    """Whether a sentence has the same words at two positions."""
    k = 0
    while k < length and words[i + k] == words[j + k]:
        k += 1
    return k == length


@kernel
def count_sorted(own: Array, size: int, ids: Array, counts: Array) -> int:
    """Write the distinct ids in order, with counts; returns how many there are."""
    known = 0
    for i in range(size):
        at = known
        while at > 0 and ids[at - 1] > own[i]:
            at -= 1
        if at > 0 and ids[at - 1] == own[i]:
            counts[at - 1] += 1
            continue
        for j in range(known, at, -1):
            ids[j], counts[j] = ids[j - 1], counts[j - 1]
        ids[at], counts[at] = own[i], 1
        known += 1
    return known


@kernel
def weigh_counts(ids: Array, counts: Array, rarity: Array, unknown: float, weights: Array) -> float:
    """Write the weights of n-grams; returns the norm of their vector."""
    total = 0.0
    for i in range(ids.size):
        weights[i] = counts[i] * (rarity[ids[i]] if ids[i] >= 0 else unknown)
        total += weights[i] * weights[i]
    return math.sqrt(total)


@kernel
def score_captions(
    words: Array, starts: Array, places: Array, images: Array, prepared: Any, knowledge: Any,
    sigma: float, scale: float, scores: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """CIDEr-D of captions (ids of words and n-grams) against the references of their images."""
    others, other_weights, norms, other_starts, lengths, sets = prepared
    rarity, firsts, unknown = knowledge
    n = firsts.size - 1
    longest = 1
    for c in range(begin, end):
        longest = max(longest, starts[c + 1] - starts[c])
    # allocated once for the longest caption: allocating in the loop would cost more than the sums
    own, ids, counts = np.empty((3, longest), np.int64)
    weights = np.empty(longest)
    for c in range(begin, end):
        first, last = starts[c], starts[c + 1]
        begin_set, end_set = sets[images[c]], sets[images[c] + 1]
        total = 0.0
        for k in range(min(n, last - first)):
            own_ids(places[k, first:last], words[first:last], k, own)
            size = count_sorted(own, last - first - k, ids, counts)
            known = rarity[firsts[k] : firsts[k + 1]]
            norm = weigh_counts(ids[:size], counts, known, unknown, weights)
            for r in range(begin_set, end_set):
                if norm * norms[r, k] > 0:
                    i, j = other_starts[r * n + k], other_starts[r * n + k + 1]
                    fit = product(ids[:size], weights, others[i:j], other_weights[i:j], True)
                    penalty = length_penalty(last - first, lengths[r], sigma)
                    total += penalty * fit / (norm * norms[r, k])
        scores[c] = scale * total / n / (end_set - begin_set)

"""How well a caption tells its image from another, read off what people say of images.

A caption is a good question if its words are likely to be said of the target and unlikely to be
said of the decoy. What is likely is counted in the corpus: of an image with a word in one caption,
how many of the others have it too (`rate`: "giraffe" 0.96, "beautiful" 0.00), and how many have
another word ("couch" beside "sofa" 0.48, "cat" beside "dog" 0.03). So neither an idle word nor a
synonym counts for much, and a word that everyone uses counts for a lot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from tellapart.mine.captions import Captions, Ints
from tellapart.text.english import plural
from tellapart.text.tfidf import word_counts
from tellapart.text.tokens import FUNCTION_WORDS

WEIGHT = 4.0
"""What the corpus says of a word counts as much as so many captions of the image."""
SEEN = 5.0
"""Rates are drawn towards the mean as if so many captions had it."""
NO_RATE = 0.4
"""The mean rate where no image has two captions (it is 0.34 in COCO)."""
FLOOR = 0.01
LARGE = 500
"""Above so many pairs it pays to compile."""

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Telling:
    """Scores of captions against decoys.

    The score of a caption is the sum over its content words w of max(0, log(q / p)):

        q = (n_w + 4 rate_w) / (n + 4) + 0.01    n other captions of the target, n_w with w
        p = (m_w + 4 beside_w) / (m + 4) + 0.01  m captions of the decoy, m_w with w

    `beside_w` is the highest, over the words v of the decoy's captions, of the share of other
    captions of an image that have w where one has v. A singular and its plural are one word.
    """

    captions: Captions

    def scores(self, targets: Ints, decoys: Ints) -> tuple[Ints, Doubles]:
        """For pairs of images the scores of all captions of the target.

        Returns [pairs, most captions] places of captions (-1 where there are fewer) and scores.
        """
        places = self._captions_of[targets]
        scores = np.zeros(places.shape)
        words, said, beside = self._words, self._said, self._beside
        arrays = (
            (words.indptr, words.indices),
            (said.indptr, said.indices, said.data),
            (beside.indptr, beside.indices, beside.data),
            self._rates,
            self.captions.per_image,
        )
        add = _compiled() if len(targets) > LARGE else _add
        add(targets, decoys, places, arrays, scores)
        return places, np.round(scores, 9)

    @cached_property
    def _words(self) -> csr_matrix:
        """Captions x words: which content words each has, a plural as its singular."""
        content = [[w for w in words if w not in FUNCTION_WORDS] for words in self.captions.words]
        known = {word for words in content for word in words}
        single = {plural(word): word for word in sorted(known)}
        counts = word_counts(
            [[single.get(word, word) for word in words] for words in content], {}, grow=True
        )
        counts.data[:] = 1
        return counts

    @cached_property
    def _said(self) -> csr_matrix:
        """Images x words: how many captions of the image have the word."""
        number = len(self.captions)
        ones = np.ones(number)
        shape = (len(self.captions.images), number)
        of_image = csr_matrix((ones, (self.captions.image_of, np.arange(number))), shape=shape)
        return _sorted(of_image @ self._words)

    @cached_property
    def _others(self) -> Doubles:
        """For each word how many other captions the captions with it have beside them."""
        others = self.captions.per_image[self.captions.image_of] - 1.0
        return np.asarray(self._words.T @ others)

    @cached_property
    def _beside(self) -> csr_matrix:
        """Words v x words w: the share of other captions that have w where one has v."""
        together = self._said.T @ self._said - self._words.T @ self._words
        scale = 1 / (self._others + SEEN)
        return _sorted(together.multiply(scale[:, None]).tocsr())

    @cached_property
    def _rates(self) -> Doubles:
        """For each word the share of other captions that have it where one has."""
        again = np.asarray(self._said.multiply(self._said - _ones(self._said)).sum(axis=0)).ravel()
        mean = again.sum() / self._others.sum() if self._others.any() else NO_RATE
        return np.asarray((again + SEEN * mean) / (self._others + SEEN))

    @cached_property
    def _captions_of(self) -> Ints:
        """For each image the places of its captions, -1 behind the last."""
        image_of, sizes = self.captions.image_of, self.captions.per_image
        order = np.argsort(image_of, kind="stable")
        within = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        table = np.full((len(sizes), int(sizes.max(initial=0))), -1, np.int32)
        table[image_of[order], within] = order
        return table


def _ones(matrix: csr_matrix) -> csr_matrix:
    return csr_matrix((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape)


def _sorted(matrix: csr_matrix) -> csr_matrix:
    made = csr_matrix(matrix)
    made.eliminate_zeros()
    made.sort_indices()
    return made


@cache
def _compiled() -> Callable[..., None]:
    from tellapart.text._numba import kernel

    return kernel(_add)


def _add(targets: Any, decoys: Any, places: Any, arrays: Any, scores: Any) -> None:
    # numba compiles this: loops and numbers only
    (starts, words), (ends, said, times), (firsts, beside, shares), rates, sizes = arrays
    gains = np.zeros(len(rates))
    for pair in range(len(targets)):
        target, decoy = targets[pair], decoys[pair]
        theirs = said[ends[decoy] : ends[decoy + 1]]
        for k in range(ends[target], ends[target + 1]):
            word = said[k]
            of_decoy, share = 0.0, 0.0
            for at in range(len(theirs)):
                other = theirs[at]
                if other == word:
                    of_decoy = times[ends[decoy] + at]
                row = beside[firsts[other] : firsts[other + 1]]
                place = np.searchsorted(row, word)
                if place < len(row) and row[place] == word:
                    share = max(share, shares[firsts[other] + place])
            q = (times[k] - 1 + WEIGHT * rates[word]) / (sizes[target] - 1 + WEIGHT)
            p = (of_decoy + WEIGHT * share) / (sizes[decoy] + WEIGHT)
            gains[word] = max(0.0, np.log((q + FLOOR) / (p + FLOOR)))
        for column in range(places.shape[1]):
            caption = places[pair, column]
            if caption >= 0:
                for k in range(starts[caption], starts[caption + 1]):
                    scores[pair, column] += gains[words[k]]

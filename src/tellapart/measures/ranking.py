"""Ranks in both directions between images and their captions, without the whole matrix in memory.

The rank of the best right answer is 1 + the number of others that score as high or higher: a tie
counts against the model. Scores are computed once for each distinct image and text, so that equal
contents tie exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating]

CHUNK_BYTES = 64 << 20
"""How large a part of the matrix of scores may be."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Images and captions to be ranked.

    `owner` is each caption's image; `image` and `text` are the rows of images and captions in
    `left` and `right`. Scores are inner products, or stand in `left` themselves if `right` is None.
    """

    owner: Ints
    image: Ints
    text: Ints
    left: Floats
    right: Floats | None

    def part(self, keep: Ints) -> Collection:
        """Some of the images with their captions."""
        number = np.full(len(self.image), -1)
        number[keep] = np.arange(len(keep))
        captions = np.flatnonzero(number[self.owner] >= 0)
        owner = number[self.owner[captions]]
        return Collection(owner, self.image[keep], self.text[captions], self.left, self.right)

    def chunks(self) -> Iterator[tuple[Ints, Floats]]:
        """Some images at a time, with their scores with all captions, shape (images, captions)."""
        used, texts = np.unique(self.image), np.unique(self.text)
        columns = np.searchsorted(texts, self.text)
        right = None if self.right is None else self.right[texts]
        step = max(1, CHUNK_BYTES // (8 * max(1, len(columns))))
        for begin in range(0, len(used), step):
            rows = used[begin : begin + step]
            block = self.left[rows] @ right.T if right is not None else self.left[rows][:, texts]
            images = np.flatnonzero((self.image >= rows[0]) & (self.image <= rows[-1]))
            for k in range(0, len(images), step):
                some = images[k : k + step]
                yield some, block[np.searchsorted(rows, self.image[some])][:, columns]


@dataclass(frozen=True, slots=True)
class Ranks:
    """One rank a query, and how many queries have a tie with their best right answer."""

    ranks: Ints
    ties: int


def rank_both(found: Collection) -> tuple[Ranks, Ranks]:
    """Images that look for captions, and captions that look for their image."""
    n, m = len(found.image), len(found.owner)
    own, of_images, image_ties = np.empty(m), np.empty(n, np.int64), 0
    number = np.empty(n, np.int64)
    for images, scores in found.chunks():
        mine = found.owner[None, :] == images[:, None]
        best = np.where(mine, scores, -np.inf).max(axis=1, keepdims=True)
        of_images[images] = 1 + ((scores >= best) & ~mine).sum(axis=1)
        image_ties += int(((scores == best) & ~mine).any(axis=1).sum())
        number[:] = -1
        number[images] = np.arange(len(images))
        at = np.flatnonzero(number[found.owner] >= 0)
        own[at] = scores[number[found.owner[at]], at]
    of_texts, tied = np.ones(m, np.int64), np.zeros(m, bool)
    for images, scores in found.chunks():  # again: each caption's own score had to be known first
        others = found.owner[None, :] != images[:, None]
        of_texts += ((scores >= own) & others).sum(axis=0)
        tied |= ((scores == own) & others).any(axis=0)
    return Ranks(of_images, image_ties), Ranks(of_texts, int(tied.sum()))

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

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """That of scores."""
        return self.left.dtype if self.right is None else np.result_type(self.left, self.right)

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
                yield some, _picked(block, np.searchsorted(rows, self.image[some]), columns)


def _picked(block: Floats, rows: Ints, columns: Ints) -> Floats:
    """Some rows and columns; not copied where they are all there in order."""
    if not _is_range(rows, len(block)):
        block = block[rows]
    return block if _is_range(columns, block.shape[1]) else block[:, columns]


def _is_range(places: Ints, size: int) -> bool:
    return len(places) == size and bool((np.diff(places) == 1).all())


@dataclass(frozen=True, slots=True)
class Ranks:
    """One rank a query, and how many queries have a tie with their best right answer."""

    ranks: Ints
    ties: int


def rank_both(found: Collection) -> tuple[Ranks, Ranks]:
    """Images that look for captions, and captions that look for their image.

    What scores as high as the right answer is counted with the right answers among it; these are
    then taken off again, so that no mask of the matrix's size is needed.
    """
    n, m = len(found.image), len(found.owner)
    own, of_images, image_ties = np.empty(m, found.dtype), np.empty(n, np.int64), 0
    number = np.empty(n, np.int64)
    for images, scores in found.chunks():
        number[:] = -1
        number[images] = np.arange(len(images))
        at = np.flatnonzero(number[found.owner] >= 0)
        row = number[found.owner[at]]
        own[at] = scores[row, at]
        best = np.full(len(images), -np.inf, found.dtype)
        np.maximum.at(best, row, own[at])
        right = np.bincount(row, own[at] == best[row], len(images)).astype(np.int64)
        as_high = np.count_nonzero(scores >= best[:, None], axis=1)
        of_images[images] = 1 + as_high - right
        level = np.count_nonzero(scores == best[:, None], axis=1)
        image_ties += int(np.count_nonzero(level > right))
    of_texts, level = np.zeros(m, np.int64), np.zeros(m, np.int64)
    for _, scores in found.chunks():  # again: each caption's own score had to be known first
        of_texts += np.count_nonzero(scores >= own, axis=0)  # its own image is one of them
        level += np.count_nonzero(scores == own, axis=0)
    return Ranks(of_images, image_ties), Ranks(of_texts, int(np.count_nonzero(level > 1)))

"""BLEU of very many pairs of sentences, with n-grams extracted and sorted once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tellapart.errors import BadInput
from tellapart.text._numba import Array, in_threads, kernel
from tellapart.text.caption_metrics.bleu import (
    Smoothing,
    score_against,
    score_pairs,
    smoothing_of,
)
from tellapart.text.caption_metrics.ngrams import ngram_ids
from tellapart.text.caption_metrics.sentences import Sentences
from tellapart.types import Floats, Ints

Places = npt.NDArray[np.integer]


class PairBleu:
    """BLEU-n between sentences, given by their positions in `sentences`.

    There is no brevity penalty unless `brevity` is set, as for MCIC's decoys (Ding et al. 2016,
    section 3.2). Smoothings and `effective_order` are those of `bleu`.
    """

    def __init__(
        self,
        sentences: Sentences,
        n: int = 4,
        smoothing: str | Smoothing = "none",
        *,
        brevity: bool = False,
        effective_order: bool = False,
    ) -> None:
        places, index = ngram_ids(sentences, n)
        firsts = np.cumsum([0, *index.sizes[:-1]], dtype=np.int32)
        grams = np.empty(places.size, np.int32)
        starts = sentences.starts
        in_threads(lambda a, b: sort_grams(places, firsts, starts, grams, a, b), len(sentences))
        rule = smoothing_of(smoothing)
        self._n, self._rules = n, (rule.kind, rule.value, brevity, effective_order)
        self._grams, self._starts = grams, starts

    def __len__(self) -> int:
        return len(self._starts) - 1

    def scores(self, candidates: Places, references: Places) -> Floats:
        """The score of each candidate with the reference at the same index; any equal shapes.

        >>> pairs = PairBleu(Sentences.of(["a dog runs", "a dog sits", "a cat"]), n=2)
        >>> pairs.scores(np.array([0, 2]), np.array([1, 1])).round(3).tolist()
        [0.577, 0.0]
        """
        left, right = self._places(candidates), self._places(references)
        if left.shape != right.shape:
            raise BadInput(
                f"candidates of shape {left.shape}, references of shape {right.shape}",
                allowed="one reference for each candidate",
            )
        scores = np.empty(left.size)
        flat = left.ravel(), right.ravel()
        in_threads(
            lambda a, b: score_pairs(
                self._grams, self._starts, self._n, self._rules, *flat, scores, a, b
            ),
            left.size,
        )
        return scores.reshape(left.shape)

    def scores_against(self, references: Places, candidates: Places) -> Floats:
        """The scores of candidates [q, k] with their row's reference [q].

        Faster than `scores`: the n-grams of a reference are looked up once for its row.
        """
        left, right = self._places(candidates), self._places(references)
        if left.ndim != 2 or right.shape != left.shape[:1]:
            raise BadInput(
                f"references of shape {right.shape}, candidates of shape {left.shape}",
                allowed="references [q] and a row of candidates for each [q, k]",
            )
        scores = np.empty(left.shape)
        in_threads(
            lambda a, b: score_against(
                self._grams, self._starts, self._n, self._rules, right, left, scores, a, b
            ),
            len(left),
            least=max(1, 2_000 // max(1, left.shape[1])),
        )
        return scores

    def _places(self, given: Places) -> Ints:
        places = np.ascontiguousarray(given, np.int64)
        for place in (places.min(), places.max()) if places.size else ():
            if not 0 <= place < len(self):
                raise BadInput(f"there is no sentence {place:,}", allowed=f"0 to {len(self) - 1:,}")
        return places


@kernel
def sort_grams(
    places: Array, firsts: Array, starts: Array, grams: Array, begin: int, end: int
) -> None:
    """Sort the n-grams of some sentences, keeping repetitions.

    The n-grams of k + 1 words of sentence s start at n * starts[s] + k * length. `firsts[k]` is
    added to their ids, so that n-grams of different lengths are never equal.
    """
    n = places.shape[0]
    for s in range(begin, end):
        length = starts[s + 1] - starts[s]
        for k in range(n):
            base = n * starts[s] + k * length
            for i in range(length - k):
                one = places[k, starts[s] + i] + firsts[k]
                at = base + i
                while at > base and grams[at - 1] > one:
                    grams[at] = grams[at - 1]
                    at -= 1
                grams[at] = one

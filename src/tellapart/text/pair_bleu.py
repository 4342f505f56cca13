"""BLEU of very many pairs of sentences, from n-grams that are counted once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellapart.errors import BadInput
from tellapart.text.ngram_counts import NGramCounts
from tellapart.text.sentences import Sentences, Starts
from tellapart.text.smoothing import Smoothing, smoothing_of

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.integer]


@dataclass(frozen=True, slots=True, init=False)
class PairBleu:
    """BLEU-n between sentences that are named by their places in `sentences`.

    The brevity penalty is 1 unless `brevity` asks for it, as for MCIC's decoys.
    """

    counts: NGramCounts
    lengths: Starts
    smoothing: Smoothing
    brevity: bool
    effective_order: bool

    def __init__(
        self,
        sentences: Sentences,
        n: int = 4,
        smoothing: str | Smoothing = "none",
        *,
        brevity: bool = False,
        effective_order: bool = False,
    ) -> None:
        put = object.__setattr__
        put(self, "counts", NGramCounts.of(sentences, n))
        put(self, "lengths", sentences.lengths)
        put(self, "smoothing", smoothing_of(smoothing))
        put(self, "brevity", brevity)
        put(self, "effective_order", effective_order)

    def scores(self, candidates: Places, references: Places) -> Floats:
        """The score of each candidate [m] with the reference at the same place [m].

        >>> pairs = PairBleu(Sentences.of(["a dog runs", "a dog sits", "a cat"]), n=2)
        >>> pairs.scores(np.array([0, 2]), np.array([1, 1])).round(3).tolist()
        [0.577, 0.0]
        """
        from tellapart.text._kernels_bleu import score_pairs
        from tellapart.text._numba import in_threads

        left, right = self._places(candidates), self._places(references)
        if left.shape != right.shape:
            raise BadInput(f"{left.shape} candidates but {right.shape} references")
        scores = np.empty(left.size)
        rule = self.smoothing
        rules = (rule.kind, rule.value, self.brevity, self.effective_order)
        grams = self.counts
        in_threads(
            lambda a, b: score_pairs(
                grams.ids, grams.counts, grams.starts, self.lengths, grams.n, rules,
                left.ravel(), right.ravel(), scores, a, b,
            ),
            left.size,
        )  # fmt: skip
        return scores.reshape(left.shape)

    def scores_against(self, references: Places, candidates: Places) -> Floats:
        """The scores of candidates [q, k] with the reference [q] of their row."""
        rows = np.broadcast_to(np.asarray(references)[:, None], candidates.shape)
        return self.scores(candidates, np.ascontiguousarray(rows))

    def _places(self, given: Places) -> npt.NDArray[np.int64]:
        places = np.ascontiguousarray(given, np.int64)
        for place in (places.min(), places.max()) if places.size else ():
            if not 0 <= place < len(self.lengths):
                raise BadInput(
                    f"there is no sentence {place:,}", allowed=f"0 to {len(self.lengths) - 1:,}"
                )
        return places

"""BLEU of sentences and of a corpus (Papineni et al. 2002).

The reference length is that of the reference closest in length, the shorter one of two, as in the
COCO scripts and in sacrebleu.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellapart.text.overlap.references import ReferenceSets
from tellapart.text.overlap.smoothing import Smoothing, smoothing_of

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bleu:
    """`corpus[k - 1]` and `sentences[k - 1]` (one number for each candidate) are BLEU-k, 0 to 1.

    The corpus score counts matches over all candidates before it divides: it is no mean.
    """

    corpus: tuple[float, ...]
    sentences: Floats
    candidate_length: int
    reference_length: int


@dataclass(frozen=True, slots=True)
class BleuCounts:
    """All that BLEU is computed from: of a corpus, from the sums over its candidates.

    `matched` and `totals` are n-grams that match and n-grams of each length, shape (rows, n);
    `closest` are the lengths of the references closest in length.
    """

    matched: Counts
    totals: Counts
    closest: Counts

    @classmethod
    def of(cls, sets: ReferenceSets, n: int) -> BleuCounts:
        """One row a candidate."""
        from tellapart.text._numba import in_threads
        from tellapart.text.overlap.kernels_bleu import match_sets

        grams, lengths = sets.ngrams(n), sets.sentences.lengths
        matched = np.empty((len(sets), n), np.int64)
        closest = np.empty(len(sets), np.int64)
        in_threads(
            lambda a, b: match_sets(
                grams.ids, grams.counts, grams.starts, sets.starts, lengths, n, matched, closest,
                a, b,
            ),
            len(sets),
        )  # fmt: skip
        return cls(matched, np.maximum(0, lengths[: len(sets), None] - np.arange(n)), closest)

    def summed(self) -> BleuCounts:
        """One row for all."""
        return BleuCounts(
            self.matched.sum(0)[None], self.totals.sum(0)[None], self.closest.sum()[None]
        )

    def scores(
        self, smoothing: str | Smoothing, *, brevity: bool = True, effective_order: bool = False
    ) -> Floats:
        """BLEU-1 to BLEU-n of each row, shape (n, rows)."""
        from tellapart.text._numba import in_threads
        from tellapart.text.overlap.kernels_bleu import score_rows

        rule = smoothing_of(smoothing)
        rules = (rule.kind, rule.value, brevity, effective_order)
        scores = np.empty((self.matched.shape[1], len(self.matched)))
        in_threads(
            lambda a, b: score_rows(self.matched, self.totals, self.closest, rules, scores, a, b),
            len(self.matched),
        )
        return scores


def bleu(
    sets: ReferenceSets,
    n: int = 4,
    *,
    brevity: bool = True,
    smoothing: str | Smoothing = "none",
    effective_order: bool = False,
) -> Bleu:
    """BLEU-1 to BLEU-n of each candidate and of all together.

    `effective_order` leaves out n-grams that are longer than the candidate (sacrebleu's default
    for sentences); else their precision is zero. The smoothings `coco` and `add-one` have a
    precision for them and leave none out.

    >>> sets = ReferenceSets.of(["a dog runs fast"], [["a dog runs", "the dog runs fast"]])
    >>> [round(score, 3) for score in bleu(sets).corpus]
    [1.0, 1.0, 1.0, 0.0]
    """
    counts = BleuCounts.of(sets, n)
    whole = counts.summed()
    how = {"brevity": brevity, "effective_order": effective_order}
    return Bleu(
        corpus=tuple(float(score) for score in whole.scores(smoothing, **how)[:, 0]),
        sentences=counts.scores(smoothing, **how),
        candidate_length=int(whole.totals[0, 0]),
        reference_length=int(whole.closest[0]),
    )

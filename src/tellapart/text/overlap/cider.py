"""CIDEr and CIDEr-D: tf-idf weighted n-grams shared with the references (Vedantam et al. 2015)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tellapart.text.overlap.counts import NGramCounts
from tellapart.text.overlap.document_frequencies import DocumentFrequencies
from tellapart.text.overlap.references import ReferenceSets, Scores

Floats = npt.NDArray[np.float64]

SIGMA, SCALE = 6.0, 10.0
"""How fast CIDEr-D falls as lengths differ, in words; what it is multiplied by."""


def cider_d(
    sets: ReferenceSets,
    frequencies: DocumentFrequencies | None = None,
    *,
    n: int = 4,
    sigma: float = SIGMA,
    scale: float = SCALE,
) -> Scores:
    """CIDEr-D, which the COCO scripts call CIDEr (Vedantam et al. 2015).

    Without `frequencies` each candidate's references are one document. With a single document all
    weights are log 1 = 0, so that everything scores 0.

    >>> sets = ReferenceSets.of(["a dog runs", "a cat"], [["a dog runs"], ["the cat sits"]])
    >>> cider_d(sets).sentences.round(3).tolist()
    [7.5, 1.007]
    """
    return _scores(sets, frequencies, n, sigma, scale)


def cider(
    sets: ReferenceSets,
    frequencies: DocumentFrequencies | None = None,
    *,
    n: int = 4,
    scale: float = 1.0,
) -> Scores:
    """CIDEr as first published: cosines without clipping, penalty of length or factor of ten.

    Words are taken as they are given, where the paper maps them to stems first.
    """
    return _scores(sets, frequencies, n, 0.0, scale)


def _scores(
    sets: ReferenceSets,
    frequencies: DocumentFrequencies | None,
    n: int,
    sigma: float,
    scale: float,
) -> Scores:
    """CIDEr-D, or plain CIDEr where `sigma` is 0."""
    from tellapart.text._numba import in_threads
    from tellapart.text.overlap.kernels_cider import score_sets

    grams, lengths = sets.ngrams(n), sets.sentences.lengths
    if frequencies is None:
        frequencies = DocumentFrequencies.of_sets(sets, n)
    weights, norms = weighted(grams, frequencies.rarity(grams.index))
    scores = np.empty(len(sets))
    in_threads(
        lambda a, b: score_sets(
            grams.ids, weights, norms, grams.starts, sets.starts, lengths, sigma, scale, scores,
            a, b,
        ),
        len(sets),
    )  # fmt: skip
    return Scores.of(scores)


def weighted(grams: NGramCounts, rarity: Floats) -> tuple[Floats, Floats]:
    """The weight of each entry of `grams`, and the norms [sentence, length - 1] of its vectors."""
    from tellapart.text._numba import in_threads
    from tellapart.text.overlap.kernels_cider import weigh

    many, firsts = (len(grams.starts) - 1) // grams.n, grams.index.firsts
    weights, norms = np.empty(len(grams.ids)), np.empty((many, grams.n))
    in_threads(
        lambda a, b: weigh(
            grams.ids, grams.counts, grams.starts, rarity, firsts, weights, norms, a, b
        ),
        many,
    )
    return weights, norms

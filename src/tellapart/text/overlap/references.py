"""Candidates and the references that each is compared with, in one vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import numpy.typing as npt

from tellapart.errors import BadInput
from tellapart.text.overlap.counts import NGramCounts
from tellapart.text.overlap.sentences import Sentences, Starts, with_other_spaces


@dataclass(frozen=True, slots=True)
class ReferenceSets:
    """Sentence k is candidate k; its references are `range(starts[k], starts[k + 1])`.

    References lie after all candidates in `sentences`. In `spaced` only plain spaces part words:
    the COCO scripts take 1 1/2, which has a no-break space, as one word for ROUGE-L and as two for
    BLEU and CIDEr.
    """

    sentences: Sentences
    starts: Starts
    spaced: Sentences
    _counts: dict[int, NGramCounts] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> ReferenceSets:
        """One list of references, with one or more in it, for each candidate; all tokenised."""
        if len(candidates) != len(references):
            raise BadInput(
                f"{len(candidates):,} candidates but {len(references):,} lists of references",
                allowed="one list of references for each candidate",
            )
        starts = len(candidates) + set_starts(references)
        given = [*candidates, *chain.from_iterable(references)]
        sentences = spaced = Sentences.of(given)
        if odd := with_other_spaces(given):
            spaced = sentences.with_sentences(odd, [given[k].split(" ") for k in odd])
        return cls(sentences, starts, spaced)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def ngrams(self, n: int) -> NGramCounts:
        """How often each sentence has each n-gram of up to `n` words; counted once."""
        if n not in self._counts:
            self._counts[n] = NGramCounts.of(self.sentences, n)
        return self._counts[n]


def set_starts(references: Sequence[Sequence[str]]) -> Starts:
    """Where each list of references starts in all of them; raises for one that is empty."""
    for k, some in enumerate(references):
        if isinstance(some, str) or not len(some):
            what = "are one text" if isinstance(some, str) else "are missing"
            raise BadInput(
                f"the references of candidate {k} {what}", allowed="a list of one text or more"
            )
    sizes = np.fromiter(map(len, references), np.int64, len(references))
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


@dataclass(frozen=True, slots=True)
class Scores:
    """A score for each candidate, and their mean (0 where there are none)."""

    corpus: float
    sentences: npt.NDArray[np.float64]

    @classmethod
    def of(cls, sentences: npt.NDArray[np.float64]) -> Scores:
        """With the mean."""
        return cls(float(sentences.mean()) if len(sentences) else 0.0, sentences)

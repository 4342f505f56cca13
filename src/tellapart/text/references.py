"""Candidates and the references that each is compared with, in one vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from tellapart.errors import BadInput
from tellapart.text.ngram_counts import NGramCounts
from tellapart.text.sentences import Sentences, Starts


@dataclass(frozen=True, slots=True)
class ReferenceSets:
    """Sentence k is candidate k; its references are `range(starts[k], starts[k + 1])`.

    References lie after all candidates in `sentences`.
    """

    sentences: Sentences
    starts: Starts
    _counts: dict[int, NGramCounts] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> ReferenceSets:
        """One list of references, with one or more in it, for each candidate; all tokenised."""
        if len(candidates) != len(references):
            raise BadInput(
                f"{len(candidates):,} candidates but {len(references):,} lists of references",
                allowed="one list of references for each candidate",
            )
        many = np.fromiter(map(len, references), np.int64, len(references))
        if len(many) and not many.all():
            raise BadInput(f"candidate {int(many.argmin())} has no references", allowed="1 or more")
        starts = len(candidates) + np.concatenate([[0], np.cumsum(many)])
        return cls(Sentences.of([*candidates, *chain.from_iterable(references)]), starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def ngrams(self, n: int) -> NGramCounts:
        """How often each sentence has each n-gram of up to `n` words; counted once."""
        if n not in self._counts:
            self._counts[n] = NGramCounts.of(self.sentences, n)
        return self._counts[n]


@dataclass(frozen=True, slots=True)
class Scores:
    """A score for each candidate, and their mean."""

    corpus: float
    sentences: np.typing.NDArray[np.float64]

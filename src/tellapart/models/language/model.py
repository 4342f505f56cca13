"""Text-only models: a number for a sentence, whatever the picture.

They say what can be guessed without looking: how likely, plausible or grammatical a caption is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from tellapart.models.model import Facts, Floats
from tellapart.pictures import Picture


@runtime_checkable
class TextScorer(Protocol):
    """Scores sentences; higher is better."""

    @property
    def facts(self) -> Facts:
        """Name in full and fingerprints."""
        ...

    def score_texts(self, texts: Sequence[str]) -> Floats:
        """One score a text, shape (n,)."""
        ...


class TextOnly:
    """Makes a pair scorer of a text scorer: pictures are never opened.

    The engine's cache knows pairs by the bytes of their pictures, which need not be here: scores
    of texts are kept by `score.texts.score_texts` instead.
    """

    cacheable = False

    def score_texts(self, texts: Sequence[str]) -> Floats:
        """One score a text."""
        raise NotImplementedError

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats:
        """The score of each text, whatever it is paired with."""
        distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        scores = self.score_texts(list(distinct))
        return np.asarray(scores)[[distinct[text] for text in texts]]

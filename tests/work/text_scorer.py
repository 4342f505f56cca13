"""A model of texts whose scores depend on what is scored together, as sums of floats do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellapart.models.language import TextOnly
from tellapart.models.model import AnyFloats, ModelInfo


class Letters(TextOnly):
    """The longer a text among those of its batch, the less plausible."""

    def __init__(self) -> None:
        self.facts = ModelInfo("letters")

    def score_texts(self, texts: Sequence[str]) -> AnyFloats:
        longest = max(map(len, texts))
        return np.array([-len(text) / longest - text.count("e") / 100 for text in texts])

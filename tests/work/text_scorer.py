"""A model of texts whose scores depend on what is scored together, as sums of floats do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellapart.models.model import ModelInfo
from tellapart.types import Floats


class Letters:
    """The longer a text among those of its batch, the less plausible."""

    facts = ModelInfo("letters")

    def score_texts(self, texts: Sequence[str]) -> Floats:
        longest = max(map(len, texts))
        return np.array([-len(text) / longest - text.count("e") / 100 for text in texts])


letters = Letters()

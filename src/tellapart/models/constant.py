"""`constant`: the same answer to everything, to check ties and the order of options."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellapart.models.model import Asked, Floats, Reply
from tellapart.models.names import facts
from tellapart.pictures import Picture


class Constant:
    """Gives every cell the same score: ties on every item."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value
        self.facts = facts("constant", value=value)

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats:
        """The same number for every pair."""
        return np.full(len(texts), self.value)


class ConstantChooser:
    """Always picks the option that is shown first."""

    def __init__(self) -> None:
        self.facts = facts("constant-chooser")

    def choose(self, asked: Sequence[Asked]) -> list[Reply]:
        """Position 0, every time."""
        return [Reply(shown=0) for _ in asked]

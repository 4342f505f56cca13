"""`chance`: answers that depend on nothing but a hash, to check that theory is met."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellapart import seeds
from tellapart.models.model import Asked, Floats, Reply
from tellapart.models.names import facts
from tellapart.pictures import Picture


class Chance:
    """Scores every cell at random; the floor that any model must leave behind."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.facts = facts("chance", seed=seed)

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats:
        """One random number a pair, the same for the same pair."""
        pairs = zip(pictures, texts, strict=True)
        return np.array([seeds.unit("chance", self.seed, p.id, text) for p, text in pairs])


class ChanceChooser:
    """Answers every question at random, each on its own (as a person with eyes shut would)."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.facts = facts("chance-chooser", seed=seed)

    def choose(self, asked: Sequence[Asked]) -> list[Reply]:
        """One random option a question."""
        return [Reply(shown=self._pick(question)) for question in asked]

    def _pick(self, asked: Asked) -> int:
        path = (asked.item.content, asked.question.id, asked.trial)
        return int(seeds.unit("chooser", self.seed, *path) * len(asked.order))

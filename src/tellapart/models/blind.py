"""`blind`: an n-gram language model that never looks at the picture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tellapart import seeds
from tellapart.models.model import Floats, Shown
from tellapart.models.names import facts
from tellapart.pictures import Picture
from tellapart.text.language.ngrams import NGramModel
from tellapart.text.words import tokens

FOLDS = 5


class Blind:
    """Scores captions by their own likelihood, per word; never sees a picture.

    Language models are fitted on the captions of the benchmark at hand, right and wrong ones
    alike, so they know how captions are written there but not which are true. A caption is scored
    by a model that saw neither the items that share images with its own nor any of their captions
    elsewhere: else a model would know captions by heart, and the words that a caption and its near
    miss have in common would give the odd one away.
    """

    def __init__(self, order: int = 3) -> None:
        self.order = order
        self.facts = facts("blind", order=order)
        self._fold_of_image: dict[str, int] = {}
        self._models: list[NGramModel] = []
        self._known: dict[tuple[int, str], float] = {}

    def prepare(self, shown: Sequence[Shown]) -> None:
        """Fit one language model for each fold, on the captions of all other folds."""
        groups = sorted({one.group for one in shown})
        places = seeds.rng(0, "blind").permutation(len(groups)) % FOLDS
        fold_of_group = {group: int(k) for group, k in zip(groups, places, strict=True)}
        self._fold_of_image = {i: fold_of_group[s.group] for s in shown for i in s.images}
        self._known = {}
        by_fold: list[dict[str, None]] = [{} for _ in range(FOLDS)]
        for one in shown:
            by_fold[fold_of_group[one.group]] |= dict.fromkeys(one.captions)
        self._models = [
            NGramModel(map(tokens, _without(by_fold, fold)), self.order) for fold in range(FOLDS)
        ]

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats:
        """Mean log-probability of a word; the picture only says which model is fair."""
        return np.array([self._score(p.id, text) for p, text in zip(pictures, texts, strict=True)])

    def _score(self, image: str, text: str) -> float:
        key = (self._fold_of_image[image], text)
        if key not in self._known:
            # Rounded: captions of the same n-grams tie, whatever the order of summation.
            likelihood = self._models[key[0]].mean_log_probability(tokens(text))
            self._known[key] = round(likelihood, 9)
        return self._known[key]


def _without(by_fold: list[dict[str, None]], fold: int) -> list[str]:
    """The distinct captions of all folds that do not occur in one of them."""
    every = {text: None for texts in by_fold for text in texts}
    return [text for text in every if text not in by_fold[fold]]

"""Trained systems with their own procedures for FOIL's tasks (Shekhar et al. 2017, section 4.1).

A classifier decides T1 by its own softmax, and T3 by a linear model over target words. A captioner
that proposes words decides T1 by whether a proposal makes the caption more likely, and T2 by which
proposal makes it most likely.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tellapart import seeds
from tellapart.image_features.source import FeatureSource
from tellapart.models.model import AnyFloats, Span
from tellapart.models.trained import TrainedCaptioner, TrainedScorer, read_card
from tellapart.pictures import Picture
from tellapart.text.tokens import spans
from tellapart.types import Floats

NO_OBJECTION = -1e6
"""The score of a word that the captioner itself proposes in its position."""


class TrainedClassifier(TrainedScorer):
    """A classifier of captions: a score is the log-odds of "correct", and it decides at 0."""

    def __init__(self, folder: Path, name: str, system: Any, source: FeatureSource, device: str):
        super().__init__(folder, name, system, source, device)
        self.facts = replace(self.facts, threshold=float(system.threshold))


class MendingClassifier(TrainedClassifier):
    """A classifier that has learned which words correct captions."""

    def __init__(self, folder: Path, name: str, system: Any, source: FeatureSource, device: str):
        from tellapart.models.zoo.foil.mender import MENDER, load_mender

        super().__init__(folder, name, system, source, device)
        words = tuple(read_card(folder).trained["mending"]["words"])
        self.mender = load_mender(folder / MENDER, words)
        weights = seeds.digest(self.facts.weights, self.mender.fingerprint)
        self.facts = replace(self.facts, weights=weights)

    def mend_words(
        self,
        pictures: Sequence[Picture],
        texts: Sequence[str],
        places: Sequence[Span],
        words: Sequence[str],
    ) -> AnyFloats:
        """The log-probability that words[k] corrects text k, with places[k] masked.

        A caption is read once for all its candidate words.
        """
        import torch

        encode = self.system.vocabulary.encode_masked
        asked = list(zip(((one.image, one.root) for one in pictures), texts, places, strict=True))
        first = {key: k for k, key in reversed(list(enumerate(asked)))}
        order = {key: row for row, key in enumerate(first)}
        masked = [encode(text, *place) for _, text, place in first]
        with torch.inference_mode():
            codes = self._codes([pictures[k] for k in first.values()], masked)
            vectors = self.system.joint(*codes).cpu()[[order[key] for key in asked]]
            found = self.mender.scores(vectors, list(words))
        return np.asarray(found.numpy())


class TrainedProposer(TrainedCaptioner):
    """A captioner that proposes a word for a position."""

    def judge_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> AnyFloats:
        """Above 0 if none of its proposals makes the caption more likely."""
        import torch

        with torch.inference_mode():
            found = self.system.margins(*self._codes(pictures, self._words(texts)))
        return np.asarray(found.cpu().numpy())

    def replace_words(
        self, pictures: Sequence[Picture], texts: Sequence[str], places: Sequence[Span]
    ) -> AnyFloats:
        """The log-likelihood of text k with its proposals at places[k]."""
        import torch

        at = [words_within(text, place) for text, place in zip(texts, places, strict=True)]
        with torch.inference_mode():
            codes = self._codes(pictures, self._words(texts))
            found: Floats = self.system.replaced(*codes, at).cpu().numpy()
        return np.where(np.isinf(found), NO_OBJECTION, found)


def words_within(text: str, place: Span) -> list[int]:
    """The indices of a text's words that lie in a span.

    >>> words_within("A fire hydrant stands.", (2, 14))
    [1, 2]
    """
    start, end = place
    return [k for k, (begin, stop, _) in enumerate(spans(text)) if begin < end and stop > start]

"""A verifier: a model that says whether a caption is true of an image."""

from __future__ import annotations

from tellapart.corpus.corpus import Corpus
from tellapart.models.model import PairScorer
from tellapart.models.names import load


class Verifier:
    """Answers "is this caption true of this image?"; without a model the answer is unknown."""

    def __init__(self, corpus: Corpus | None, name: str = "") -> None:
        self.name = name
        self._corpus = corpus
        self._model: PairScorer | None = load(name) if name and corpus else None
        self._known: dict[tuple[str, str], bool] = {}

    def may_be_false(self, image: str, caption: str) -> bool:
        """False only if the verifier says that the caption is true."""
        return self._model is None or not self._is_true(self._model, image, caption)

    def may_fit(self, image: str, caption: str) -> bool:
        """False only if the verifier says that the caption is false."""
        return self._model is None or self._is_true(self._model, image, caption)

    def may_differ(self, image: str, original: str, negative: str) -> bool:
        """Whether the first of two captions of an image may be true and the second false."""
        return self.may_fit(image, original) and self.may_be_false(image, negative)

    def _is_true(self, model: PairScorer, image: str, caption: str) -> bool:
        key = (image, caption)
        if key not in self._known:
            assert self._corpus is not None  # there is no model without a corpus
            score = model.score_pairs([self._corpus.picture(image)], [caption])[0]
            self._known[key] = bool(score > 0.5)
        return self._known[key]

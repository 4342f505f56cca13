"""The three small protocols of models.

A dual encoder embeds pictures and texts, a pair scorer scores (picture, text) pairs, a chooser
answers questions. A pair scorer may have its own procedures for FOIL's tasks (`PairJudge`,
`WordReplacer`, `WordMender`). A model gets one batch at a time: the engine sends each distinct
input once, batches texts of similar length and caches the results. A model may also define
`prepare(shown)`, called once for each benchmark before anything is scored, and `usage`, its
consumption so far by name (requests, tokens), which `evaluate` prints and stores with the run's
timings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from tellapart.items import Item
from tellapart.pictures import Picture
from tellapart.questions import Question
from tellapart.seeds import digest
from tellapart.types import Floats32, Progress

AnyFloats = npt.NDArray[np.floating[Any]]
"""What models may return: numbers of any precision."""
NO_ROWS: Floats32 = np.empty((0, 0), np.float32)
"""Embeddings of an empty list."""
CACHE_FORMAT = 1
"""The version of cached rows; increase it when their meaning changes, to drop old ones."""
ModelKind = Literal["scorer", "chooser"]
"""Scorers give numbers to cells; choosers pick options. The chance level depends on the kind."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a run records about a model, so that its answers can be reproduced.

    `threshold` belongs to a model that decides by itself, such as a classifier: it calls a caption
    true if its score is above (0.5 for a probability, 0 for log-odds). None for a model that only
    ranks.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    weights: str = ""
    preprocessing: str = ""
    dtype: str = "float64"
    threshold: float | None = None

    @property
    def fingerprint(self) -> str:
        """The hash of everything a score depends on besides its inputs."""
        parts = (self.name, self.weights, self.preprocessing, self.dtype)
        return digest("cache", CACHE_FORMAT, *parts)


class Model(Protocol):
    """The part of the protocol that all models share."""

    @property
    def facts(self) -> ModelInfo:
        """The full name (enough to rebuild the model) and fingerprints."""
        ...


class NamedModel:
    """A model that prints as the name that rebuilds it."""

    facts: ModelInfo

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.facts.name}>"


@runtime_checkable
class DualEncoder(Model, Protocol):
    """Embeds both sides; a score is the inner product of two rows."""

    def embed_images(self, pictures: Sequence[Picture]) -> AnyFloats:
        """One row per picture, shape (n, d)."""
        ...

    def embed_texts(self, texts: Sequence[str]) -> AnyFloats:
        """One row per text, shape (n, d)."""
        ...


@runtime_checkable
class PairScorer(Model, Protocol):
    """Scores pairs; higher means that the text fits the picture better."""

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> AnyFloats:
        """One score per pair, shape (n,)."""
        ...


@runtime_checkable
class GridScorer(PairScorer, Protocol):
    """Scores whole grids; it encodes each side once, so that millions of pairs are feasible."""

    def score_grid(
        self, pictures: Sequence[Picture], texts: Sequence[str], progress: Progress
    ) -> AnyFloats:
        """The score of every picture with every text, shape (n, m); `progress` counts pairs."""
        ...


Span = tuple[int, int]
"""A span of a text: text[start:end]."""


@runtime_checkable
class PairJudge(PairScorer, Protocol):
    """A scorer that decides by other means than its score if a caption is right (FOIL's T1)."""

    def judge_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> AnyFloats:
        """One number per pair, shape (n,): above 0 the text is right."""
        ...


@runtime_checkable
class WordReplacer(PairScorer, Protocol):
    """A scorer that proposes replacements for words (FOIL's T2)."""

    def replace_words(
        self, pictures: Sequence[Picture], texts: Sequence[str], places: Sequence[Span]
    ) -> AnyFloats:
        """The score of text k with the model's own proposal at places[k], shape (n,)."""
        ...


@runtime_checkable
class WordMender(PairScorer, Protocol):
    """A scorer that has learned which word corrects a caption (FOIL's T3)."""

    def mend_words(
        self,
        pictures: Sequence[Picture],
        texts: Sequence[str],
        places: Sequence[Span],
        words: Sequence[str],
    ) -> AnyFloats:
        """How well words[k] would fit at places[k] of text k, shape (n,)."""
        ...


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """A question as a chooser sees it: the options in the order in which they are shown."""

    question: Question
    pictures: tuple[Picture, ...]
    order: tuple[int, ...]
    trial: int

    @property
    def item(self) -> Item:
        """The item that the question is about."""
        return self.question.item


@dataclass(frozen=True, slots=True)
class ChooserReply:
    """A chooser's answer: a position among the options as shown, or why there is none."""

    shown: int | None
    text: str = ""
    failure: str = ""


@runtime_checkable
class Chooser(Model, Protocol):
    """Answers questions by choosing options."""

    def choose(self, asked: Sequence[ShownQuestion]) -> list[ChooserReply]:
        """One reply per question."""
        ...


@dataclass(frozen=True, slots=True)
class ShownItem:
    """What an item shows, without its truth; `group` is its cluster of shared images."""

    images: tuple[str, ...]
    captions: tuple[str, ...]
    group: str


def kind_of(model: object) -> ModelKind:
    """Whether a model scores or chooses."""
    if isinstance(model, Chooser):
        return "chooser"
    if isinstance(model, DualEncoder | PairScorer):
        return "scorer"
    raise TypeError(f"{model!r} is neither a dual encoder, a pair scorer nor a chooser")


def is_cacheable(model: Any) -> bool:
    """Whether rows outlive the job: the weights are known, or the model sets `cacheable`.

    A model that is fitted to each benchmark (it has `prepare`) must set it explicitly.
    """
    known = bool(model.facts.weights) and not hasattr(model, "prepare")
    return bool(getattr(model, "cacheable", known))

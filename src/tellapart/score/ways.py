"""Models' own procedures for FOIL's tasks, as texts that carry the question.

The plan knows only texts; a text that is scored by a model's own procedure carries its name, so
that batches, the cache and resumed jobs treat it like any other text.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Self

import numpy as np

from tellapart.models.model import (
    AnyFloats,
    DualEncoder,
    PairJudge,
    Span,
    WordMender,
    WordReplacer,
)
from tellapart.pictures import Picture

BETWEEN = "\x1f"
"""The unit separator, between a text and what is asked about it."""


class OwnWay(StrEnum):
    """Tasks that a model may answer by a procedure of its own.

    `judge`: say whether a caption is right (T1); `replace`: replace words by preferred ones (T2);
    `mend`: say how well a word fits the slot (T3).
    """

    JUDGE = "judge"
    REPLACE = "replace"
    MEND = "mend"


def ways_of(model: object) -> frozenset[OwnWay]:
    """The procedures of its own that a model has."""
    if isinstance(model, DualEncoder):
        return frozenset()
    able = {
        OwnWay.JUDGE: isinstance(model, PairJudge),
        OwnWay.REPLACE: isinstance(model, WordReplacer),
        OwnWay.MEND: isinstance(model, WordMender),
    }
    return frozenset(way for way, can in able.items() if can)


class AskedText(str):
    """A text to score by a model's own procedure, with a position in it and a word.

    As a string it has all of these after the text, so that its hash is distinct.
    """

    way: OwnWay
    text: str
    place: Span
    word: str

    def __new__(cls, way: OwnWay, text: str, place: Span = (0, 0), word: str = "") -> Self:
        """The text, with what is asked about it."""
        made = super().__new__(cls, BETWEEN.join((text, way, f"{place[0]}:{place[1]}", word)))
        made.way, made.text, made.place, made.word = way, text, place, word
        return made


def score_asked(model: Any, pictures: Sequence[Picture], texts: Sequence[str]) -> AnyFloats:
    """One number per pair: the model's score, or the result of its own procedure."""
    ways = np.array([text.way if isinstance(text, AskedText) else "" for text in texts])
    if not ways.any():
        plain: AnyFloats = model.score_pairs(pictures, texts)
        return plain
    found = np.empty(len(texts))
    for way in np.unique(ways).tolist():
        places = np.flatnonzero(ways == way).tolist()
        some = [texts[k] for k in places]
        found[places] = _in_one_way(model, way, [pictures[k] for k in places], some)
    return found


def _in_one_way(model: Any, way: str, pictures: list[Picture], texts: list[Any]) -> AnyFloats:
    if not way:
        plain: AnyFloats = model.score_pairs(pictures, texts)
        return plain
    said = [text.text for text in texts]
    found: AnyFloats
    if way == OwnWay.JUDGE:
        found = model.judge_pairs(pictures, said)
        return found
    places = [text.place for text in texts]
    if way == OwnWay.REPLACE:
        found = model.replace_words(pictures, said, places)
        return found
    found = model.mend_words(pictures, said, places, [text.word for text in texts])
    return found

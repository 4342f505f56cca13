"""Ways of their own in which models answer FOIL's tasks, as texts that say what is asked.

The plan knows texts; a text that is asked about in a model's own way carries that way with it, so
that batches, the cache and jobs that go on after a kill treat it as any other.
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
"""Unit separator: stands between a text and what is asked of it."""


class OwnWay(StrEnum):
    """What a model may do in its own way.

    `judge`: say whether a caption is right (T1); `replace`: put the words that it would rather have
    (T2); `mend`: say how well a word would stand in the slot (T3).
    """

    JUDGE = "judge"
    REPLACE = "replace"
    MEND = "mend"


def ways_of(model: object) -> frozenset[OwnWay]:
    """The ways of its own that a model has."""
    if isinstance(model, DualEncoder):
        return frozenset()
    able = {
        OwnWay.JUDGE: isinstance(model, PairJudge),
        OwnWay.REPLACE: isinstance(model, WordReplacer),
        OwnWay.MEND: isinstance(model, WordMender),
    }
    return frozenset(way for way, can in able.items() if can)


class AskedText(str):
    """A text that is asked about in a model's own way, at a place of it, with a word.

    As a string it has all of that behind the text, so that its hash is its own.
    """

    way: OwnWay
    text: str
    place: Span
    word: str

    def __new__(cls, way: OwnWay, text: str, place: Span = (0, 0), word: str = "") -> Self:
        """The text, with what is asked of it."""
        made = super().__new__(cls, BETWEEN.join((text, way, f"{place[0]}:{place[1]}", word)))
        made.way, made.text, made.place, made.word = way, text, place, word
        return made


def score_asked(model: Any, pictures: Sequence[Picture], texts: Sequence[str]) -> AnyFloats:
    """One number a pair: the model's score, or what it says in its own way."""
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

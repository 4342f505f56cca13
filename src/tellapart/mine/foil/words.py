"""Captions as columns of words: what finding, judging and scoring foils all read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellapart.text.parsing.parsed import Ints

WORD = re.compile(r"\w+(?:-\w+)*|[^\w\s]")
"""A word, whole where hyphens join it, or a mark by itself (so that cat's begins with cat)."""


@dataclass(frozen=True, slots=True)
class Words:
    """The words of n texts, one after the other; text k has the rows starts[k] to starts[k + 1].

    `word` are places in `vocabulary`, which has each word in lower case; `begin` and `end` are
    where it stands in its text.
    """

    texts: Sequence[str]
    starts: Ints
    begin: Ints
    end: Ints
    word: Ints
    vocabulary: dict[str, int]

    @property
    def owner(self) -> Ints:
        """For each word the text that it is in."""
        return np.repeat(np.arange(len(self.texts)), np.diff(self.starts))

    def ids(self, phrase: str) -> list[int] | None:
        """The words of a phrase, or None where one of them is in no text."""
        found = [self.vocabulary.get(match.group().lower(), -1) for match in WORD.finditer(phrase)]
        return found if found and min(found) >= 0 else None

    def places_of(self, phrase: str) -> Ints:
        """Where a phrase begins, within one text."""
        ids = self.ids(phrase)
        if ids is None:
            return np.empty(0, np.int64)
        first = np.flatnonzero(self.word[: len(self.word) - len(ids) + 1] == ids[0])
        for ahead, one in enumerate(ids[1:], 1):
            first = first[self.word[first + ahead] == one]
        last = first + len(ids) - 1
        text = np.searchsorted(self.starts, first, side="right")
        found: Ints = first[text == np.searchsorted(self.starts, last, side="right")]
        return found


def words_of(texts: Sequence[str]) -> Words:
    """Take texts apart."""
    vocabulary: dict[str, int] = {}
    starts, begin, end, word = [0], [], [], []
    for text in texts:
        for match in WORD.finditer(text):
            begin.append(match.start())
            end.append(match.end())
            word.append(vocabulary.setdefault(match.group().lower(), len(vocabulary)))
        starts.append(len(begin))
    return Words(
        texts,
        np.array(starts, np.int64),
        np.array(begin, np.int32),
        np.array(end, np.int32),
        np.array(word, np.int32),
        vocabulary,
    )

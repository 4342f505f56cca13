"""Sentences as numbers: each distinct word has an id, all sentences lie in one array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]
Starts = npt.NDArray[np.int64]


class _Interning(dict[str, int]):
    """Words and their ids; a word that is new gets the next one."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentence k is `ids[starts[k]:starts[k + 1]]`; `words[id]` is the word."""

    ids: Ids
    starts: Starts
    words: tuple[str, ...]

    @classmethod
    def of(cls, tokenised: Sequence[str]) -> Sentences:
        """Sentences given as their tokens with spaces between.

        >>> found = Sentences.of(["a dog and a cat", "", "a cat"])
        >>> found.ids.tolist(), found.starts.tolist()
        ([0, 1, 2, 0, 3, 0, 3], [0, 5, 5, 7])
        """
        flat: list[str] = []
        starts = np.zeros(len(tokenised) + 1, np.int64)
        for k, sentence in enumerate(tokenised, 1):
            flat += sentence.split()
            starts[k] = len(flat)
        known = _Interning()
        ids = np.fromiter(map(known.__getitem__, flat), np.int32, len(flat))
        return cls(ids, starts, tuple(known))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Starts:
        """How many words each sentence has."""
        return np.diff(self.starts)

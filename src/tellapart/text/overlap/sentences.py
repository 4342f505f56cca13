"""Sentences as numbers: each distinct word has an id, all sentences lie in one array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellapart.errors import BadInput

Ids = npt.NDArray[np.int32]
Starts = npt.NDArray[np.int64]

WIDE_SPACES = "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a" \
    "\u2028\u2029\u202f\u205f\u3000"  # fmt: skip
"""What `str.split` parts words at beside the ASCII spaces."""
NARROW_SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f"


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentence k is `ids[starts[k]:starts[k + 1]]`; `words[id]` is the word.

    Ids are given in the order in which words first come up.
    """

    ids: Ids
    starts: Starts
    words: tuple[str, ...]

    @classmethod
    def of(cls, tokenised: Sequence[str]) -> Sentences:
        """Sentences given as their tokens with spaces between; parted where `str.split()` does.

        >>> found = Sentences.of(["a dog and a cat", "", "a cat"])
        >>> found.ids.tolist(), found.starts.tolist()
        ([0, 1, 2, 0, 3, 0, 3], [0, 5, 5, 7])
        """
        from tellapart.text.overlap.kernels_sentences import intern_words

        if not tokenised:
            return cls(np.empty(0, np.int32), np.zeros(1, np.int64), ())
        data = _joined(tokenised).encode("utf-8", "surrogatepass")
        ids, starts, firsts, lengths = intern_words(np.frombuffer(data, np.uint8), len(tokenised))
        ends = (firsts + lengths).tolist()
        words = tuple(
            data[first:end].decode("utf-8", "surrogatepass")
            for first, end in zip(firsts.tolist(), ends, strict=True)
        )
        return cls(ids, starts, words)

    def with_sentences(self, places: Sequence[int], words: Sequence[Sequence[str]]) -> Sentences:
        """The same but for the sentences at some places, in order, which get other words."""
        known = {word: k for k, word in enumerate(self.words)}
        pieces, lengths, at = [], self.lengths, 0
        for place, given in zip(places, words, strict=True):
            pieces.append(self.ids[at : self.starts[place]])
            pieces.append(np.array([known.setdefault(w, len(known)) for w in given], np.int32))
            at, lengths[place] = self.starts[place + 1], len(given)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return Sentences(np.concatenate([*pieces, self.ids[at:]]), starts, tuple(known))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Starts:
        """How many words each sentence has."""
        return np.diff(self.starts)


def _joined(tokenised: Sequence[str]) -> str:
    """All sentences, one on each line, with no other wide spaces than plain ones."""
    try:
        text = "\n".join(tokenised)
    except TypeError:
        k, bad = next((k, s) for k, s in enumerate(tokenised) if not isinstance(s, str))
        raise BadInput(
            f"sentence {k} is no text: {bad!r:.60}", allowed="tokens with spaces between"
        ) from None
    if text.count("\n") != len(tokenised) - 1:
        text = "\n".join(sentence.replace("\n", " ") for sentence in tokenised)
    if not text.isascii():
        for space in WIDE_SPACES:
            text = text.replace(space, " ")
    return text


def with_other_spaces(tokenised: Sequence[str]) -> list[int]:
    """The sentences that have other spaces than plain ones, as `ptb_tokenise` has in 1 1/2."""
    text = " ".join(tokenised)
    found = []
    for space in NARROW_SPACES if text.isascii() else NARROW_SPACES + WIDE_SPACES:
        at = text.find(space)
        while at >= 0:
            found.append(at)
            at = text.find(space, at + 1)
    if not found:
        return []
    ends = np.cumsum([len(sentence) + 1 for sentence in tokenised])
    places: list[int] = np.unique(np.searchsorted(ends, found, side="right")).tolist()
    return places

"""Sentences as numbers: each distinct word has an id, and all sentences are in one array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellapart.errors import BadInput
from tellapart.text._numba import Array, kernel
from tellapart.types import Ints, Ints32

WIDE_SPACES = "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a" \
    "\u2028\u2029\u202f\u205f\u3000"  # fmt: skip
"""The characters besides ASCII spaces at which `str.split` splits."""
NARROW_SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f"
FIRST_ROOM = 1 << 14
"""The initial size of the table of words: about as many as a benchmark's captions have."""


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentence k is `ids[starts[k]:starts[k + 1]]`; `words[id]` is the word.

    Ids follow the order in which words first occur.
    """

    ids: Ints32
    starts: Ints
    words: tuple[str, ...]

    @classmethod
    def of(cls, tokenised: Sequence[str]) -> Sentences:
        """From sentences as tokens separated by spaces; they are split as by `str.split()`.

        >>> sentences = Sentences.of(["a dog and a cat", "", "a cat"])
        >>> sentences.ids.tolist(), sentences.starts.tolist()
        ([0, 1, 2, 0, 3, 0, 3], [0, 5, 5, 7])
        """
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
        """The same, with other words in the sentences at some positions (in order)."""
        known = {word: k for k, word in enumerate(self.words)}
        pieces, lengths, at = [], self.lengths, 0
        for place, sentence in zip(places, words, strict=True):
            pieces.append(self.ids[at : self.starts[place]])
            pieces.append(np.array([known.setdefault(w, len(known)) for w in sentence], np.int32))
            at, lengths[place] = self.starts[place + 1], len(sentence)
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        return Sentences(np.concatenate([*pieces, self.ids[at:]]), starts, tuple(known))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> Ints:
        """How many words each sentence has."""
        return np.diff(self.starts)


def _joined(tokenised: Sequence[str]) -> str:
    """All sentences, one per line, with plain spaces only."""
    try:
        text = "\n".join(tokenised)
    except TypeError:
        k, bad = next((k, s) for k, s in enumerate(tokenised) if not isinstance(s, str))
        raise BadInput(
            f"sentence {k} is not text: {bad!r:.60}", allowed="tokens separated by spaces"
        ) from None
    if text.count("\n") != len(tokenised) - 1:
        text = "\n".join(sentence.replace("\n", " ") for sentence in tokenised)
    if not text.isascii():
        for space in WIDE_SPACES:
            text = text.replace(space, " ")
    return text


def with_other_spaces(tokenised: Sequence[str]) -> list[int]:
    """The sentences with other than plain spaces, as `ptb_tokenise` writes in 1 1/2."""
    text = " ".join(tokenised)
    offsets = []
    for space in NARROW_SPACES if text.isascii() else NARROW_SPACES + WIDE_SPACES:
        at = text.find(space)
        while at >= 0:
            offsets.append(at)
            at = text.find(space, at + 1)
    if not offsets:
        return []
    ends = np.cumsum([len(sentence) + 1 for sentence in tokenised])
    places: list[int] = np.unique(np.searchsorted(ends, offsets, side="right")).tolist()
    return places


# Words are read from the bytes of one long text: every n-gram metric begins with this, and
# splitting and looking up strings in Python would take longer than all the rest.


@kernel
def word_bytes() -> Array:
    """Which bytes are part of words: all but those at which `str.split` splits."""
    inside = np.ones(256, np.bool_)
    inside[9:14] = False
    inside[28:33] = False
    return inside


@kernel
def same(text: Array, a: int, b: int, length: int) -> bool:
    """Whether two spans of a text are equal."""
    k = 0
    while k < length and text[a + k] == text[b + k]:
        k += 1
    return k == length


@kernel
def rehashed(hashes: Array, known: int, room: int) -> Array:
    """A table of `room` slots with the known words."""
    table = np.full(room, -1, np.int32)
    for word in range(known):
        at = np.int64(hashes[word]) & (room - 1)
        while table[at] >= 0:
            at = (at + 1) & (room - 1)
        table[at] = word
    return table


@kernel
def intern_words(text: Array, sentences: int) -> tuple[Array, Array, Array, Array]:
    """Ids of words in a text (UTF-8) with one sentence per line, and where sentences start.

    Also where each distinct word first occurs, and its length. Words of equal hash are compared
    byte by byte, so that ids are exact.
    """
    ids = np.empty((text.size + 1) // 2, np.int32)
    starts = np.zeros(sentences + 1, np.int64)
    table = np.full(FIRST_ROOM, -1, np.int32)
    hashes = np.empty(FIRST_ROOM, np.uint32)
    firsts, lengths = np.empty(FIRST_ROOM, np.int64), np.empty(FIRST_ROOM, np.int64)
    inside = word_bytes()
    known, size, line, at = 0, 0, 0, 0
    while at < text.size:
        if not inside[text[at]]:
            if text[at] == 10:
                line += 1
                starts[line] = size
            at += 1
            continue
        # FNV-1a: its multiplications leave the lowest bits weak, and those choose the slot, so
        # higher bits are mixed in at the end
        begin, mixed = at, np.uint32(2166136261)
        while at < text.size and inside[text[at]]:
            mixed = np.uint32((mixed ^ np.uint32(text[at])) * np.uint32(16777619))
            at += 1
        mixed = np.uint32(mixed ^ (mixed >> np.uint32(15)))
        length = at - begin
        place = np.int64(mixed) & (table.size - 1)
        while table[place] >= 0:
            word = table[place]
            if (
                hashes[word] == mixed
                and lengths[word] == length
                and same(text, firsts[word], begin, length)
            ):
                break
            place = (place + 1) & (table.size - 1)
        if table[place] >= 0:
            ids[size] = table[place]
        else:
            ids[size] = table[place] = known
            hashes[known], firsts[known], lengths[known] = mixed, begin, length
            known += 1
            if 2 * known > table.size:  # fuller tables have long probe sequences
                table = rehashed(hashes, known, 2 * table.size)
                hashes = np.concatenate((hashes, np.empty_like(hashes)))
                firsts = np.concatenate((firsts, np.empty_like(firsts)))
                lengths = np.concatenate((lengths, np.empty_like(lengths)))
        size += 1
    starts[sentences] = size
    return ids[:size].copy(), starts, firsts[:known].copy(), lengths[:known].copy()

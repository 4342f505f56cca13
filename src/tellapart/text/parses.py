"""Parses of texts: columns with one row per token, and a light view of one text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, overload

import numpy as np

from tellapart.types import AnyInts, Bools

BLOCK = 4096
"""How many texts' views are made together: numbers leave numpy in bulk, not one by one."""


PLACES = ("begin", "end", "head", "chunk")
CODED = {"lemma": "lemmas", "pos": "poses", "tag": "tags", "dep": "deps"}
"""Columns of codes, and the tables that decode them."""


class Token(NamedTuple):
    """A token: text[begin:end]. `place` is its index; `head` its head's index, its own for a root.

    `chunk` is the index of the root of its noun phrase (spaCy's noun chunks, without modifiers that
    follow), -1 outside one. White space beyond a single space is a token with the part of speech
    SPACE.
    """

    place: int
    text: str
    lemma: str
    pos: str
    tag: str
    dep: str
    head: int
    begin: int
    end: int
    chunk: int


@dataclass(frozen=True, slots=True)
class Parse:
    """One text and its tokens."""

    text: str
    tokens: tuple[Token, ...]

    def children(self, place: int) -> list[Token]:
        """The tokens whose head is this token, in order."""
        return [t for t in self.tokens if t.head == place and t.place != place]

    def head(self, place: int) -> Token:
        """The head of a token: itself for a root."""
        return self.tokens[self.tokens[place].head]

    def subtree(self, place: int) -> list[Token]:
        """A token and all its descendants, in order."""
        inside = {place}
        todo = [place]
        while todo:
            for child in self.children(todo.pop()):
                inside.add(child.place)
                todo.append(child.place)
        return [t for t in self.tokens if t.place in inside]

    def __len__(self) -> int:
        return len(self.tokens)

    def __iter__(self) -> Iterator[Token]:
        return iter(self.tokens)


@dataclass(frozen=True, slots=True)
class TokenColumns:
    """The tokens of n texts in sequence; text k has the rows starts[k] to starts[k + 1].

    `begin`, `end`, `head` and `chunk` are as in `Token` (int32); `lemma`, `pos`, `tag` and `dep`
    are indices into the tables `lemmas`, `poses`, `tags` and `deps`.
    """

    starts: AnyInts
    begin: AnyInts
    end: AnyInts
    head: AnyInts
    chunk: AnyInts
    lemma: AnyInts
    pos: AnyInts
    tag: AnyInts
    dep: AnyInts
    lemmas: tuple[str, ...]
    poses: tuple[str, ...]
    tags: tuple[str, ...]
    deps: tuple[str, ...]

    def to_arrays(self) -> dict[str, Any]:
        """As arrays only: tables of words become JSON in bytes."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in ("starts", *PLACES, *CODED)}
        for table in CODED.values():
            arrays[table] = np.frombuffer(json.dumps(getattr(self, table)).encode(), np.uint8)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> TokenColumns:
        """From the result of `to_arrays`."""
        parts: dict[str, Any] = {name: arrays[name] for name in ("starts", *PLACES, *CODED)}
        for table in CODED.values():
            parts[table] = tuple(json.loads(arrays[table].tobytes()))
        return cls(**parts)


@dataclass(frozen=True, slots=True)
class Parses(Sequence[Parse]):
    """Texts with their tokens; `parses[k]` is the view of one text, columns are for fast code."""

    texts: Sequence[str]
    columns: TokenColumns

    def __len__(self) -> int:
        return len(self.texts)

    @overload
    def __getitem__(self, k: int) -> Parse: ...
    @overload
    def __getitem__(self, k: slice) -> list[Parse]: ...

    def __getitem__(self, k: int | slice) -> Parse | list[Parse]:
        """The view of one text, or of several."""
        if isinstance(k, slice):
            return [self[j] for j in range(*k.indices(len(self)))]
        place = range(len(self))[k]
        return self._views(place, place + 1)[0]

    def __iter__(self) -> Iterator[Parse]:
        for first in range(0, len(self), BLOCK):
            yield from self._views(first, min(first + BLOCK, len(self)))

    def rows(self, rows: Sequence[int]) -> Parses:
        """The parses of some texts, in that order: views are made fastest in sequence."""
        columns, order = self.columns, np.array(rows, np.int64)
        lengths = np.diff(columns.starts)[order]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        moved = np.arange(starts[-1]) + np.repeat(columns.starts[order] - starts[:-1], lengths)
        named = {name: getattr(columns, name)[moved] for name in (*PLACES, *CODED)}
        return Parses([self.texts[row] for row in rows], replace(columns, starts=starts, **named))

    def has(self, column: str, *values: str) -> Bools:
        """Which rows have one of some values in a column: `parses.has("pos", "NOUN", "PROPN")`."""
        table = getattr(self.columns, CODED[column])
        wanted = np.array([one in values for one in table], np.bool_)
        rows: Bools = wanted[getattr(self.columns, column)]
        return rows

    def _views(self, first: int, last: int) -> list[Parse]:
        c = self.columns
        starts = c.starts[first : last + 1].tolist()
        base, rows = starts[0], slice(starts[0], starts[-1])
        begin, end, head, chunk = (getattr(c, name)[rows].tolist() for name in PLACES)
        lemma, pos, tag, dep = (
            [getattr(c, table)[code] for code in getattr(c, name)[rows].tolist()]
            for name, table in CODED.items()
        )
        parses = []
        for text, start, stop in zip(self.texts[first:last], starts, starts[1:], strict=False):
            tokens = tuple(
                Token(
                    place, text[begin[r] : end[r]], lemma[r], pos[r], tag[r], dep[r],
                    head[r], begin[r], end[r], chunk[r],
                )
                for place, r in enumerate(range(start - base, stop - base))
            )  # fmt: skip
            parses.append(Parse(text, tokens))
        return parses

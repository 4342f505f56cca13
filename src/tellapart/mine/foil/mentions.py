"""Where captions have category words: as they stand, with the rest of a long name around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from tellapart.mine.categories import Categories
from tellapart.mine.foil.words import Words
from tellapart.text.inflect import plural
from tellapart.text.parsing.parsed import Ints

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Mentions:
    """Category words in captions, one row each, in the order of the captions.

    `name` is the place in the table; `word` is the row of the category word among all words,
    `first` and `last` the rows of what a foil takes the place of.
    """

    caption: Ints
    name: Ints
    plural: Flags
    word: Ints
    first: Ints
    last: Ints

    def __len__(self) -> int:
        return len(self.caption)

    def keep(self, kept: Flags | Ints) -> Self:
        """Some of the rows."""
        columns = ("caption", "name", "plural", "word", "first", "last")
        return type(self)(*(getattr(self, column)[kept] for column in columns))

    def with_plural(self, several: Flags) -> Self:
        """The same mentions, in other numbers."""
        return replace(self, plural=several)


def plain_mentions(words: Words, table: Categories) -> Mentions:
    """Every place where a word of the table stands, in the form that the table has it in.

    So the paper's own foils were made: plurals, and what the word means there, were left alone.
    """
    name_of = np.full(len(words.vocabulary) + 1, -1, np.int32)
    for place, name in enumerate(table.names):
        name_of[words.vocabulary.get(name.word, -1)] = place
    name_of[-1] = -1
    return _mentions(words, name_of, np.zeros(len(name_of), np.bool_))


def mentions(words: Words, table: Categories) -> Mentions:
    """Category words in the singular and the plural, with long names whole.

    A word within another name (dog in hot dog) is none; of two names that overlap (microwave
    oven) the longer one counts.
    """
    name_of = np.full(len(words.vocabulary) + 1, -1, np.int32)
    several = np.zeros(len(words.vocabulary) + 1, np.bool_)
    for place, name in enumerate(table.names):
        for form, is_plural in ((name.plural, True), (name.word, False)):
            known = words.vocabulary.get(form, -1)
            name_of[known], several[known] = place, is_plural
    name_of[-1] = -1
    found = _mentions(words, name_of, several)
    first, last = found.first.copy(), found.last.copy()
    many, gone = found.plural.copy(), np.zeros(len(found), np.bool_)
    for place, form, is_plural in _long_forms(table):
        width = len(form.split())
        begin = _covered(found.word, words.places_of(form), width)
        mine = (begin >= 0) & (found.name == place)
        first[mine], last[mine] = begin[mine], begin[mine] + width - 1
        many[mine] = is_plural
        gone |= (begin >= 0) & (found.name != place)
    for form in {form for phrase in table.others for form in (phrase, plural(phrase))}:
        width = len(form.split())
        begin = _covered(found.word, words.places_of(form), width)
        gone |= (begin >= 0) & (last - first + 1 <= width)
    whole = Mentions(found.caption, found.name, many, found.word, first, last)
    return whole.keep(~gone)


def _long_forms(table: Categories) -> Iterator[tuple[int, str, bool]]:
    """Place, form and number of all long names, longer ones of a name last."""
    for place, name in enumerate(table.names):
        for phrase in sorted(name.long, key=len):
            yield place, phrase, False
            yield place, plural(phrase), True


def _mentions(words: Words, name_of: Ints, several: Flags) -> Mentions:
    rows = np.flatnonzero(name_of[words.word] >= 0)
    caption = np.searchsorted(words.starts, rows, side="right") - 1
    known = words.word[rows]
    return Mentions(caption, name_of[known], several[known], rows, rows, rows)


def _covered(rows: Ints, begins: Ints, width: int) -> Ints:
    """For each row the begin of the phrase of `width` words that it is in, -1 where in none."""
    if not len(begins):
        return np.full(len(rows), -1, np.int64)
    before = np.searchsorted(begins, rows, side="right") - 1
    start = begins[np.maximum(before, 0)]
    covered: Ints = np.where((before >= 0) & (rows < start + width), start, -1)
    return covered

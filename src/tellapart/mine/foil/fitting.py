"""Which foils fit a place, by what the corpus itself has there.

`coffee table` becomes no `coffee bed`, `a cup of tea` no `fork of tea`: a word that stands before a
mention must have been seen before the foil, unless it goes with all sorts of things.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart.mine.categories import Categories
from tellapart.mine.foil.judging import Place
from tellapart.mine.foil.mentions import Flags, Mentions
from tellapart.mine.foil.words import Words
from tellapart.text.parsing.parsed import Ints

SORTS = 3
"""An adjective that goes with words of so many supercategories goes with all."""
OF = 0.05
"""The share of a word's mentions with `of` behind it from which on it is a measure (cup of)."""


@dataclass(frozen=True, slots=True)
class Fitting:
    """What stands before and behind the mentions of a corpus."""

    before: Ints
    """For each mention the word before it (in the vocabulary), -1 at the start of a caption."""
    measured: Flags
    """Which mentions measure something: `of` stands behind a name that is a measure."""
    place: Ints
    seen: Flags
    """Whether a word (row) has been seen before a name (column)."""
    general: Flags
    """Which words go with all sorts of things."""
    measures: Flags
    """Which names are measures."""

    def fits(self, rows: slice) -> Flags:
        """For some mentions (rows of the result) which foils (columns) fit."""
        place, before = self.place[rows, None], self.before[rows]
        seen = self.seen[before] & (before >= 0)[:, None]
        modified = (place == Place.MODIFIED) & (seen | self.general[before, None])
        good: Flags = (place == Place.FREE) | modified | ((place == Place.BOUND) & seen)
        return good & (self.measures | ~self.measured[rows, None])


def fitting(found: Mentions, place: Ints, words: Words, table: Categories) -> Fitting:
    """Learn from the mentions of a corpus what fits where."""
    inside = found.first > words.starts[found.caption]
    before = np.where(inside, words.word[np.maximum(found.first - 1, 0)], -1)
    ahead = found.last + 1 < words.starts[found.caption + 1]
    behind = np.where(ahead, words.word[np.minimum(found.last + 1, len(words.word) - 1)], -1)
    with_of = behind == words.vocabulary.get("of", -2)
    seen = np.zeros((len(words.vocabulary) + 1, len(table.names)), np.bool_)
    seen[before, found.name] = True
    sorts = np.array([table.supercategories.index(name.supercategory) for name in table.names])
    number = np.zeros(len(seen), np.int32)
    for sort in range(len(table.supercategories)):
        number += seen[:, sorts == sort].any(axis=1)
    names = len(table.names)
    times = np.bincount(found.name, minlength=names)
    measures = np.bincount(found.name[with_of], minlength=names) >= np.maximum(2, OF * times)
    measured = with_of & measures[found.name]
    return Fitting(before, measured, place, seen, number >= SORTS, measures)

"""How a foil is put: as people write its category in this corpus, in the number that is wanted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tellapart.mine.categories import Categories, Name
from tellapart.mine.foil.mentions import Mentions
from tellapart.mine.foil.words import Words
from tellapart.text.inflect import plural

RARE = 3
"""Fewer mentions than that say nothing about how people write."""


@dataclass(frozen=True, slots=True)
class Forms:
    """For each name what stands for it in the singular and in the plural."""

    one: tuple[str, ...]
    several: tuple[str, ...]

    def of(self, name: int, *, several: bool) -> str:
        """The form of a name in a number."""
        return (self.several if several else self.one)[name]


def plain_forms(table: Categories) -> Forms:
    """The words as the table has them."""
    words = tuple(name.word for name in table.names)
    return Forms(words, words)


def usual_forms(found: Mentions, words: Words, table: Categories) -> Forms:
    """The commonest way to write each category: a phone is a cell phone, a tv a TV.

    So what is replaced and what replaces it are alike in length over all: a foil is not known by
    its being shorter.
    """
    counted: list[Counter[str]] = [Counter() for _ in table.names]
    first, last = words.begin[found.first].tolist(), words.end[found.last].tolist()
    inside = (found.first > words.starts[found.caption]).tolist()
    singular = (~found.plural).tolist()
    rows = zip(found.caption.tolist(), found.name.tolist(), first, last, strict=True)
    for row, (caption, name, begin, end) in enumerate(rows):
        if singular[row] and inside[row]:
            text = words.texts[caption]
            if not text.isupper():
                counted[name][text[begin:end]] += 1
    one = [
        name.one or _commonest(times) or _default(name)
        for name, times in zip(table.names, counted, strict=True)
    ]
    several = [name.several or plural(form) for name, form in zip(table.names, one, strict=True)]
    return Forms(tuple(one), tuple(several))


def _commonest(times: Counter[str]) -> str:
    """The form that occurs most; equal ones by the alphabet, rare ones never."""
    often = [form for form, number in times.items() if number >= RARE]
    return min(often, key=lambda form: (-times[form], form), default="")


def _default(name: Name) -> str:
    return name.category if name.category in name.long else name.word

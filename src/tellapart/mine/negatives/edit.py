"""What passes between the parts: a caption to edit, an edit, and the negative caption."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tellapart.text.english import article
from tellapart.text.parses import Parse

ARTICLE = re.compile(r"\b([Aa]n?)(\s+)$")


@dataclass(frozen=True, slots=True)
class SourceCaption:
    """A caption that is to be edited: whose it is, what it says, how it is built."""

    caption: str
    image: str
    text: str
    parse: Parse


class Change(NamedTuple):
    """text[start:end] gives way to `text`; with start == end something is added."""

    start: int
    end: int
    text: str


class Edit(NamedTuple):
    """Changes that belong together; `was` and `now` are what they are about.

    `weight` says how likely the edit is to be drawn among others for the same caption.
    """

    changes: tuple[Change, ...]
    was: str
    now: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Negative:
    """A caption that is false of its image, and the true one that it was made from.

    `was` and `now` are what the edit is about: the words replaced or exchanged, without articles
    that changed along with them. `notes` are the maker's own facts and go into the item's origin.
    """

    caption: str
    image: str
    kind: str
    original: str
    text: str
    was: str = ""
    now: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)


def changed(text: str, changes: Sequence[Change]) -> str:
    """The text after all changes, which must not overlap; a/an and the first capital stay right.

    >>> changed("A dog on an old bed.", [Change(2, 5, "owl"), Change(12, 16, "")])
    'An owl on a bed.'
    """
    first = next((k for k, letter in enumerate(text) if letter.isalpha()), 0)
    parts: list[str] = []
    done = 0
    for start, end, new in sorted(changes):
        before = text[done:start]
        behind = new or text[end:].lstrip()
        match = ARTICLE.search(before) if behind[:1].isalpha() else None
        if match:
            right = article(behind)
            right = right.capitalize() if match.group(1)[0] == "A" else right
            before = before[: match.start()] + right + match.group(2)
        parts += (before, new)
        done = end
    parts.append(text[done:])
    made = "".join(parts)
    if text[first : first + 1].isupper() and made[first : first + 1].islower():
        made = made[:first] + made[first].upper() + made[first + 1 :]
    return made


SAME = {
    "an": "a", "are": "is", "were": "was", "have": "has", "do": "does",
    "her": "his", "its": "his", "their": "his",
    "him": "it", "them": "it", "she": "it", "he": "it", "they": "it",
    "herself": "itself", "himself": "itself", "themselves": "itself",
}  # fmt: skip
"""Words that change along with an edit for the sake of grammar and are no edit themselves."""

Run = tuple[int, int]
"""A run of words of the original: [start, end)."""


@dataclass(frozen=True, slots=True)
class WordDifference:
    """Words [start, end) of the original, what they were and what stands there now."""

    start: int
    end: int
    was: tuple[str, ...]
    now: tuple[str, ...]


def difference(old: Sequence[str], new: Sequence[str]) -> WordDifference | None:
    """The shortest run of words outside which two captions agree, or None where all agree.

    >>> difference("an apple on a plate".split(), "a red apple on a plate".split())
    WordDifference(start=1, end=1, was=(), now=('red',))
    """
    before, after = [SAME.get(w, w) for w in old], [SAME.get(w, w) for w in new]
    if before == after:
        return None
    shorter = min(len(before), len(after))
    start = 0
    while start < shorter and before[start] == after[start]:
        start += 1
    behind = 0
    while behind < shorter - start and before[-1 - behind] == after[-1 - behind]:
        behind += 1
    end = len(before) - behind
    return WordDifference(
        start, end, tuple(before[start:end]), tuple(after[start : len(after) - behind])
    )


def is_one_swap(found: WordDifference) -> tuple[Run, Run] | None:
    """The two runs of words that changed places, or None where that is not all that happened.

    >>> is_one_swap(difference("a cat on a red mat".split(), "a red mat on a cat".split()))
    ((1, 2), (4, 6))
    """
    was, now = found.was, found.now
    for first in range(1, len(was)):
        if was[:first] != now[-first:]:
            continue
        for second in range(1, len(was) - first + 1):
            middle = slice(first, len(was) - second)
            moved = now[second : len(now) - first]
            if was[-second:] == now[:second] and was[middle] == moved:
                return (
                    (found.start, found.start + first),
                    (found.end - second, found.end),
                )
    return None

"""What passes between the parts: a caption to edit, an edit, and the negative caption."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tellapart.text.inflect import article
from tellapart.text.parsing.parse import Parse

ARTICLE = re.compile(r"\b([Aa]n?)(\s+)$")


@dataclass(frozen=True, slots=True)
class Source:
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

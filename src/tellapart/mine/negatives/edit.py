"""What passes between the parts: a caption to edit, the edit, and the negative caption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tellapart.text.parsing import Parse


@dataclass(frozen=True, slots=True)
class Source:
    """A caption that is to be edited: whose it is, what it says, how it is built."""

    caption: str
    image: str
    text: str
    parse: Parse


@dataclass(frozen=True, slots=True)
class Change:
    """original[start:end] gives way to `text`; with start == end something is added."""

    start: int
    end: int
    text: str


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
    """The text after all changes, which must not overlap.

    >>> changed("A dog on a bed.", [Change(2, 5, "cat"), Change(11, 14, "sofa")])
    'A cat on a sofa.'
    """
    parts: list[str] = []
    done = 0
    for change in sorted(changes, key=lambda one: one.start):
        parts += (text[done : change.start], change.text)
        done = change.end
    parts.append(text[done:])
    return "".join(parts)

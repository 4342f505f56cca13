"""Where the foil word of a caption stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tellapart.text.english import plural
from tellapart.text.tokens import spans

Place = tuple[int, int, bool]
"""Start, end, and whether the word stands there in the plural."""


def find_slot(foil: str, original: str, word: str) -> Place | None:
    """The place of the foil word in the foil caption; None where it cannot be told.

    Where the word is there more than once, the one that the original caption does not have is
    meant.

    >>> find_slot("a train station with a bus", "a bus station with a bus", "train")
    (2, 7, False)
    >>> find_slot("a bus at a bus stop", "a car at a bus stop", "bus")
    (2, 5, False)
    """
    places = list(_places(foil, word.strip().lower()))
    if not original:
        return places[0] if len(places) == 1 else None
    begin, end = _changed(foil.lower(), original.lower())
    return next((place for place in places if place[0] < end and place[1] > begin), None)


def _places(caption: str, word: str) -> Iterator[Place]:
    many = plural(word)
    if " " in word:
        for match in re.finditer(rf"\b({re.escape(word)}|{re.escape(many)})\b", caption, re.I):
            yield match.start(), match.end(), match.group().lower() != word
        return
    for start, _, stands in spans(caption):
        bare = re.sub("['’]s$", "", stands)
        if bare in (word, many):
            yield start, start + len(bare), bare != word


def _changed(text: str, other: str) -> tuple[int, int]:
    """The part of a text that another one does not have at its place, taken to whole words."""
    begin = _shared(text, other)
    end = len(text) - _shared(text[begin:][::-1], other[begin:][::-1])
    while begin > 0 and text[begin - 1].isalnum():
        begin -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    return begin, end


def _shared(text: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = enumerate(zip(text, other, strict=False))
    return next((k for k, (one, two) in pairs if one != two), min(len(text), len(other)))

"""Candidates of balanced pairs: a true and a false text of one image."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart.text.tokens import spans


@dataclass(frozen=True, slots=True)
class PairCandidate:
    """A true and a false text of an image, made from the caption `caption` (its id).

    true[start:end] is what is exchanged, for `put`. `was` and `now` name it in the true and the
    false text; a candidate of another image with both names exchanged may be its counterpart.
    """

    caption: str
    image: str
    kind: str
    true: str
    false: str
    start: int
    end: int
    put: str
    was: str
    now: str


def exchanged(true: str, false: str) -> tuple[int, int, str]:
    """Where two texts differ, by whole words: the span in the first, and what the second has there.

    An article that only follows suit (`a dog`, `an owl`) is no part of it.

    >>> exchanged("See a dog run.", "See an owl run.")
    (6, 9, 'owl')
    """
    one, other = list(spans(true)), list(spans(false))
    here, there = [word for *_, word in one], [word for *_, word in other]
    shorter = min(len(one), len(other))
    first = next((k for k in range(shorter) if here[k] != there[k]), shorter)
    last = next((k for k in range(shorter - first) if here[-1 - k] != there[-1 - k]), None)
    last = shorter - first if last is None else last
    if {*here[first : first + 1], *there[first : first + 1]} == {"a", "an"}:
        first += 1
    if first >= len(one) - last or first >= len(other) - last:
        return (0, len(true), false)
    return (
        one[first][0], one[len(one) - last - 1][1],
        false[other[first][0] : other[len(other) - last - 1][1]],
    )  # fmt: skip

"""Where two captions differ, as words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
class Difference:
    """Words [start, end) of the original, what they were and what stands there now."""

    start: int
    end: int
    was: tuple[str, ...]
    now: tuple[str, ...]


def difference(old: Sequence[str], new: Sequence[str]) -> Difference | None:
    """The shortest run of words outside which two captions agree, or None where all agree.

    >>> difference("an apple on a plate".split(), "a red apple on a plate".split())
    Difference(start=1, end=1, was=(), now=('red',))
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
    return Difference(
        start, end, tuple(before[start:end]), tuple(after[start : len(after) - behind])
    )


def is_one_swap(found: Difference) -> tuple[Run, Run] | None:
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

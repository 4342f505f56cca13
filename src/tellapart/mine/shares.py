"""A sample with equal shares of every kind, as far as possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def equal_shares(kinds: Sequence[str], lots: Sequence[float], items: int | None) -> list[int]:
    """The positions of a sample, in order; `lots` are random numbers, the lowest are chosen first.

    >>> equal_shares(["a", "a", "a", "b"], [0.3, 0.1, 0.2, 0.9], 2)
    [1, 3]
    """
    if items is None or len(kinds) <= items:
        return list(range(len(kinds)))
    rank: Counter[str] = Counter()
    turns: list[tuple[int, int]] = []
    for place in sorted(range(len(kinds)), key=lambda k: (lots[k], k)):
        turns.append((rank[kinds[place]], place))
        rank[kinds[place]] += 1
    turns.sort(key=lambda turn: turn[0])
    return sorted(place for _, place in turns[:items])

"""What judgements decide about an item, and how many are needed to know it.

A verdict goes by the truth where it is known (who is right?), else by what people chose. `full` is
the number of judgements that an item gets at most; `keep` says who must agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

KEEPS = ("majority", "all", "first")


@dataclass(frozen=True, slots=True)
class Said:
    """One judgement: the key that was chosen, and whether it is right (None: nobody knows)."""

    choice: str
    right: bool | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an item is kept, and the key that those agreed on who had to (None: they did not)."""

    kept: bool
    chosen: str | None


def verdict(keep: str, full: int, said: Sequence[Said], options: frozenset[str]) -> Verdict:
    """What becomes of an item.

    Without a known truth it is kept if the key agreed on is one of `options`, the things that could
    be picked, and not "none" or "both"; where there is nothing to pick (ratings) it is kept.
    """
    chosen = _agreed(keep, full, said)
    if _truth_known(said):
        counted = said[:1] if keep == "first" else said
        right = sum(one.right is True for one in counted)
        return Verdict(right >= _needed(keep, full), chosen)
    return Verdict(not options or chosen in options, chosen)


def missing(keep: str, full: int, said: Sequence[Said], truth_known: bool) -> int:
    """How many more judgements to ask for before looking again; 0 once the verdict is certain.

    It is the smallest number that could settle the matter, so that nobody is asked in vain.
    """
    left, needed = full - len(said), _needed(keep, full)
    if left <= 0 or (keep == "first" and said):
        return 0
    if truth_known:
        right = sum(one.right is True for one in said)
        wrong = len(said) - right
        return max(0, min(needed - right, full - needed + 1 - wrong))
    top = max(Counter(one.choice for one in said).values(), default=0)
    if top >= needed or top + left < needed:
        return 0
    return 1 if keep == "all" else min(needed - top, left)


def _needed(keep: str, full: int) -> int:
    return {"majority": full // 2 + 1, "all": full, "first": 1}[keep]


def _agreed(keep: str, full: int, said: Sequence[Said]) -> str | None:
    if not said:
        return None
    if keep == "first":
        return said[0].choice
    top, votes = Counter(one.choice for one in said).most_common(1)[0]
    return top if votes >= _needed(keep, full) else None


def _truth_known(said: Sequence[Said]) -> bool:
    return all(one.right is not None for one in said)

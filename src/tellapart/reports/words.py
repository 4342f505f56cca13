"""Small pieces of sentences: names, lists, numbers with their intervals."""

from __future__ import annotations

from collections.abc import Sequence

from tellapart.measures.estimate import Estimate
from tellapart.reports.results import percent

NAME_BEGINS, NAME_ENDS = "\u2068", "\u2069"
"""Model names stand between Unicode's isolates: the page sets them apart from the words."""


def named(label: str) -> str:
    """A model's label, marked as a name."""
    return f"{NAME_BEGINS}{plain(label)}{NAME_ENDS}"


def plain(sentence: str) -> str:
    """A sentence without the marks.

    >>> plain(f"{named('blind')} was run.")
    'blind was run.'
    """
    return sentence.replace(NAME_BEGINS, "").replace(NAME_ENDS, "")


def number(one: Estimate) -> str:
    """A value with its interval."""
    return f"{percent(one.value)}% (95% interval {percent(one.low)} to {percent(one.high)})"


def plural(count: int, noun: str) -> str:
    """A number of things.

    >>> plural(1, "tie"), plural(1200, "item")
    ('1 tie', '1,200 items')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(names: Sequence[str]) -> str:
    """Names as a list in a sentence.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

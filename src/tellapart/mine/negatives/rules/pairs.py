"""Which words of a corpus go together: what the rules put together, someone has put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tellapart.mine.negatives.rules.counting import Counts, Pair

ATTESTED = 2
"""Captions that must have two words together for the rules to put them together."""
LEAST_LIFT, ATTRIBUTE_LIFT = 0.3, 0.1
"""How often two words must be together, as a part of what chance would give."""


@dataclass(frozen=True)
class Pairs:
    """Pairs as in `counting.Counts`, those alone that are attested."""

    counts: Counts

    @cached_property
    def attributes(self) -> Mapping[str, Mapping[str, int]]:
        """For each kernel the attributes that it takes, with how often."""
        found: dict[str, dict[str, int]] = {}
        for attribute, kernel in sorted(attested(self.counts.attributes, ATTRIBUTE_LIFT)):
            number = self.counts.attributes[attribute, kernel]
            found.setdefault(kernel, {})[attribute] = number
        return found

    def takes(self, kernel: str, attribute: str) -> bool:
        """Whether a kernel has an attribute somewhere."""
        return attribute in self.attributes.get(kernel, ())

    @cached_property
    def behind(self) -> frozenset[Pair]:
        """(preposition or verb, kernel)."""
        return attested(self.counts.behind)

    @cached_property
    def before(self) -> frozenset[Pair]:
        """(kernel, preposition or verb)."""
        return attested(self.counts.before)

    @cached_property
    def does(self) -> frozenset[Pair]:
        """(kernel, verb)."""
        return attested(self.counts.does)

    @cached_property
    def verbs(self) -> frozenset[Pair]:
        """(verb, preposition)."""
        return attested(self.counts.verbs)

    @cached_property
    def parts(self) -> frozenset[Pair]:
        """(kernel, kernel) with `of` between."""
        return attested(self.counts.parts)

    @cached_property
    def acts(self) -> frozenset[tuple[str, str, str]]:
        """(verb, preposition, kernel)."""
        return frozenset(act for act, number in self.counts.acts.items() if number >= ATTESTED)

    @cached_property
    def beside(self) -> frozenset[Pair]:
        """(noun, noun), in order of the alphabet, that share captions."""
        return frozenset(pair for pair, number in self.counts.beside.items() if number >= ATTESTED)


def attested(pairs: Counter[Pair], lift: float = LEAST_LIFT) -> frozenset[Pair]:
    """Pairs seen more than once, and not much more seldom than chance would have it.

    What the parser gets wrong, it gets wrong seldom: frequent words meet by mistake, too.
    """
    first: Counter[str] = Counter()
    second: Counter[str] = Counter()
    for (one, other), number in pairs.items():
        first[one] += number
        second[other] += number
    least = lift / max(1, first.total())
    return frozenset(
        (one, other)
        for (one, other), number in pairs.items()
        if number >= ATTESTED and number >= least * first[one] * second[other]
    )

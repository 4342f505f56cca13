"""Which nouns can stand for another, or beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from tellapart.mine.negatives.phrases import kernel_of
from tellapart.mine.negatives.rules.counting import Pair
from tellapart.mine.negatives.rules.nouns import Nouns
from tellapart.mine.negatives.rules.pairs import ATTESTED
from tellapart.mine.negatives.rules.similar import Similar, similar
from tellapart.mine.negatives.rules.wordnet import WordNet, load
from tellapart.mine.negatives.words import SCENES

ALTERNATIVES, COMPANIONS = 12, 30
"""How many are kept."""
LEAST_SIMILAR, UNSEEN, ALIKE = 0.08, 0.15, 0.3
"""Least cosine of an alternative; of one that is no listed object; and where neither a table nor
WordNet knows the two words."""


class Other(NamedTuple):
    """A noun, the forms that it takes, and how likely it is to be drawn."""

    noun: str
    kernel: str
    forms: frozenset[str]
    weight: float
    same_sort: bool = True


@dataclass(frozen=True)
class Others:
    """Nouns that go with a noun; `sorts` gives the supercategory of objects' names."""

    nouns: Nouns
    sorts: Mapping[str, str]
    _alternatives: dict[str, tuple[Other, ...]] = field(default_factory=dict)

    def alternatives(self, noun: str) -> tuple[Other, ...]:
        """Nouns of its sort that are used as this one is, the most alike first."""
        if noun not in self._alternatives:
            self._alternatives[noun] = tuple(islice(self._found(noun), ALTERNATIVES))
        return self._alternatives[noun]

    def _found(self, noun: str) -> Iterator[Other]:
        for kernel, cosine in self._similar.ranked(kernel_of(noun)):
            if cosine < LEAST_SIMILAR:
                return
            other = self.nouns.by_kernel[kernel]
            if other not in self.nouns.deniable or other in self._same_things(noun):
                continue
            if other not in self.nouns.denotes and cosine < UNSEEN:
                continue
            if self._same_sort(noun, other, cosine):
                yield Other(other, kernel, self.nouns.forms(other), cosine)

    def _same_things(self, noun: str) -> frozenset[str]:
        return self.nouns.same_things.get(noun, frozenset())

    @cached_property
    def _similar(self) -> Similar:
        return similar(self.nouns.counts, list(self.nouns.by_kernel), ATTESTED)

    def companions(self, noun: str) -> tuple[Other, ...]:
        """Nouns that the corpus joins to a noun by `and`, the most frequent first."""
        return self._companions.get(noun, ())

    @cached_property
    def _companions(self) -> Mapping[str, tuple[Other, ...]]:
        nouns = self.nouns
        both: Counter[Pair] = Counter()
        for (one, other), number in nouns.counts.joined.items():
            both[one, other] += number
            both[other, one] += number
        found: dict[str, list[Other]] = {}
        for (one, other), number in sorted(both.items(), key=lambda pair: (-pair[1], pair[0])):
            kernel = kernel_of(other)
            if number < ATTESTED or one not in nouns.known or kernel == kernel_of(one):
                continue
            if other in nouns.deniable and len(found.setdefault(one, [])) < COMPANIONS:
                same = self._same_sort(one, other)
                found[one].append(Other(other, kernel, nouns.forms(other), number**0.5, same))
        return {noun: tuple(others) for noun, others in found.items()}

    def _same_sort(self, noun: str, other: str, cosine: float = 0.0) -> bool:
        """By the table of categories, else by WordNet, else by how alike they are used."""
        first, second = self._sorts_of(noun), self._sorts_of(other)
        if first and second:
            return not first.isdisjoint(second)
        net = self.wordnet
        one, two = kernel_of(noun), kernel_of(other)
        if net and one in net.above and two in net.above:
            return net.same_sort(one, two) and not net.related(one, two)
        return cosine >= ALIKE

    def _sorts_of(self, noun: str) -> frozenset[str]:
        if kernel_of(noun) in SCENES:  # a wave speaks of a surfboard and is none
            return frozenset()
        names = {noun, kernel_of(noun), *self.nouns.denotes.get(noun, ())}
        return frozenset(self.sorts[name] for name in names if name in self.sorts)

    @cached_property
    def wordnet(self) -> WordNet | None:
        """WordNet, where it is installed."""
        return load(self.nouns.by_kernel)

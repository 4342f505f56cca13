"""Which nouns can replace or accompany another: the same sort, similar usage, a different thing.

Sorts come from a table of categories, else from WordNet if its database files are installed
(Debian's `wordnet-base`, or any copy), else from how similarly the corpus uses two nouns.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tellapart.mine.negatives.phrases import SCENES, kernel_of
from tellapart.mine.negatives.rules.usage import ATTESTED, CorpusCounts, Nouns, WordPair

ALTERNATIVES, COMPANIONS = 12, 30
"""How many are kept."""
LEAST_SIMILAR, UNSEEN, ALIKE = 0.08, 0.15, 0.3
"""The least cosine of an alternative; of one that is not a listed object; and of one for which
neither a table nor WordNet knows the two words."""
LISTED = 0.05
"""The least cosine of a peer if a table of categories knows both; otherwise it is `UNSEEN`."""
LEVEL = 2
"""The most letters by which one detail may be longer than another."""
FOLDERS = ("/usr/share/wordnet", "/usr/local/share/wordnet", "/usr/local/WordNet-3.0/dict")
SENSES = 2
"""How many of a noun's most frequent senses are used."""
GENERAL = 6
"""A sense within this many steps of the root (entity) is too general."""
Chain = tuple[int, ...]
"""A sense and its ancestors, by their offsets in `data.noun`, the nearest first."""


def is_level(one: str, other: str) -> bool:
    """Whether two details have the same number of words and nearly the same length.

    >>> is_level("dog", "horse"), is_level("cat", "elephant"), is_level("car", "fire truck")
    (True, False, False)
    """
    return len(one.split()) == len(other.split()) and abs(len(one) - len(other)) <= LEVEL


class Alternative(NamedTuple):
    """A noun, its forms, and its weight when one is drawn."""

    noun: str
    kernel: str
    forms: frozenset[str]
    weight: float
    same_sort: bool = True


@dataclass(frozen=True)
class Alternatives:
    """Nouns that go with a noun; `sorts` maps objects' names to supercategories."""

    nouns: Nouns
    sorts: Mapping[str, str]
    _alternatives: dict[str, tuple[Alternative, ...]] = field(default_factory=dict)
    _peers: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def alternatives(self, noun: str) -> tuple[Alternative, ...]:
        """Nouns of its sort with similar usage, the most similar first."""
        if noun not in self._alternatives:
            self._alternatives[noun] = tuple(islice(self._candidates(noun), ALTERNATIVES))
        return self._alternatives[noun]

    def _candidates(self, noun: str) -> Iterator[Alternative]:
        for kernel, cosine in self._similar.ranked(kernel_of(noun)):
            if cosine < LEAST_SIMILAR:
                return
            other = self.nouns.by_kernel[kernel]
            if other not in self.nouns.deniable or other in self.nouns.same_things.get(noun, ()):
                continue
            if other not in self.nouns.denotes and cosine < UNSEEN:
                continue
            if self.same_sort(noun, other, cosine):
                yield Alternative(other, kernel, self.nouns.forms(other), cosine)

    def peers(self, noun: str) -> tuple[str, ...]:
        """Nouns of its sort that take `a` and are equally long; the relation is symmetric."""
        if noun not in self._peers:
            self._peers[noun] = tuple(self._level(noun)) if self._countable(noun) else ()
        return self._peers[noun]

    def _level(self, noun: str) -> Iterator[str]:
        same = self.nouns.same_things.get(noun, ())
        for kernel, cosine in self._similar.ranked(kernel_of(noun)):
            other = self.nouns.by_kernel[kernel]
            if other in same or not is_level(noun, other) or not self._countable(other):
                continue
            listed = self._sorts_of(noun) and self._sorts_of(other)
            if cosine >= (LISTED if listed else UNSEEN) and self.same_sort(noun, other, cosine):
                yield other

    def _countable(self, noun: str) -> bool:
        """Whether a noun with `a` names a thing whose absence can be told."""
        nouns, kernel = self.nouns, kernel_of(noun)
        usual = noun in nouns.deniable and nouns.by_kernel[kernel] == noun
        return usual and "a" in nouns.forms(noun) and not nouns.is_mass(noun)

    @cached_property
    def _similar(self) -> SimilarNouns:
        return similar(self.nouns.counts, list(self.nouns.by_kernel), ATTESTED)

    def companions(self, noun: str) -> tuple[Alternative, ...]:
        """Nouns that the corpus joins to a noun by `and`, the most frequent first."""
        return self._companions.get(noun, ())

    @cached_property
    def _companions(self) -> Mapping[str, tuple[Alternative, ...]]:
        nouns = self.nouns
        both: Counter[WordPair] = Counter()
        for (one, other), number in nouns.counts.joined.items():
            both[one, other] += number
            both[other, one] += number
        companions: dict[str, list[Alternative]] = {}
        for (one, other), number in sorted(both.items(), key=lambda pair: (-pair[1], pair[0])):
            kernel = kernel_of(other)
            if number < ATTESTED or one not in nouns.known or kernel == kernel_of(one):
                continue
            if other in nouns.deniable and len(companions.setdefault(one, [])) < COMPANIONS:
                forms, same = nouns.forms(other), self.same_sort(one, other)
                companions[one].append(Alternative(other, kernel, forms, number**0.5, same))
        return {noun: tuple(others) for noun, others in companions.items()}

    def same_sort(self, noun: str, other: str, cosine: float = 0.0) -> bool:
        """By the table of categories, else by WordNet, else by similarity of usage."""
        first, second = self._sorts_of(noun), self._sorts_of(other)
        if first and second:
            return not first.isdisjoint(second)
        net = self.wordnet
        one, two = kernel_of(noun), kernel_of(other)
        if net and one in net.above and two in net.above:
            return net.same_sort(one, two) and not net.related(one, two)
        return cosine >= ALIKE

    def _sorts_of(self, noun: str) -> frozenset[str]:
        if kernel_of(noun) in SCENES:  # a wave goes with a surfboard but is not one
            return frozenset()
        names = {noun, kernel_of(noun), *self.nouns.denotes.get(noun, ())}
        return frozenset(self.sorts[name] for name in names if name in self.sorts)

    @cached_property
    def wordnet(self) -> WordNet | None:
        """WordNet, if it is installed."""
        return load_wordnet(self.nouns.by_kernel)


@dataclass(frozen=True)
class SimilarNouns:
    """Cosines between the contexts of kernels, as a square table."""

    kernels: Sequence[str]
    cosines: npt.NDArray[np.float64]

    def ranked(self, kernel: str) -> Iterator[tuple[str, float]]:
        """Other kernels, the most similar first; none if the kernel is not known."""
        place = int(np.searchsorted(self.kernels, kernel))
        if place == len(self.kernels) or self.kernels[place] != kernel:
            return
        row = self.cosines[place]
        for other in np.argsort(-row, kind="stable").tolist():
            if other != place and row[other] > 0:
                yield self.kernels[other], float(row[other])


def similar(counts: CorpusCounts, kernels: Sequence[str], fewest: int) -> SimilarNouns:
    """Compare kernels by their contexts, weighted by positive pointwise mutual information.

    A context seen fewer than `fewest` times with a kernel is left out. Bullinaria and Levy 2007
    found this weighting with the cosine to be the best of the simple methods.
    """
    kernels = sorted(kernels)
    place = {kernel: k for k, kernel in enumerate(kernels)}
    contexts: dict[tuple[str, str], int] = {}
    cells = [
        (place[kernel], contexts.setdefault(context, len(contexts)), number)
        for kernel, context, number in _contexts(counts)
        if number >= fewest and kernel in place
    ]
    rows, columns, numbers = np.array(cells, np.int64).reshape(-1, 3).T
    shape = (len(kernels), max(1, len(contexts)))
    of_kernel = np.bincount(rows, numbers, shape[0])
    of_context = np.bincount(columns, numbers, shape[1])
    surprise = np.log(numbers * numbers.sum() / (of_kernel[rows] * of_context[columns]))
    kept = surprise > 0
    table = sparse.csr_matrix((surprise[kept], (rows[kept], columns[kept])), shape=shape)
    lengths = np.sqrt(np.asarray(table.multiply(table).sum(axis=1)).ravel())
    scaled = sparse.diags(1 / np.where(lengths > 0, lengths, 1)) @ table
    return SimilarNouns(kernels, (scaled @ scaled.T).toarray())


def _contexts(counts: CorpusCounts) -> Iterator[tuple[str, tuple[str, str], int]]:
    """(kernel, context, how often)."""
    for name, pairs, kernel in (
        ("is", counts.attributes, 1), ("before", counts.before, 0),
        ("behind", counts.behind, 1), ("does", counts.does, 0),
    ):  # fmt: skip
        for pair, number in sorted(pairs.items()):
            yield pair[kernel], (name, pair[1 - kernel]), number


@dataclass(frozen=True, slots=True)
class WordNet:
    """For each known noun, its senses with their ancestors."""

    folder: Path
    above: dict[str, tuple[Chain, ...]]

    def related(self, one: str, other: str) -> bool:
        """Whether a sense of one noun is a sense of the other, or an ancestor of one."""
        return any(
            first[0] in second or second[0] in first
            for first in self.above.get(one, ())
            for second in self.above.get(other, ())
        )

    def same_sort(self, one: str, other: str) -> bool:
        """Whether senses of two nouns share an ancestor that is specific enough."""
        return any(
            not set(first[:-GENERAL]).isdisjoint(second[:-GENERAL])
            for first in self.above.get(one, ())
            for second in self.above.get(other, ())
        )


def folder() -> Path | None:
    """The folder of the files: `WNSEARCHDIR` (WordNet's own variable), a usual folder, or None."""
    named = os.environ.get("WNSEARCHDIR", "")
    for place in map(Path, filter(None, (named, *FOLDERS))):
        if (place / "data.noun").is_file() and (place / "index.noun").is_file():
            return place
    return None


def load_wordnet(nouns: Iterable[str]) -> WordNet | None:
    """WordNet's data on some nouns (lower case, words apart), or None if it is not installed."""
    where = folder()
    if where is None:
        return None
    wanted = {noun.replace(" ", "_") for noun in nouns}
    senses = dict(_senses(where / "index.noun", wanted))
    with (where / "data.noun").open("rb") as data:
        parents: dict[int, int | None] = {}

        def chain(offset: int) -> Chain:
            senses_above: list[int] = []
            here: int | None = offset
            while here is not None and here not in senses_above:
                senses_above.append(here)
                if here not in parents:
                    data.seek(here)
                    parents[here] = _parent(data.readline().decode("latin-1"))
                here = parents[here]
            return tuple(senses_above)

        above = {
            noun.replace("_", " "): tuple(chain(offset) for offset in offsets)
            for noun, offsets in senses.items()
        }
    return WordNet(where, above)


def _senses(index: Path, wanted: set[str]) -> Iterable[tuple[str, list[int]]]:
    """Each noun's most frequent senses, which the index lists first."""
    with index.open(encoding="latin-1") as lines:
        for line in lines:
            word = line[: line.find(" ")]
            if word in wanted:
                parts = line.split()
                number = int(parts[2])
                yield word, [int(place) for place in parts[-number:][:SENSES]]


def _parent(line: str) -> int | None:
    """The sense above the one that a line of `data.noun` describes."""
    parts = line.split(" | ", maxsplit=1)[0].split()
    words = int(parts[3], 16)
    pointers = parts[5 + 2 * words :]
    for k in range(0, len(pointers) - 3, 4):
        if pointers[k] in ("@", "@i"):
            return int(pointers[k + 1])
    return None

"""What is known of an image, and whether a claim may be true of it.

A negative must be false of its image. What the image's captions say and which objects it shows
rule out most that would be true; what neither tells is for people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tellapart.mine.negatives.phrases import Reading, kernel_of, read
from tellapart.mine.negatives.words import GROUPS, PEOPLE
from tellapart.text.parsing.parse import Parse


@dataclass(frozen=True, slots=True)
class Shows:
    """The image shows such a thing."""

    noun: str


@dataclass(frozen=True, slots=True)
class Has:
    """A thing in the image has an attribute."""

    noun: str
    attribute: str


@dataclass(frozen=True, slots=True)
class Stands:
    """Something is in a relation, a preposition or a verb as written, to a thing."""

    relation: str
    noun: str


Claim = Shows | Has | Stands

DOUBTS = ("mentioned", "shown", "said elsewhere", "symmetrical")
"""Why a negative may be true of its image."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What an image's captions say, and what it shows (None where nobody said).

    `words` are all words, as written and in their base forms; `nouns` counts captions with a noun
    or its kernel; `several` are kernels of which some caption has more than one; `attributes`
    counts captions that give a kernel an attribute; `relations` are (preposition or verb, kernel),
    `statements` the same with the kernel before, where there is one;
    `alone` says that no caption speaks of more than one person. `denotes` gives for a word the
    names of objects that it speaks of.
    """

    words: frozenset[str]
    nouns: Mapping[str, int]
    several: frozenset[str]
    attributes: Mapping[str, Counter[str]]
    relations: frozenset[tuple[str, str]]
    statements: frozenset[tuple[str, str, str]] = frozenset()
    alone: bool = True
    objects: frozenset[str] | None = None
    denotes: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def doubt(self, claim: Claim) -> str | None:
        """Why a claim may be true, as one of `DOUBTS`, or None where nothing says so."""
        if isinstance(claim, Shows):
            return self._shown(claim.noun)
        kernel = kernel_of(claim.noun)
        if isinstance(claim, Has):
            said = claim.attribute in self.attributes.get(kernel, ())
        else:
            said = (claim.relation, kernel) in self.relations
        return "said elsewhere" if said else None

    def _shown(self, noun: str) -> str | None:
        kernel = kernel_of(noun)
        if noun in self.nouns or kernel in self.nouns or kernel in self.words:
            return "mentioned"
        if self.objects and not self.objects.isdisjoint(self.denotes.get(noun, (noun,))):
            return "shown"
        return None


def facts_of(
    captions: Iterable[tuple[Parse, Reading]],
    objects: frozenset[str] | None = None,
    denotes: Mapping[str, frozenset[str]] | None = None,
) -> Facts:
    """The facts in the captions of one image."""
    words: set[str] = set()
    nouns: Counter[str] = Counter()
    several: set[str] = set()
    attributes: dict[str, Counter[str]] = {}
    statements: set[tuple[str, str, str]] = set()
    alone = True
    for parse, reading in captions:
        words.update(token.text.lower() for token in parse.tokens)
        words.update(token.lemma.lower() for token in parse.tokens)
        kernels = Counter(phrase.kernel for phrase in reading.phrases)
        nouns.update(kernels.keys() | {phrase.noun for phrase in reading.phrases})
        several.update(kernel for kernel, number in kernels.items() if number > 1)
        several.update(phrase.kernel for phrase in reading.phrases if phrase.plural)
        alone = alone and _one_person(reading)
        for kernel, attribute in _attributes(parse, reading):
            attributes.setdefault(kernel, Counter())[attribute] += 1
        statements.update(_statements(parse, reading))
    relations = frozenset((name, kernel) for _, name, kernel in statements)
    return Facts(
        frozenset(words), nouns, frozenset(several), attributes, relations,
        frozenset(statements), alone, objects, denotes or {},
    )  # fmt: skip


def _one_person(reading: Reading) -> bool:
    """Whether a caption speaks of one person at most."""
    people = 0
    for phrase in reading.phrases:
        if phrase.kernel in GROUPS:
            return False
        if phrase.kernel in PEOPLE:
            people += 1 + phrase.plural
    return people < 2


def _attributes(parse: Parse, reading: Reading) -> set[tuple[str, str]]:
    """(kernel, attribute), before the noun or said of it."""
    tokens = parse.tokens
    found = {
        (phrase.kernel, tokens[place].text.lower())
        for phrase in reading.phrases
        for place in phrase.attributes
    }
    for place, attribute in reading.said:
        found.add((reading.phrases[place].kernel, tokens[attribute].text.lower()))
    return found


def _statements(parse: Parse, reading: Reading) -> Iterator[tuple[str, str, str]]:
    """(kernel before or nothing, preposition or verb, kernel)."""
    for relation in reading.relations:
        kernel = reading.phrases[relation.object].kernel
        subject = reading.phrases[relation.subject].kernel if relation.subject >= 0 else ""
        if relation.last > relation.first:
            yield subject, relation.name, kernel
        if relation.verb >= 0:
            yield subject, parse.tokens[relation.verb].text.lower(), kernel


def facts_of_parses(parses: Iterable[Parse], objects: frozenset[str] | None = None) -> Facts:
    """The facts in the captions of one image that nobody has read yet."""
    return facts_of([(parse, read(parse)) for parse in parses], objects)

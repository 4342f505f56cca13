"""What is known of an image, and whether a claim may be true of it.

A negative must be false of its image. What the image's captions say and which objects it shows
rule out most that would be true; what neither tells is for people.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tellapart.mine.negatives.phrases import Reading, kernel_of, read
from tellapart.mine.negatives.words import GROUPS, PEOPLE
from tellapart.text.parsing import Parse


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
    `statements` the same with the kernel before;
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
    attributes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    relations: set[tuple[str, str]] = set()
    statements: set[tuple[str, str, str]] = set()
    alone = True
    for parse, reading in captions:
        tokens, phrases = parse.tokens, reading.phrases
        for token in tokens:
            words.add(token.text.lower())
            words.add(token.lemma.lower())
        kernels = [phrase.kernel for phrase in phrases]
        nouns.update({*kernels, *(phrase.noun for phrase in phrases)})
        several.update(k for k in kernels if kernels.count(k) > 1)
        people = 0
        for phrase in phrases:
            if phrase.plural:
                several.add(phrase.kernel)
            if phrase.kernel in GROUPS:
                alone = False
            elif phrase.kernel in PEOPLE:
                people += 1 + phrase.plural
            attributes[phrase.kernel].update({tokens[k].text.lower() for k in phrase.attributes})
        alone = alone and people < 2
        for place, attribute in reading.said:
            attributes[phrases[place].kernel][tokens[attribute].text.lower()] += 1
        for relation in reading.relations:
            kernel = phrases[relation.object].kernel
            verb = tokens[relation.verb].text.lower() if relation.verb >= 0 else ""
            for name in {relation.name if relation.last > relation.first else verb, verb} - {""}:
                relations.add((name, kernel))
                if relation.subject >= 0:
                    statements.add((phrases[relation.subject].kernel, name, kernel))
    return Facts(
        frozenset(words), nouns, frozenset(several), attributes, frozenset(relations),
        frozenset(statements), alone, objects, denotes or {},
    )  # fmt: skip


def facts_of_parses(parses: Iterable[Parse], objects: frozenset[str] | None = None) -> Facts:
    """The facts in the captions of one image that nobody has read yet."""
    return facts_of([(parse, read(parse)) for parse in parses], objects)

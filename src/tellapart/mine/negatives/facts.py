"""What is known of an image, and whether a claim may be true of it.

A negative must be false of its image. What the image's captions say and which objects it shows
rule out most that would be true; what neither tells is for people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tellapart.text.parsing import Parse

NOUNS = ("NOUN", "PROPN")


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
    """Something is in a relation (a preposition, or a verb in its base form) to a thing."""

    relation: str
    noun: str


Claim = Shows | Has | Stands

DOUBTS = ("mentioned", "shown", "said elsewhere", "symmetrical")
"""Why a negative may be true of its image."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What an image's captions say, in base forms, and what it shows (None where nobody said).

    `denotes` gives for a word the names of objects that it may stand for.
    """

    nouns: frozenset[str]
    attributes: frozenset[tuple[str, str]]
    relations: frozenset[tuple[str, str]]
    objects: frozenset[str] | None = None
    denotes: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def doubt(self, claim: Claim) -> str | None:
        """Why a claim may be true, as one of `DOUBTS`, or None where nothing says so."""
        if isinstance(claim, Shows):
            if claim.noun in self.nouns or claim.noun.rpartition(" ")[2] in self.nouns:
                return "mentioned"
            named = self.denotes.get(claim.noun, frozenset()) | {claim.noun}
            return "shown" if self.objects and self.objects & named else None
        if isinstance(claim, Has):
            said = (claim.attribute, claim.noun) in self.attributes
        else:
            said = (claim.relation, claim.noun) in self.relations
        return "said elsewhere" if said else None


def facts_of(
    parses: Iterable[Parse],
    objects: frozenset[str] | None = None,
    denotes: Mapping[str, frozenset[str]] | None = None,
) -> Facts:
    """The facts in the captions of one image."""
    nouns: set[str] = set()
    attributes: set[tuple[str, str]] = set()
    relations: set[tuple[str, str]] = set()
    for parse in parses:
        tokens = parse.tokens
        for token in tokens:
            head = tokens[token.head]
            lemma = token.lemma.lower()
            if token.pos in NOUNS:
                nouns.add(lemma)
                if token.dep in ("pobj", "dobj"):
                    relations.add((head.lemma.lower(), lemma))
            if token.dep in ("amod", "nummod", "compound", "acomp"):
                attributes.add((token.text.lower(), head.lemma.lower()))
            if token.dep == "compound":
                nouns.add(f"{token.text.lower()} {head.lemma.lower()}")
    return Facts(
        frozenset(nouns), frozenset(attributes), frozenset(relations), objects, denotes or {}
    )

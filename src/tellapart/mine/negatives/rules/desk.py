"""What a rule works on: a caption read, what is known of its image, and the word lists."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from tellapart.mine.negatives.edit import Change, Source
from tellapart.mine.negatives.facts import Facts, Shows
from tellapart.mine.negatives.phrases import Phrase, Reading, Relation
from tellapart.mine.negatives.rules.lists import Lists
from tellapart.mine.negatives.rules.nouns import TELLING
from tellapart.mine.negatives.words import WORN

SELDOM_TOGETHER = 0.1
"""Most images of the rarer of two things that may show both, for them to be alternatives."""

NONE: frozenset[str] = frozenset()


class Place(NamedTuple):
    """What a noun must go with to stand in a phrase's place, as the lists have it.

    Names of relations to it, names of relations from it, verbs that it does, kernels that it is a
    part of, nouns beside it.
    """

    behind: list[str]
    before: list[str]
    does: list[str]
    parts: list[str]
    beside: list[str]


@dataclass(frozen=True, slots=True)
class Desk:
    """One caption with everything that its rules ask; `refused` counts why edits were not made."""

    source: Source
    reading: Reading
    facts: Facts
    lists: Lists
    refused: Counter[str] = field(default_factory=Counter)

    def word(self, token: int) -> str:
        """A token as written, in lower case."""
        return self.source.parse.tokens[token].text.lower()

    def name(self, relation: Relation) -> str:
        """The preposition, or the verb as written where there is none."""
        return relation.name if relation.last > relation.first else self.word(relation.verb)

    def put(self, first: int, last: int, text: str) -> Change:
        """The change that puts a text in the place of tokens first to last."""
        tokens = self.source.parse.tokens
        return Change(tokens[first].begin, tokens[last].end, text)

    def doubts(self, doubt: str | None) -> bool:
        """Whether there is a doubt, which is counted."""
        if doubt:
            self.refused[doubt] += 1
        return bool(doubt)

    def absent(self, noun: str, beside: str) -> bool:
        """Whether an image surely does not show a thing.

        By its list of objects where the noun speaks of one; else where its captions would name
        the thing if it were there, and it is seldom seen with what is there.
        """
        facts, nouns = self.facts, self.lists.nouns
        if self.doubts(facts.doubt(Shows(noun))):
            return False
        if not nouns.same_things.get(noun, NONE).isdisjoint(facts.nouns):
            return not self.doubts("mentioned")
        if facts.objects is not None and noun in nouns.denotes:
            return True
        told = nouns.telling(noun) >= TELLING
        apart = nouns.share_images(noun, beside) <= SELDOM_TOGETHER
        return not self.doubts(None if told and apart else "may be there")

    def is_one(self, phrase: Phrase) -> bool:
        """Whether the image has one such thing, as far as its captions tell."""
        if phrase.kernel in WORN and not self.facts.alone:
            return False
        return phrase.kernel not in self.facts.several

    def place(self, number: int) -> Place:
        """What a noun must go with to stand in the place of a phrase."""
        phrases, found = self.reading.phrases, Place([], [], [], [], [])
        for relation in self.reading.relations:
            if relation.object == number:
                found.behind.append(self.name(relation))
                if relation.name == "of" and relation.subject >= 0:
                    found.parts.append(phrases[relation.subject].kernel)
            elif relation.subject == number:
                found.before.append(self.name(relation))
                if relation.verb >= 0:
                    found.does.append(self.word(relation.verb))
        known = self.lists.nouns.known
        found.beside.extend(
            phrase.noun for k, phrase in enumerate(phrases) if k != number and phrase.noun in known
        )
        return found

    def fits(self, place: Place, noun: str, kernel: str) -> bool:
        """Whether the corpus has a noun with all that it would stand with."""
        pairs = self.lists.pairs
        return (
            all((name, kernel) in pairs.behind for name in place.behind)
            and all((kernel, name) in pairs.before for name in place.before)
            and all((kernel, verb) in pairs.does for verb in place.does)
            and all((whole, kernel) in pairs.parts for whole in place.parts)
            and all(
                ((noun, other) if noun < other else (other, noun)) in pairs.beside
                for other in place.beside
            )
        )

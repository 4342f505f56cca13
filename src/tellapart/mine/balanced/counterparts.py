"""Which other images a caption is true of, with another word in it.

A candidate says that `cat` for `dog` makes a caption of picture A false. If picture B has a
candidate with `dog` for `cat`, and B's captions make all statements of A's caption about a cat,
both texts can be asked of both pictures. What B's captions do not say is left out where possible.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tellapart.mine.balanced.candidates import PairCandidate
from tellapart.mine.balanced.shortening import is_complete, opening, parts
from tellapart.mine.balanced.statements import SLOT, Said, Statement, heard, statements
from tellapart.mine.negatives.phrases import GROUPS
from tellapart.text.parses import Parse, Token

ANCHORED = frozenset(("replace-attribute", "add-attribute", "replace-relation"))
"""Kinds whose counterpart must exchange its word in the same statement: a thing is in a picture or
not, whatever is said of it, but one thing may be red and another blue."""
CONTENT = frozenset(("NOUN", "PROPN", "VERB", "ADJ", "NUM", "ADV"))
VIEWS = frozenset(
    "view picture photo photograph image closeup close shot scene end part side".split()
)
ENOUGH = 2
"""So many content words beside what is exchanged make a caption, or one for another thing."""


@dataclass(frozen=True, eq=False)
class Exchange:
    """What is exchanged in one text: `ways` leads from each other name to a candidate's place."""

    image: str
    kind: str
    caption: str
    was: str
    ways: Mapping[str, int]
    parse: Parse
    tokens: frozenset[int]
    said: tuple[Said, ...]

    @cached_property
    def anchors(self) -> frozenset[Statement]:
        """What follows from statements about what is exchanged."""
        return frozenset(one for one in heard(self.said) if SLOT in one)


@dataclass(frozen=True, slots=True)
class Edge:
    """A slot and another image that may show the same with another name in it."""

    slot: int
    now: str
    image: str
    content: int
    left_out: frozenset[int]
    cut: int


@dataclass(eq=False)
class Heard:
    """What the captions of images say about what candidates exchange."""

    images: dict[tuple[str, str, Statement], set[str]] = field(
        default_factory=lambda: defaultdict(set)
    )
    statements: dict[tuple[str, str, str], set[Statement]] = field(
        default_factory=lambda: defaultdict(set)
    )
    slots: dict[tuple[str, str, str, str], list[int]] = field(
        default_factory=lambda: defaultdict(list)
    )

    @classmethod
    def of(cls, slots: Sequence[Exchange]) -> Heard:
        """By image, kind and name."""
        known = cls()
        for number, slot in enumerate(slots):
            truths = heard(slot.said)
            known.statements[slot.image, slot.kind, slot.was] |= truths
            for statement in truths:
                known.images[slot.kind, slot.was, statement].add(slot.image)
            for now in slot.ways:
                known.slots[slot.image, slot.kind, slot.was, now].append(number)
        return known


def slots_of(
    candidates: Sequence[PairCandidate], parsed: Callable[[Sequence[str]], Sequence[Parse]]
) -> list[Exchange]:
    """Candidates that exchange the same words of the same text, together."""
    groups: dict[tuple[Any, ...], dict[str, int]] = {}
    for place, one in enumerate(candidates):
        key = (one.true, one.start, one.end, one.image, one.kind, one.caption, one.was)
        groups.setdefault(key, {}).setdefault(one.now, place)
    texts = list(dict.fromkeys(key[0] for key in groups))
    by_text: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for key in groups:
        by_text[key[0]].append(key)
    slots = []
    for text, parse in zip(texts, parsed(texts), strict=True):
        for key in by_text[text]:
            _, start, end, image, kind, caption, was = key
            places = frozenset(t.place for t in parse if t.begin < end and t.end > start)
            said = tuple(statements(parse, places))
            slots.append(Exchange(image, kind, caption, was, groups[key], parse, places, said))
    return slots


def edges_of(slots: Sequence[Exchange], number: int, known: Heard) -> Iterator[Edge]:
    """The images for which some of a slot's caption is true with another name in it."""
    slot = slots[number]
    begin = _opening(slot)
    loose = [part for part in parts(slot.parse) if not part & (slot.tokens | begin)]
    anywhere = begin.union(*loose)
    made = [one for one in slot.said if one.places and begin.isdisjoint(one.places)]
    base = {one.statement for one in made if anywhere.isdisjoint(one.places)}
    of_parts = [
        {one.statement for one in made if not part.isdisjoint(one.places)} for part in loose
    ]
    anchors = frozenset(statement for statement in base if SLOT in statement)
    for now in slot.ways:
        for image in sorted(_images(slot.kind, now, base, of_parts, known)):
            counterparts = known.slots.get((image, slot.kind, now, slot.was), ())
            if image == slot.image or not counterparts:
                continue
            if slot.kind in ANCHORED and not any(
                anchors <= slots[other].anchors for other in counterparts
            ):
                continue
            true = known.statements[image, slot.kind, now]
            unsaid = [part for part, own in zip(loose, of_parts, strict=True) if not own <= true]
            left_out = begin.union(*unsaid)
            rest = [t for t in slot.parse if t.place not in left_out and t.place not in slot.tokens]
            content = sum(token.pos in CONTENT for token in rest)
            thing = slot.kind not in ANCHORED and any(_is_thing(token) for token in rest)
            if not (content >= ENOUGH or thing) or (left_out and any(map(_is_loose, rest))):
                continue
            if is_complete(slot.parse, left_out):
                yield Edge(number, now, image, content, left_out, len(left_out - begin))


def _opening(slot: Exchange) -> frozenset[int]:
    """What the caption begins with that says nothing, if one statement at most leads on."""
    begin = opening(slot.parse)
    leading = [
        one for one in slot.said if begin & {*one.places} and not begin.issuperset(one.places)
    ]
    return begin if begin.isdisjoint(slot.tokens) and len(leading) < 2 else frozenset()


def _is_loose(token: Token) -> bool:
    """Whether a word may have lost what it goes with: a pronoun, or what a comma joins."""
    return token.text == "," or (token.pos == "PRON" and token.tag == "PRP")


def _is_thing(token: Token) -> bool:
    named = token.pos in ("NOUN", "PROPN") and token.dep != "compound"
    return named and token.lemma.lower() not in GROUPS | VIEWS


def _images(
    kind: str,
    now: str,
    base: set[Statement],
    of_parts: Sequence[set[Statement]],
    known: Heard,
) -> set[str]:
    """The images whose captions make all statements of the base, or else those of some part."""
    if base:
        found = sorted((known.images.get((kind, now, one), set()) for one in base), key=len)
        return found[0].intersection(*found[1:])
    by_part = (
        set.intersection(*(known.images.get((kind, now, one), set()) for one in own))
        for own in of_parts
        if own
    )
    return set().union(*by_part)

"""Attributes that a thing does not have: one in the place of another, or one more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tellapart.mine.negatives.edit import Change, Edit
from tellapart.mine.negatives.phrases import Phrase
from tellapart.mine.negatives.rules.classes import CONTRARIES, COUNTS, SORT
from tellapart.mine.negatives.rules.desk import Desk
from tellapart.mine.negatives.words import NO_THINGS, PEOPLE, PRONOUNS

UNUSUAL = 0.02
"""Least use of an attribute with a noun, as a part of the most usual one's: no red snow."""
SHADES = frozenset("dark light bright pale deep neon very mostly half all".split())
"""Words before an attribute that belong to it."""
OPINIONS = frozenset(("size", "age", "state", "filling"))
"""Sorts on which people differ: two captions must speak of them."""
AGES = frozenset("baby adult toddler infant child".split())
"""Words in a noun that tell an age by themselves."""
GENDERED = frozenset(word for word, _ in PRONOUNS)
MEMBERS = frozenset("both each other another one pair couple all rest".split())
"""Words that speak of the members of a group, whose number must then stay."""


def replace_attribute(desk: Desk) -> Iterator[Edit]:
    """An attribute gives way to one of its sort that excludes it and that the noun takes."""
    for phrase in desk.reading.phrases:
        if phrase.kernel in NO_THINGS:
            continue
        for token in phrase.attributes:
            word = desk.word(token)
            if token and desk.word(token - 1) in SHADES:
                continue
            others = _counts(desk, phrase, word) if word in COUNTS else _others(desk, phrase, word)
            for other, weight in others:
                yield Edit((desk.put(token, token, other),), word, other, weight)


def _others(desk: Desk, phrase: Phrase, word: str) -> Iterator[tuple[str, float]]:
    """What excludes an attribute of a thing, and goes before its noun in the corpus."""
    known = desk.lists.pairs.attributes.get(phrase.kernel)
    if word not in SORT or not known or not is_settled(desk, phrase, SORT[word]):
        return
    usual = max((n for other, n in known.items() if SORT.get(other) == SORT[word]), default=0)
    for other, close in CONTRARIES[word].items():
        if known.get(other, 0) >= max(1, UNUSUAL * usual) and not is_said(desk, close):
            yield other, known[other] ** 0.5


def is_said(desk: Desk, close: frozenset[str]) -> bool:
    """Whether a caption has an attribute or one that means nearly the same, of whatever thing."""
    return desk.doubts(None if close.isdisjoint(desk.facts.words) else "said elsewhere")


def is_settled(desk: Desk, phrase: Phrase, sort: str) -> bool:
    """Whether it is clear which thing has an attribute, and that it has it."""
    if sort == "colour" and phrase.kernel in PEOPLE:
        return False
    if sort == "size" and phrase.plural:
        return False
    if sort == "age" and not AGES.isdisjoint(phrase.noun.split()):
        return False
    if sort == "gender" and any(t.text.lower() in GENDERED for t in desk.source.parse.tokens):
        return False
    if phrase.plural != (phrase.kernel in desk.facts.several):
        return not desk.doubts("may be several")
    if not phrase.plural and not desk.is_one(phrase):
        return not desk.doubts("may be several")
    if sort in OPINIONS or (sort == "colour" and phrase.plural):
        said = desk.facts.attributes.get(phrase.kernel, Counter())
        return sum(n for other, n in said.items() if SORT.get(other) == sort) >= 2
    return True


def _counts(desk: Desk, phrase: Phrase, word: str) -> Iterator[tuple[str, float]]:
    """Another count, where two captions agree on it and none has another."""
    facts = desk.facts
    here = {token.text.lower() for token in desk.source.parse.tokens}
    if not phrase.plural or not MEMBERS.isdisjoint(here):
        return
    people = PEOPLE | {"people"}
    kernels = people if phrase.kernel in people else {phrase.kernel}
    agree = sum(said[word] for kernel, said in facts.attributes.items() if kernel in kernels)
    if agree < 2 or any(other in facts.words for other in COUNTS if other != word):
        return
    place = COUNTS.index(word)
    for other in COUNTS[max(0, place - 2) : place + 3]:
        if other != word:
            yield other, 0.5


def add_attribute(desk: Desk) -> Iterator[Edit]:
    """An attribute that excludes what another caption says of the same thing."""
    tokens = desk.source.parse.tokens
    for phrase in desk.reading.phrases:
        if phrase.noun not in PEOPLE and phrase.noun not in desk.lists.nouns.known:
            continue
        elsewhere = [w for w in desk.facts.attributes.get(phrase.kernel, ()) if w in SORT]
        if not elsewhere or phrase.attributes or not _is_bare(desk, phrase):
            continue
        told = _sorts_told_behind(desk)
        for said in sorted(elsewhere):
            if SORT[said] in told:
                continue
            for other, weight in _others(desk, phrase, said):
                first = tokens[phrase.core]
                if phrase.core == 0:
                    change = Change(first.begin, first.end, f"{other} {first.text.lower()}")
                else:
                    change = Change(first.begin, first.begin, f"{other} ")
                yield Edit((change,), "", other, weight)


def _sorts_told_behind(desk: Desk) -> set[str]:
    """Sorts of attributes that the caption speaks of other than before a noun: `painted red`."""
    before = {k for phrase in desk.reading.phrases for k in phrase.attributes}
    words = (desk.word(k) for k in range(len(desk.source.parse.tokens)) if k not in before)
    return {SORT[word] for word in words if word in SORT}


def _is_bare(desk: Desk, phrase: Phrase) -> bool:
    """Whether nothing but an article stands before the noun."""
    if any(desk.word(k) in SORT for k in range(phrase.core, phrase.head)):
        return False
    if phrase.core == 0:
        return True
    before = desk.source.parse.tokens[phrase.core - 1]
    if before.pos == "DET" or before.tag == "PRP$":
        return True
    if not phrase.plural and not desk.lists.nouns.is_mass(phrase.noun):
        return False  # playing frisbee
    return phrase.start == phrase.core and before.pos in ("ADP", "VERB", "AUX")

"""Attributes that change places."""

from __future__ import annotations

from collections.abc import Iterator

from tellapart.mine.negatives.edit import Edit
from tellapart.mine.negatives.phrases import Phrase
from tellapart.mine.negatives.rules.attributes import SHADES
from tellapart.mine.negatives.rules.classes import CONTRARIES, SORT
from tellapart.mine.negatives.rules.desk import Desk
from tellapart.mine.negatives.words import NO_THINGS

IMPROBABLE = 0.03
"""Share of a noun's captions with an attribute, up to which a thing is unlikely to have it."""
ACROSS = frozenset(("colour", "material", "pattern", "shape"))
"""Sorts that may be exchanged with one another, not only within the sort."""
WOODY = frozenset("brown tan beige gold golden".split())
"""Colours that wooden things have."""


def swap_attribute(desk: Desk) -> Iterator[Edit]:
    """Two things exchange attributes, of which at least one then is wrong."""
    phrases = desk.reading.phrases
    for place, first in enumerate(phrases):
        for second in phrases[place + 1 :]:
            if first.kernel == second.kernel:
                continue
            for one in first.attributes:
                for two in second.attributes:
                    if _may_exchange(desk, (first, one), (second, two)):
                        changes = (
                            desk.put(one, one, desk.word(two)),
                            desk.put(two, two, desk.word(one)),
                        )
                        yield Edit(changes, desk.word(one), desk.word(two))


def _may_exchange(desk: Desk, first: tuple[Phrase, int], second: tuple[Phrase, int]) -> bool:
    (phrase, token), (other, other_token) = first, second
    one, two = desk.word(token), desk.word(other_token)
    if one == two or one not in SORT or two not in SORT:
        return False
    if SORT[one] != SORT[two] and not (_may_cross(one) and _may_cross(two)):
        return False
    if SORT[one] == SORT[two] and two not in CONTRARIES[one]:
        return False
    if not (_takes(desk, phrase, token, two) and _takes(desk, other, other_token, one)):
        return False
    wrong = _is_wrong(desk, phrase, one, two) or _is_wrong(desk, other, two, one)
    return wrong or not desk.doubts("may be true")


def _may_cross(attribute: str) -> bool:
    return SORT[attribute] in ACROSS and attribute not in WOODY


def _takes(desk: Desk, phrase: Phrase, instead_of: int, attribute: str) -> bool:
    """Whether a thing could have an attribute instead of its own, and no caption says it has."""
    if phrase.kernel in NO_THINGS or not desk.lists.pairs.takes(phrase.kernel, attribute):
        return False
    if instead_of and desk.word(instead_of - 1) in SHADES:
        return False
    mass = desk.lists.nouns.is_mass(phrase.noun)
    if mass and SORT[desk.word(instead_of)] == "size":  # a little water
        return False
    others = [desk.word(k) for k in _listed(desk, phrase) if k != instead_of]
    if any(SORT.get(other) == SORT[attribute] for other in (*others, *phrase.noun.split())):
        return False
    said = attribute in desk.facts.attributes.get(phrase.kernel, ())
    return not desk.doubts("said elsewhere" if said else None)


def _listed(desk: Desk, phrase: Phrase) -> list[int]:
    """A phrase's attributes, with those before it that a comma may have cut off."""
    tokens = desk.source.parse.tokens
    first = phrase.start
    while first and tokens[first - 1].pos in ("ADJ", "PUNCT", "CCONJ"):
        first -= 1
    return [*phrase.attributes, *range(first, phrase.start)]


def _is_wrong(desk: Desk, phrase: Phrase, old: str, new: str) -> bool:
    """Whether an attribute excludes the one that a thing has, or such things seldom have it."""
    if phrase.plural != (phrase.kernel in desk.facts.several):
        return False
    if not phrase.plural and not desk.is_one(phrase):
        return False
    if new in CONTRARIES.get(old, {}):
        return SORT[old] != "size"
    if SORT[new] == "size" or SORT[new] == "age":
        return False
    number = desk.lists.counts.attributes[new, phrase.kernel]
    return number <= IMPROBABLE * desk.lists.counts.nouns[phrase.kernel]

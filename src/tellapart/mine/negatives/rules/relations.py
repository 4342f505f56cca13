"""Relations that do not hold: another place, another posture, another deed."""

from __future__ import annotations

from collections.abc import Iterator

from tellapart.mine.negatives.edit import Edit
from tellapart.mine.negatives.phrases import Relation
from tellapart.mine.negatives.rules.desk import Desk
from tellapart.mine.negatives.rules.nouns import names_a_thing
from tellapart.mine.negatives.rules.verbs import DEEDS, FORMS, POSTURES, base_of, form_of_verb
from tellapart.mine.negatives.words import ANIMALS, BIRDS, GROUPS, NO_THINGS, PEOPLE, SCENES, WORN

SAME_PLACE = {
    "on": "on top of", "atop": "on top of", "upon": "on top of", "onto": "on top of",
    "underneath": "under", "beneath": "under", "below": "under", "inside of": "inside",
    "in": "inside", "within": "inside", "into": "inside", "in back of": "behind",
    "beside": "next to", "near": "next to", "by": "next to", "close to": "next to",
    "alongside": "next to", "near to": "next to", "over": "above", "outside of": "outside",
    "toward": "towards",
}  # fmt: skip
"""Prepositions that mean nearly the same, as a member of their group."""
OTHER_PLACES = {
    "on top of": ("under", "underneath", "next to", "behind", "in front of"),
    "under": ("on top of", "above"),
    "inside": ("outside", "under", "behind", "next to"),
    "in front of": ("behind", "on top of", "inside", "under"),
    "behind": ("in front of", "on top of", "under", "inside"),
    "next to": ("on top of", "under", "inside"),
    "above": ("under", "below", "behind"),
    "outside": ("inside",),
    "at": ("under", "on top of"),
    "towards": ("away from",),
    "away from": ("towards",),
    "out of": ("into",),
}
"""What something is not, where it is so."""
STAYING = frozenset("parked resting perched placed displayed leaning seated stuck".split())
"""Verbs beside those of posture that say where something stays."""
EITHER_SIDE = frozenset(
    """table desk counter laptop computer monitor keyboard tv television plate cake pizza food
    camera microphone bar podium stand crowd window fence door mirror screen glass net
    gate""".split()
)
"""Things of which it depends on the view whether one is in front of them or behind or inside."""
USED = frozenset("laptop computer phone cellphone tablet tv swing".split()) | {"cell phone"}
"""What people are `on` when they use it."""
COVERS = frozenset("tree umbrella canopy tent parasol".split())
"""What one is under even when one is in front of it."""
VIEWS = frozenset(("in front of", "behind", "inside"))


def replace_relation(desk: Desk) -> Iterator[Edit]:
    """A relation gives way to one that excludes it and that the corpus has for such things."""
    verbs: set[int] = set()
    for relation in desk.reading.relations:
        if relation.last > relation.first:
            yield from _other_place(desk, relation)
        elif relation.subject >= 0 and _is_alive(desk, relation):
            yield from _other_deed(desk, relation)
        if relation.verb >= 0 and relation.subject >= 0 and relation.verb not in verbs:
            verbs.add(relation.verb)
            yield from _other_posture(desk, relation)


def _other_place(desk: Desk, relation: Relation) -> Iterator[Edit]:
    phrases, pairs, facts = desk.reading.phrases, desk.lists.pairs, desk.facts
    thing = phrases[relation.object]
    if thing.kernel in SCENES or relation.subject < 0 or thing.kernel in facts.several:
        return
    if not names_a_thing(thing.noun) or _has_parts(desk, relation.object):
        return
    if phrases[relation.subject].kernel in NO_THINGS - GROUPS:
        return
    if thing.kernel in USED and phrases[relation.subject].kernel in PEOPLE:
        return
    subject = phrases[relation.subject].kernel
    verb = desk.word(relation.verb) if relation.verb >= 0 else ""
    if verb and base_of(verb) not in POSTURES and verb not in STAYING:
        return
    group = SAME_PLACE.get(relation.name, relation.name)
    for other in OTHER_PLACES.get(group, ()):
        if (other, thing.kernel) not in pairs.behind or (subject, other) not in pairs.before:
            continue
        if thing.kernel in COVERS and "under" in (group, other):
            continue
        if thing.kernel in EITHER_SIDE and not VIEWS.isdisjoint((group, other)):
            continue
        if verb and (verb, other) not in pairs.verbs:
            continue
        same = {other, *(name for name, one in SAME_PLACE.items() if one == other)}
        if any((name, thing.kernel) in facts.relations for name in same):
            desk.doubts("said elsewhere")
            continue
        change = desk.put(relation.first, relation.last - 1, other)
        number = pairs.counts.behind[other, thing.kernel]
        yield Edit((change,), relation.name, other, number**0.5)


def _has_parts(desk: Desk, place: int) -> bool:
    """Whether a phrase goes on with `of`: a bed of flowers is no bed."""
    return any(r.subject == place and r.name == "of" for r in desk.reading.relations)


def _is_alive(desk: Desk, relation: Relation) -> bool:
    """Whether the one who does it is a person or an animal, or a group of them."""
    phrases = desk.reading.phrases
    subject = phrases[relation.subject]
    alive = PEOPLE | ANIMALS | {"people"}
    if subject.kernel in GROUPS and subject.kernel != "people":
        members = [
            phrases[r.object].kernel
            for r in desk.reading.relations
            if r.subject == relation.subject and r.name == "of"
        ]
        return subject.kernel == "couple" or any(kernel in alive for kernel in members)
    return subject.kernel in alive


def _other_posture(desk: Desk, relation: Relation) -> Iterator[Edit]:
    token = desk.source.parse.tokens[relation.verb]
    word = token.text.lower()
    base = base_of(word)
    tokens, pairs = desk.source.parse.tokens, desk.lists.pairs
    if base not in POSTURES or relation.last == relation.first or not _is_alive(desk, relation):
        return
    if tokens[token.place + 1].place != relation.first:
        return
    subject = desk.reading.phrases[relation.subject].kernel
    thing = desk.reading.phrases[relation.object].kernel
    for other in POSTURES[base]:
        if {base, other} == {"sit", "stand"} and subject in BIRDS:
            continue
        form = form_of_verb(other, word)
        if (subject, form) not in pairs.does or (form, relation.name, thing) not in pairs.acts:
            continue
        if desk.doubts(None if FORMS[other].isdisjoint(desk.facts.words) else "said elsewhere"):
            continue
        number = pairs.counts.does[subject, form]
        yield Edit((desk.put(token.place, token.place, form),), word, form, number**0.5)


def _other_deed(desk: Desk, relation: Relation) -> Iterator[Edit]:
    tokens = desk.source.parse.tokens
    token = tokens[relation.verb]
    word = token.text.lower()
    pairs, phrases = desk.lists.pairs, desk.reading.phrases
    kernel = phrases[relation.object].kernel
    if phrases[relation.object].noun not in desk.lists.nouns.known:
        return
    for other in DEEDS.get(base_of(word), ()):
        if other == "wear" and kernel not in WORN:
            continue
        if other == "ride" and any(base_of(t.text.lower()) in POSTURES for t in tokens):
            continue  # nobody rides while walking
        form = form_of_verb(other, word)
        if (form, kernel) not in pairs.behind:
            continue
        if (phrases[relation.subject].kernel, form) not in pairs.does:
            continue
        if desk.doubts(None if FORMS[other].isdisjoint(desk.facts.words) else "said elsewhere"):
            continue
        number = pairs.counts.behind[form, kernel]
        yield Edit((desk.put(token.place, token.place, form),), word, form, number**0.5)

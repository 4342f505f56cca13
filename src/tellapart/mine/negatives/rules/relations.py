"""Relations that do not hold: another place, another posture, another action."""

from __future__ import annotations

from collections.abc import Iterator

from tellapart.mine.negatives.actions import (
    DEEDS,
    FORMS,
    POSTURES,
    base_of,
    form_of_verb,
)
from tellapart.mine.negatives.negative import Edit
from tellapart.mine.negatives.phrases import (
    ANIMALS,
    BIRDS,
    GROUPS,
    NO_THINGS,
    PEOPLE,
    SCENES,
    WORN,
    Relation,
)
from tellapart.mine.negatives.rules.context import CaptionContext
from tellapart.mine.negatives.rules.usage import names_a_thing

SAME_PLACE = {
    "on": "on top of", "atop": "on top of", "upon": "on top of", "onto": "on top of",
    "underneath": "under", "beneath": "under", "below": "under", "inside of": "inside",
    "in": "inside", "within": "inside", "into": "inside", "in back of": "behind",
    "beside": "next to", "near": "next to", "by": "next to", "close to": "next to",
    "alongside": "next to", "near to": "next to", "over": "above", "outside of": "outside",
    "toward": "towards",
}  # fmt: skip
"""Prepositions that mean nearly the same, each mapped to one of its group."""
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
"""The places that each place excludes."""
STAYING = frozenset("parked resting perched placed displayed leaning seated stuck".split())
"""Verbs besides those of posture that say where something stays."""
EITHER_SIDE = frozenset(
    """table desk counter laptop computer monitor keyboard tv television plate cake pizza food
    camera microphone bar podium stand crowd window fence door mirror screen glass net
    gate""".split()
)
"""Things for which "in front of", "behind" and "inside" depend on the view."""
USED = frozenset("laptop computer phone cellphone tablet tv swing".split()) | {"cell phone"}
"""Things that people are `on` when they use them."""
COVERS = frozenset("tree umbrella canopy tent parasol".split())
"""Things that one is under even when in front of them."""
VIEWS = frozenset(("in front of", "behind", "inside"))
PARTLY = frozenset("close closeup face head mirror reflection window".split())
"""Words of captions whose picture may not show a whole body, so that a posture is not seen."""


def replace_relation(context: CaptionContext) -> Iterator[Edit]:
    """Replace a relation by one that excludes it and that the corpus has for such things."""
    verbs: set[int] = set()
    for relation in context.reading.relations:
        if relation.last > relation.first:
            yield from _other_place(context, relation)
        elif relation.subject >= 0 and _is_alive(context, relation):
            yield from _other_deed(context, relation)
        if relation.verb >= 0 and relation.subject >= 0 and relation.verb not in verbs:
            verbs.add(relation.verb)
            yield from _other_posture(context, relation)


def _other_place(context: CaptionContext, relation: Relation) -> Iterator[Edit]:
    phrases, pairs, facts = context.reading.phrases, context.lists.collocations, context.facts
    thing, subject = phrases[relation.object], phrases[relation.subject].kernel
    if thing.kernel in SCENES or relation.subject < 0 or thing.kernel in facts.several:
        return
    # A bed of flowers is not a bed.
    has_parts = any(
        r.subject == relation.object and r.name == "of" for r in context.reading.relations
    )
    if has_parts or not names_a_thing(thing.noun) or subject in NO_THINGS - GROUPS:
        return
    if thing.kernel in USED and subject in PEOPLE:
        return
    verb = context.word(relation.verb) if relation.verb >= 0 else ""
    if verb and base_of(verb) not in POSTURES and verb not in STAYING:
        return
    group = SAME_PLACE.get(relation.name, relation.name)
    if group not in OTHER_PLACES or not _is_agreed_place(context, group, thing.kernel):
        return
    for other in OTHER_PLACES[group]:
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
            context.doubts("said elsewhere")
            continue
        change = context.put(relation.first, relation.last - 1, other)
        number = pairs.counts.behind[other, thing.kernel]
        yield Edit((change,), relation.name, other, number**0.5)


def _is_agreed_place(context: CaptionContext, group: str, kernel: str) -> bool:
    """Whether captions agree that something is in a place, by any preposition of its group."""
    return context.is_salient(
        lambda _, reading: any(
            SAME_PLACE.get(one.name, one.name) == group
            and reading.phrases[one.object].kernel == kernel
            for one in reading.relations
        )
    )


def _is_agreed_verb(context: CaptionContext, base: str) -> bool:
    """Whether captions agree on what is done, by any form of the verb."""
    forms = FORMS[base]
    return context.is_salient(
        lambda parse, _: any(token.text.lower() in forms for token in parse.tokens)
    )


def _is_alive(context: CaptionContext, relation: Relation) -> bool:
    """Whether the subject is a person or an animal, or a group of them."""
    phrases = context.reading.phrases
    subject = phrases[relation.subject]
    alive = PEOPLE | ANIMALS | {"people"}
    if subject.kernel in GROUPS and subject.kernel != "people":
        members = [
            phrases[r.object].kernel
            for r in context.reading.relations
            if r.subject == relation.subject and r.name == "of"
        ]
        return subject.kernel == "couple" or any(kernel in alive for kernel in members)
    return subject.kernel in alive


def _other_posture(context: CaptionContext, relation: Relation) -> Iterator[Edit]:
    pairs, word = context.lists.collocations, context.word(relation.verb)
    base = base_of(word)
    if base not in POSTURES or relation.last == relation.first or not _is_alive(context, relation):
        return
    if relation.verb + 1 != relation.first:
        return
    subject = context.reading.phrases[relation.subject].kernel
    thing = context.reading.phrases[relation.object].kernel
    if context.reading.phrases[relation.subject].plural or subject in GROUPS:
        return  # some of several may do the one, some the other
    said = context.facts.words
    if any(not FORMS[other].isdisjoint(said) for other in POSTURES[base].split()):
        context.doubts("said otherwise")
        return
    if not PARTLY.isdisjoint(said) or not _is_agreed_verb(context, base):
        return
    for other in POSTURES[base].split():
        if {base, other} == {"sit", "stand"} and subject in BIRDS:
            continue
        form = form_of_verb(other, word)
        if (subject, form) in pairs.does and (form, relation.name, thing) in pairs.acts:
            number = pairs.counts.does[subject, form]
            yield from _other_verb(context, relation.verb, other, form, number)


def _other_deed(context: CaptionContext, relation: Relation) -> Iterator[Edit]:
    pairs, word = context.lists.collocations, context.word(relation.verb)
    subject = context.reading.phrases[relation.subject].kernel
    thing = context.reading.phrases[relation.object]
    if thing.noun not in context.lists.nouns.known:
        return
    base = base_of(word)
    if base not in DEEDS or not _is_agreed_verb(context, base):
        return
    for other in DEEDS[base].split():
        if other == "wear" and thing.kernel not in WORN:
            continue
        words = (token.text.lower() for token in context.source.parse.tokens)
        if other == "ride" and any(base_of(one) in POSTURES for one in words):
            continue  # nobody rides while walking
        form = form_of_verb(other, word)
        if (form, thing.kernel) in pairs.behind and (subject, form) in pairs.does:
            number = pairs.counts.behind[form, thing.kernel]
            yield from _other_verb(context, relation.verb, other, form, number)


def _other_verb(
    context: CaptionContext, place: int, base: str, form: str, number: int
) -> Iterator[Edit]:
    """Another verb at a token, if no caption has it; `number` is its count in the corpus."""
    said = not FORMS[base].isdisjoint(context.facts.words)
    if not context.doubts("said elsewhere" if said else None):
        yield Edit((context.put(place, place, form),), context.word(place), form, number**0.5)

"""Relations that do not hold: another place, another posture, another action."""

from __future__ import annotations

from collections.abc import Iterator

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
_FORMS = {
    "sit": "sit sits sitting sat seated seat", "stand": "stand stands standing stood",
    "lie": "lie lies lying lay lays laying laid resting rests rest sleeping asleep",
    "walk": "walk walks walking walked", "run": "run runs running ran",
    "sleep": "sleep sleeps sleeping slept asleep",
    "jump": "jump jumps jumping jumped leaping leaps leap", "fly": "fly flies flying flew",
    "swim": "swim swims swimming swam", "climb": "climb climbs climbing climbed",
    "kneel": "kneel kneels kneeling knelt", "eat": "eat eats eating ate grazing graze grazes",
    "ride": "ride rides riding rode", "push": "push pushes pushing pushed",
    "pull": "pull pulls pulling pulled", "carry": "carry carries carrying carried",
    "wash": "wash washes washing washed", "lead": "lead leads leading led",
    "feed": "feed feeds feeding fed", "pet": "pet pets petting petted",
    "fix": "fix fixes fixing fixed", "hold": "hold holds holding held",
    "wear": "wear wears wearing wore", "drive": "drive drives driving drove",
    "kick": "kick kicks kicking kicked", "throw": "throw throws throwing threw",
    "hit": "hit hits hitting hit", "catch": "catch catches catching caught",
    "cut": "cut cuts cutting cut", "make": "make makes making made", "use": "use uses using used",
}  # fmt: skip
_SHAPES = ("base", "s", "ing")
"""The positions of the forms that rules insert: sit, sits, sitting."""
FORMS = {base: frozenset(forms.split()) for base, forms in _FORMS.items()}
"""All forms of a verb, and near synonyms."""
_SPELT = {base: dict(zip(_SHAPES, forms.split(), strict=False)) for base, forms in _FORMS.items()}
_BASE = {form: (base, shape) for base, forms in _SPELT.items() for shape, form in forms.items()}
_BASE |= {"laying": ("lie", "ing"), "lays": ("lie", "s"), "seated": ("sit", "ing")}
POSTURES = {
    "sit": "stand run walk jump", "stand": "sit lie kneel jump", "lie": "stand walk run jump",
    "walk": "sit lie", "run": "sit lie stand", "sleep": "stand walk run jump eat",
    "jump": "sit lie sleep", "fly": "sit walk swim", "swim": "fly walk stand",
    "climb": "sit sleep lie", "kneel": "stand run walk",
}  # fmt: skip
"""The actions that each posture excludes."""
DEEDS = {
    "ride": "push carry wash lead feed pet fix pull", "wear": "hold carry",
    "drive": "push wash fix", "hold": "wear ride kick", "carry": "ride wear throw",
    "push": "pull ride carry", "pull": "push ride carry", "eat": "make throw",
    "throw": "kick hit", "hit": "kick catch", "kick": "throw hit catch", "catch": "kick",
    "feed": "ride wash pet", "pet": "ride wash feed", "lead": "ride feed wash",
    "wash": "ride drive carry", "fix": "ride drive", "use": "carry fix wash",
}  # fmt: skip
"""The actions on a thing that each action on it excludes."""


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
    if not _is_agreed_verb(context, base):
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


def base_of(form: str) -> str:
    """The base form of a verb in the tables, else an empty string.

    >>> base_of("sitting"), base_of("thinks")
    ('sit', '')
    """
    return _BASE.get(form, ("", ""))[0]


def form_of_verb(base: str, like: str) -> str:
    """A verb in the form of another, or an empty string if that form is not known.

    >>> form_of_verb("stand", "sitting"), form_of_verb("stand", "sat")
    ('standing', '')
    """
    shape = _BASE.get(like, ("", ""))[1]
    return _SPELT[base].get(shape, "")

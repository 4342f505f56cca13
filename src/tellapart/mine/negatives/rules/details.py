"""True details of an image against false ones, inserted into the same caption.

A caption with a false detail added is given away by its length. So the true caption gets a detail,
too: a thing that another caption names or that is in the list of objects, or an attribute that
another caption gives to the thing. Both details are of one sort, have the same number of words and
nearly the same length, and are inserted at the same place by the same rule; a detail that is true
of one image may be false of another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tellapart.mine.negatives.colours import SPELLINGS
from tellapart.mine.negatives.negative import Change, Edit
from tellapart.mine.negatives.phrases import (
    GROUPS,
    NO_THINGS,
    PEOPLE,
    SCENES,
    WORN,
    Phrase,
    Relation,
    kernel_of,
)
from tellapart.mine.negatives.rules.alternatives import is_level
from tellapart.mine.negatives.rules.attributes import (
    CONTRARIES,
    SORT,
    before_noun,
    contrary_attributes,
)
from tellapart.mine.negatives.rules.context import AGREED, CaptionContext, Collocates, most_of
from tellapart.mine.negatives.rules.objects import PLACES, may_be_joined
from tellapart.mine.negatives.rules.usage import ATTESTED, anybody
from tellapart.text.english import article
from tellapart.text.parses import Parse, Token

NEARNESS = frozenset("with near by beside".split()) | {"next to"}
"""Relations that only say that two things are together."""
DEEDS = {
    f"{stem}ing": (f"{stem}ing", third)
    for stem, third in (
        ("hold", "holds"), ("carry", "carries"), ("rid", "rides"), ("eat", "eats"), ("us", "uses"),
        ("pull", "pulls"), ("push", "pushes"), ("driv", "drives"), ("feed", "feeds"),
        ("pett", "pets"), ("cutt", "cuts"), ("mak", "makes"), ("prepar", "prepares"),
        ("wash", "washes"), ("touch", "touches"), ("watch", "watches"), ("lead", "leads"),
        ("throw", "throws"), ("catch", "catches"), ("kick", "kicks"), ("swing", "swings"),
        ("cook", "cooks"), ("serv", "serves"), ("lick", "licks"), ("chas", "chases"),
    )
}  # fmt: skip
"""What somebody does with a thing, in the form added and in the forms of captions."""
ADDED = DEEDS | {
    name: (name,)
    for name in (*NEARNESS, "in front of", "behind", "on", "on top of", "under", "in", "inside")
}
"""Relations that may be added, each with its possible forms in another caption."""
RESTS = frozenset(
    """sitting sits sit seated standing stands stand laying lays lay lying lies lie sleeping sleeps
    resting rests perched perching parked placed displayed set curled lounging lounges relaxing
    posed posing crouching kneeling leaning floating flying hanging""".split()
)
"""Verbs that locate somebody or something; `looking at books on a table` does not."""
UNFIT = frozenset(("orange", "toilet"))
"""Nouns that usually mean something else, or whose like is elsewhere."""
ATOP = frozenset(("on", "on top of"))
COMMON = frozenset(("table", "chair"))
"""Things that are near many others without being mentioned."""
SURFACES = frozenset("table desk counter plate".split())
"""Surfaces for things, but rarely for people."""
CONFUSED = frozenset(
    frozenset(pair.split())
    for pair in (
        "couch chair", "sofa chair", "couch bed", "sofa bed", "chair bench", "table desk",
        "chair bed", "car truck", "cup bowl", "oven stove", "bus truck", "laptop computer",
        "bear dog", "fridge refrigerator", "tv television", "knife spoon", "knife fork",
        "fork spoon",
    )
)  # fmt: skip
"""Things that are often confused with each other."""
ROOMS = frozenset(("kitchen", "bathroom", "bedroom", "office", "room")) | {
    "living room", "dining room", "hotel room", "bath room",
}  # fmt: skip
"""Rooms, which contain everything in the image."""
STRANGERS = 2
"""How many nouns of a caption the corpus need not have together with a detail."""
UNREAL = frozenset(
    """toy stuffed fake plastic statue drawn painted miniature model decorative wooden metal ceramic
    chocolate shaped paper""".split()
)
"""Words that mean that a thing may not be real."""
ONE = frozenset(("a", "an", "the", "his", "her", "another", "one"))
"""Determiners of a single thing."""
NAMING = ONE | {"", "its", "their", "this", "that", "'s"}
"""Determiners with which a caption names a thing that is present (unlike `no`)."""


def attribute_details(context: CaptionContext) -> Iterator[Edit]:
    """Another caption's attribute of a thing, against a contrary of the same length.

    No sizes: whether a cat is small depends on the comparison, which pictures do not show. Half of
    the captions must agree: a dog that one person calls white is cream to others.
    """
    if context.source.text.isupper():
        return
    for phrase, attribute, other, _ in contrary_attributes(context):
        times = context.facts.attributes[phrase.kernel][attribute]
        if SORT[attribute] == "size" or times < max(AGREED, most_of(len(context.readings))):
            continue
        if not is_level(attribute, other) or attribute not in CONTRARIES.get(other, ()):
            continue
        if _is_all_that(context, phrase, attribute):
            weight = context.lists.collocations.attributes[phrase.kernel][other]
            true, false = (before_noun(context, phrase, word) for word in (attribute, other))
            yield Edit((false,), attribute, other, weight, (true,))


def _is_all_that(context: CaptionContext, phrase: Phrase, attribute: str) -> bool:
    """Whether a caption gives such a thing this attribute, and none gives another of its sort.

    A white and red bus is not a white bus, nor is one that others call gray.
    """
    sort, said, found = SORT[attribute], [SPELLINGS.get(attribute, attribute)], False
    for parse, reading in context.readings:
        for one in reading.phrases:
            words = [parse.tokens[k].text.lower() for k in one.attributes]
            alike = [word for word in words if SORT.get(word) == sort]
            if one.kernel != phrase.kernel or not alike:
                continue
            if one.noun.removesuffix(one.kernel).strip().endswith("ing"):
                return False  # in yellow vest riding motorcycle
            if [SPELLINGS.get(word, word) for word in alike] != said:
                return False
            found = found or one.plural == phrase.plural
    return found


class Spot(NamedTuple):
    """Where a thing may be added: after which letter, with which words, beside which noun."""

    end: int
    words: str
    anchor: str
    needed: Collocates

    def put(self, detail: str) -> Change:
        """The change that inserts a detail there."""
        return Change(self.end, self.end, f" {self.words} {detail}")


def object_details(context: CaptionContext) -> Iterator[Edit]:
    """A thing that this caption does not mention, against one of its sort that is absent.

    Two captions must name it: a cat that one person sees on a bed may lie on something else.
    """
    if context.source.text.isupper():
        return
    for noun in _unsaid_things(context):
        for spot in (*_joints(context, noun), *_relations(context, noun)):
            if not _reads_well(context, spot, noun):
                continue
            for other in context.lists.alternatives.peers(noun):
                if {noun, other} in CONFUSED or not _reads_well(context, spot, other):
                    continue
                if context.absent(other, spot.anchor):
                    true, false = _with_article(context, noun), _with_article(context, other)
                    weight = _expected(context, spot, other)
                    yield Edit((spot.put(false),), true, false, weight, (spot.put(true),))


def _reads_well(context: CaptionContext, spot: Spot, noun: str) -> bool:
    """Whether the corpus has a noun in such a spot, and with the other nouns of the caption.

    True and false details must meet the same conditions: otherwise a noun alone would give a detail
    away.
    """
    counts, kernel, anchor = context.lists.counts, kernel_of(noun), kernel_of(spot.anchor)
    if noun in UNFIT or (spot.words in NEARNESS and noun in COMMON):
        return False
    if spot.words in ATOP and noun in SURFACES and anybody(anchor) in GROUPS | {"person"}:
        return False
    if spot.words == "with" and anchor in ROOMS:  # kitchens have sinks that few captions mention
        return False
    if spot.words == "and":
        times = counts.joined[noun, spot.anchor] + counts.joined[spot.anchor, noun]
    else:
        times = sum(counts.links[anybody(anchor), form, kernel] for form in ADDED[spot.words])
    beside = [counts.beside[min(noun, one), max(noun, one)] for one in spot.needed.beside]
    if times < ATTESTED or sum(number < ATTESTED for number in beside) > STRANGERS:
        return False
    return context.fits(spot.needed._replace(beside=[]), noun, kernel)


def _with_article(context: CaptionContext, noun: str) -> str:
    written = context.lists.nouns.written(noun, False)
    return f"{article(written)} {written}"


def _expected(context: CaptionContext, spot: Spot, noun: str) -> float:
    """How often captions have a noun together with the nouns of this one.

    True details occur equally often, so frequency gives neither away.
    """
    counts, beside = context.lists.counts, spot.needed.beside
    if not beside:
        return counts.nouns[noun]
    return sum(counts.beside[min(noun, one), max(noun, one)] for one in beside)


def _unsaid_things(context: CaptionContext) -> list[str]:
    """Nouns of things that the image shows but the caption does not name by any word."""
    peers = context.lists.alternatives.peers
    shown = {
        phrase.noun
        for parse, reading in context.readings
        for phrase in reading.phrases
        if not phrase.plural
        and phrase.determiner in NAMING
        and not any(parse.tokens[k].text.lower() in UNREAL for k in phrase.attributes)
    } | (context.facts.objects or frozenset())
    tokens, phrases = context.source.parse.tokens, context.reading.phrases
    words = {word for t in tokens for word in (t.text.lower(), t.lemma.lower())}
    own = {name for phrase in phrases for name in (phrase.noun, phrase.kernel)}
    return sorted(
        noun
        for noun in shown
        if peers(noun)
        and not any(word.startswith(noun[:4]) or word in noun.split() for word in words)
        and _may_be_told(context, noun)
        and _times_named(context, noun) >= AGREED
        and not any(_is_one_thing(context, noun, name) for name in own)
    )


def _may_be_told(context: CaptionContext, noun: str) -> bool:
    """Whether a noun means a real thing, which is in the list of objects if it could be."""
    kernel, facts, denotes = kernel_of(noun), context.facts, context.lists.nouns.denotes
    if kernel in SCENES | WORN:
        return False
    return (
        facts.objects is None or noun not in denotes or not denotes[noun].isdisjoint(facts.objects)
    )


def _times_named(context: CaptionContext, noun: str) -> int:
    """How many captions of the image name a thing, by this word or another for it."""
    same = {noun, *context.lists.nouns.same_things.get(noun, ())}
    return sum(
        any(phrase.noun in same or phrase.kernel in same for phrase in reading.phrases)
        for _, reading in context.readings
    )


def _is_one_thing(context: CaptionContext, noun: str, other: str) -> bool:
    """Whether two nouns may mean the same thing in the image."""
    nouns, sorts = context.lists.nouns, context.lists.alternatives
    if anybody(kernel_of(other)) == "person":
        return False
    objects = nouns.denotes.get(noun, frozenset()) - {"person"}
    if other in nouns.same_things.get(noun, ()) or objects & nouns.denotes.get(other, frozenset()):
        return True
    one, two = kernel_of(noun), kernel_of(other)
    if sorts.wordnet and sorts.wordnet.related(one, two):
        return True
    strange = other not in nouns.known and two not in SCENES | NO_THINGS
    alike = {noun, other} in CONFUSED or sorts.same_sort(noun, other)
    return (strange or alike) and not any(
        {one, two} <= {phrase.kernel for phrase in reading.phrases}
        for _, reading in context.readings
    )


def _joints(context: CaptionContext, noun: str) -> Iterator[Spot]:
    """Spots after nouns of things that share the thing's relations."""
    for place, phrase in enumerate(context.reading.phrases):
        relations = [r for r in context.reading.relations if place in (r.subject, r.object)]
        subject = any(relation.subject == place for relation in relations)
        if phrase.plural or phrase.determiner not in ONE or phrase.kernel in ROOMS or not relations:
            continue
        behind = [t.pos for t in context.source.parse.tokens[phrase.head + 1 :][:2]]
        if behind in (["ADP", "CCONJ"], ["ADP", "PUNCT"], ["ADP"]):  # with the TV on and ...
            continue
        if may_be_joined(context, phrase, subject) and all(
            _holds(context, place, kernel_of(noun), relation) for relation in relations
        ):
            needed = context.collocates(place)
            needed.beside.append(phrase.noun)
            end = context.source.parse.tokens[phrase.head].end
            yield Spot(end, "and", phrase.noun, needed)


def _holds(context: CaptionContext, place: int, kernel: str, relation: Relation) -> bool:
    """Whether a thing's relation holds for another thing, too, by other captions."""
    phrases, said, name = context.reading.phrases, context.facts.statements, context.name(relation)
    joined = any(
        {reading.phrases[one].kernel, reading.phrases[two].kernel}
        == {kernel, phrases[place].kernel}
        for _, reading in context.readings
        for one, two in reading.joined
    )
    if relation.subject == place:
        there = phrases[relation.object].kernel
        return name in PLACES and (joined or (kernel, name, there) in said)
    if name not in NEARNESS:
        return False
    subject = phrases[relation.subject].kernel if relation.subject >= 0 else ""
    return joined or any((subject, near, kernel) in said for near in NEARNESS)


def _relations(context: CaptionContext, noun: str) -> Iterator[Spot]:
    """Spots where a phrase can get another caption's relation to a thing."""
    phrases, tokens = context.reading.phrases, context.source.parse.tokens
    words = {token.text.lower() for token in tokens}
    known = [p.noun for p in phrases if p.noun in context.lists.nouns.known]
    for place, phrase in enumerate(phrases):
        if sum(p.kernel == phrase.kernel for p in phrases) > 1:
            continue
        several = context.facts.several
        if phrase.plural != (phrase.kernel in several):
            continue
        if kernel_of(noun) in several and (phrase.plural or phrase.kernel in GROUPS):
            continue
        for name in sorted(_names(context, phrase, noun)):
            behind = None if _is_used(name, words) else _behind(context, place, name)
            if behind is not None:
                needed = Collocates([name], [], [], [], known)
                yield Spot(behind.end, name, phrase.noun, needed)


def _is_used(name: str, words: set[str]) -> bool:
    """Whether a caption already has a relation, or an action in another form."""
    if name in DEEDS:
        return any(word.startswith(name[:3]) for word in words)
    return name.split(maxsplit=1)[0] in words


def _names(context: CaptionContext, phrase: Phrase, noun: str) -> set[str]:
    """Relations to a thing that captions state for the thing of a phrase."""
    said = {
        relation.name
        if relation.last > relation.first
        else parse.tokens[relation.verb].text.lower()
        for parse, reading in context.readings
        for relation in reading.relations
        if relation.subject >= 0
        and reading.phrases[relation.object].kernel == kernel_of(noun)
        and reading.phrases[relation.subject].plural == phrase.plural
        and _is_same(context, reading.phrases[relation.subject].kernel, phrase.kernel)
        and _is_told(parse, relation)
    }
    return {name for name, forms in ADDED.items() if not said.isdisjoint(forms)}


def _is_told(parse: Parse, relation: Relation) -> bool:
    """Whether a relation says where its subject is, not what is done there."""
    near = relation.name in NEARNESS or relation.verb < 0 or relation.first == relation.last
    return near or parse.tokens[relation.verb].text.lower() in RESTS


def _is_same(context: CaptionContext, one: str, other: str) -> bool:
    """Whether two kernels mean the same thing in the image."""
    if one == other or (context.facts.alone and {one, other} <= PEOPLE):
        return True
    denotes = context.lists.nouns.denotes
    shared = denotes.get(one, frozenset()) & denotes.get(other, frozenset()) - {"person"}
    return bool(shared) and context.facts.several.isdisjoint((one, other))


def _behind(context: CaptionContext, place: int, name: str) -> Token | None:
    """The token after which a relation of a phrase reads well."""
    tokens, phrases = context.source.parse.tokens, context.reading.phrases
    head = tokens[phrases[place].head]
    last = [token for token in tokens if token.pos not in ("PUNCT", "SPACE")][-1]
    if head.place == last.place:
        return head
    there = [
        phrases[relation.object]
        for relation in context.reading.relations
        if relation.subject == place and relation.first < relation.last
    ]
    ends = any(p.head == last.place and p.kernel not in ROOMS for p in there)
    verbs = any(token.pos == "VERB" for token in tokens)
    close = name == "with" or name in DEEDS
    # At the end of a caption, "on a bed" locates the last thing, not the first.
    if place == 0 and ends and name in NEARNESS and not (close and verbs):
        return last
    listed = head.dep == "conj" or any(
        token.head == head.place and token.dep in ("cc", "conj") for token in tokens
    )
    follows = tokens[head.place + 1]
    finite = follows.tag in ("VBZ", "VBP", "VBD") or follows.pos == "AUX"
    follows_well = finite or (phrases[place].kernel not in ROOMS and follows.tag in ("VBG", "VBN"))
    return head if follows_well and not listed else None

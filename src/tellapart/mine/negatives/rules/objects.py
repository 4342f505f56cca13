"""Objects that are not there: replaced, added, or exchanged."""

from __future__ import annotations

from collections.abc import Iterator

from tellapart.mine.negatives.negative import Change, Edit
from tellapart.mine.negatives.phrases import (
    ANIMALS,
    FEMALE,
    MALE,
    PEOPLE,
    PRONOUNS,
    SCENES,
    WORN,
    Phrase,
    Relation,
)
from tellapart.mine.negatives.rules.alternatives import Alternative
from tellapart.mine.negatives.rules.attributes import COUNTS
from tellapart.mine.negatives.rules.context import CaptionContext
from tellapart.mine.negatives.rules.usage import ATTESTED, FEWEST, form_of, names_a_thing
from tellapart.text.english import article

PLACES = frozenset(
    """on in at under underneath beneath behind inside near by beside above over below outside
    against along through across""".split()
) | {"on top of", "in front of", "next to", "close to"}
BEHIND = frozenset(("prep", "acl", "relcl", "appos"))
"""Dependencies of modifiers that follow a noun."""
CLOSE_BEHIND = frozenset((",", "of", "with", "without", "full", "filled", "that", "which"))
"""Words that belong to the noun before them."""
NUMBERS = frozenset((*COUNTS, "several", "many", "few", "multiple", "one", "various"))
LOOSE = frozenset("with near by beside behind holding holds".split()) | {"next to", "in front of"}
"""Relations that allow things of any sort."""
OTHER_GENDER = {"man": "woman", "boy": "girl", "woman": "man", "girl": "boy", "lady": "man"}
GENDER_MARKS = frozenset(
    """beard bearded mustache moustache tie necktie suit dress skirt bikini gown shirtless topless
    pregnant bra bride groom wedding makeup lipstick heels tuxedo bald ponytail baseball batter
    pitcher umpire priest nun king queen prom""".split()
)
"""Words that fit people of one gender, or would look odd with the other."""
UNCLEAR = frozenset(
    """ski skis skier skiing snowboard snowboarder snowboarding surfer surfing surf wave helmet
    wetsuit silhouette motorcycle biker parasail kite distance skateboarder baby infant person
    someone somebody""".split()
)
"""Words for cases where gender is hard to see, or was not stated."""
ONE_WAY = frozenset(
    """on atop under underneath beneath below above over inside onto
    holding holds carrying carries chasing chases following follows leading leads pulling pulls
    pushing pushes licking licks feeding feeds""".split()
) | {"on top of"}
"""Relations that are not symmetric."""
FACING = frozenset(("in front of",))
"""Relations that also hold in reverse if somebody faces a thing."""
FACES = frozenset("doll toy statue mannequin camera".split()) | {
    "teddy bear", "stuffed animal", "stuffed bear", "stuffed toy",
}  # fmt: skip
"""Things that face others."""
BEFORE_NOUN = frozenset(("DET", "ADJ", "NUM", "NOUN", "PROPN", "SPACE"))
"""What comes before a phrase that was read incompletely."""
ALIVE = PEOPLE | ANIMALS
ANYBODY = frozenset("person people human individual someone adult figure animal friend".split())
"""Words that may also mean the other one."""
CHILDREN = frozenset("kid child baby toddler youth".split())
RIDDEN = frozenset(
    """bike bicycle motorcycle skateboard surfboard snowboard ski horse scooter elephant bull
    phone laptop""".split()
)
"""Things that only one person is on."""
DISTINCTIVE = frozenset(
    f"{verb}{ending}"
    for verb in "hold carry rid wear push pull feed throw catch kick swing driv pett".split()
    for ending in ("ing", "s", "es")
) | frozenset(("carries", "drives", "pets"))
"""Actions that only one of two does."""
SEATS = frozenset("chair bench couch sofa bed boat floor".split())
"""Things that two may be on together, unless each is on another."""


def replace_object(context: CaptionContext) -> Iterator[Edit]:
    """Replace a thing by another with similar usage that is not in the image."""
    for place, phrase in enumerate(context.reading.phrases):
        if phrase.kernel in OTHER_GENDER:
            yield from _other_gender(context, phrase)
        elif phrase.kernel not in PEOPLE:
            yield from _other_thing(context, place, phrase)


def _other_thing(context: CaptionContext, place: int, phrase: Phrase) -> Iterator[Edit]:
    lists = context.lists
    noun = phrase.noun if phrase.noun in lists.nouns.known else phrase.kernel
    if noun not in lists.nouns.known or phrase.determiner in ("another", "each", "both", "other"):
        return
    if noun == "glass" and phrase.plural:  # maybe spectacles
        return
    if not context.is_named(phrase):
        return
    form, attributes = form_of(phrase), [context.word(k) for k in phrase.attributes]
    where = context.collocates(place)
    for other in lists.alternatives.alternatives(noun):
        if form not in other.forms or not context.fits(where, other.noun, other.kernel):
            continue
        if not all(lists.collocations.takes(other.kernel, one) for one in attributes):
            continue
        if context.absent(other.noun, noun):
            written = lists.nouns.written(other.noun, phrase.plural)
            change = context.put(phrase.core, phrase.head, written)
            yield Edit((change,), noun, other.noun, other.weight)


def _other_gender(context: CaptionContext, phrase: Phrase) -> Iterator[Edit]:
    """A man for a woman, if all captions mention one person and agree on the gender."""
    own, others = (MALE, FEMALE) if phrase.kernel in MALE else (FEMALE, MALE)
    words = context.facts.words
    most = max(3, len(context.readings))
    named = sum(context.facts.nouns.get(word, 0) for word in own)
    if phrase.plural or not context.facts.alone or named < most or not others.isdisjoint(words):
        return
    if not (GENDER_MARKS | UNCLEAR).isdisjoint(words) or phrase.core != phrase.head:
        return
    changes = [context.put(phrase.head, phrase.head, OTHER_GENDER[phrase.kernel])]
    for token in context.source.parse.tokens:
        other = PRONOUNS.get((token.text.lower(), token.tag))
        if other:
            changes.append(context.put(token.place, token.place, other))
    yield Edit(tuple(changes), phrase.kernel, OTHER_GENDER[phrase.kernel], 0.2)


def add_object(context: CaptionContext) -> Iterator[Edit]:
    """Add a thing, joined by `and` to one that the corpus joins it to."""
    lists = context.lists
    for place, phrase in enumerate(context.reading.phrases):
        same = _same_sort_wanted(context, place)
        if same is None or phrase.noun not in lists.nouns.known:
            continue
        if not may_be_joined(context, phrase, same):
            continue
        where, end = context.collocates(place), context.source.parse.tokens[phrase.head].end
        for other in lists.alternatives.companions(phrase.noun):
            if same and not other.same_sort:
                continue
            added = _added(context, phrase, other)
            if not added or not context.fits(where, other.noun, other.kernel):
                continue
            if context.absent(other.noun, phrase.noun):
                yield Edit((Change(end, end, f" and {added}"),), "", added, other.weight)


def _same_sort_wanted(context: CaptionContext, place: int) -> bool | None:
    """Whether an added thing must be of the phrase's own sort; None if nothing can be added.

    A thing in a place has others of its sort beside it; a thing that something is next to, or has
    with it, may have anything beside it that the corpus joins to it.
    """
    wanted: list[bool] = []
    for relation in context.reading.relations:
        if relation.subject == place:
            if relation.name not in PLACES:
                return None
            wanted.append(True)
        elif relation.object == place:
            if context.name(relation) not in LOOSE:
                return None
            wanted.append(False)
    return any(wanted) if wanted else None


def _added(context: CaptionContext, phrase: Phrase, other: Alternative) -> str:
    """A noun in the form that fits beside a phrase, or an empty string."""
    if phrase.plural:
        fits = not phrase.determiner and "plural" in other.forms
        return context.lists.nouns.written(other.noun, True) if fits else ""
    written = context.lists.nouns.written(other.noun, False)
    if phrase.determiner:
        return f"{article(written)} {written}" if "a" in other.forms else ""
    return written if context.lists.nouns.is_mass(other.noun) else ""


def may_be_joined(context: CaptionContext, phrase: Phrase, subject: bool) -> bool:
    """Whether `and` may follow a phrase: it is not in a list, and no verb would have to change."""
    tokens = context.source.parse.tokens
    head = tokens[phrase.head]
    if phrase.kernel in PEOPLE or any(context.word(k) in NUMBERS for k in phrase.attributes):
        return False
    if not subject and any(t.head == head.place and t.dep in BEHIND for t in tokens[head.place :]):
        return False
    behind = tokens[phrase.head + 1 : phrase.head + 3]
    if behind and (behind[0].dep in ("case", "cc", "conj") or behind[0].text in CLOSE_BEHIND):
        return False
    if [t.pos for t in behind] == ["ADP", "ADP"] or (behind and behind[0].pos == "DET"):
        return False  # with skis on at the top; a list without commas
    if head.dep in ("conj", "appos", "npadvmod", "dative", "poss"):
        return False
    if any(token.head == head.place and token.dep in ("cc", "conj") for token in tokens):
        return False
    if head.dep not in ("nsubj", "nsubjpass") or phrase.plural:
        return True
    verb = tokens[head.head]
    helpers = [t for t in tokens if t.head == verb.place and t.dep in ("aux", "auxpass")]
    return not any(t.tag in ("VBZ", "VBP", "VBD") for t in (verb, *helpers))


def swap_object(context: CaptionContext) -> Iterator[Edit]:
    """Exchange two things in an asymmetric relation, or in what they do."""
    for relation in context.reading.relations:
        if relation.subject >= 0 and context.name(relation) in ONE_WAY | FACING:
            yield from _turned_round(context, relation)
    yield from _other_roles(context)


def _turned_round(context: CaptionContext, relation: Relation) -> Iterator[Edit]:
    first = context.reading.phrases[relation.subject]
    second = context.reading.phrases[relation.object]
    if (first.kernel in ALIVE) != (second.kernel in ALIVE):
        return
    if context.name(relation) in FACING and {first.kernel, second.kernel} & (ALIVE | FACES):
        return
    if relation.last == relation.first and first.kernel not in ALIVE:
        return
    if first.kernel == second.kernel or not all(_is_thing(context, p) for p in (first, second)):
        return
    if not _stands_free(context, first, second, relation):
        return
    # The corpus must have each thing on the other side of the relation.
    counts, name, pairs = context.lists.counts, context.name(relation), context.lists.collocations
    if min(counts.before[second.kernel, name], counts.behind[name, first.kernel]) < ATTESTED:
        return
    if relation.verb >= 0 and (second.kernel, context.word(relation.verb)) not in pairs.does:
        return
    if not (context.is_named(first) and context.is_named(second)):
        return
    said = (name, first.kernel) in context.facts.relations
    if not context.doubts("said elsewhere" if said else None):
        yield _exchange(context, first, second)


def _is_thing(context: CaptionContext, phrase: Phrase) -> bool:
    """Whether a phrase is complete and names a thing that the corpus knows."""
    if phrase.kernel in SCENES or not names_a_thing(phrase.noun):
        return False
    if context.lists.counts.nouns[phrase.kernel] < FEWEST:
        return False
    if phrase.plural:
        whole = phrase.determiner in ("the", "some", "")
    else:
        whole = phrase.determiner in ("a", "an", "the") or context.lists.nouns.is_mass(phrase.noun)
    if not whole:
        return False
    if not phrase.start:
        return True
    before = context.source.parse.tokens[phrase.start - 1]
    return before.pos not in BEFORE_NOUN and (before.pos != "CCONJ" or bool(phrase.determiner))


def _stands_free(
    context: CaptionContext, first: Phrase, second: Phrase, relation: Relation
) -> bool:
    """Whether the first is the caption's subject, and only the relation joins the two."""
    tokens = context.source.parse.tokens
    if first.head >= second.start or tokens[first.head].dep not in ("ROOT", "nsubj", "nsubjpass"):
        return False
    if first.start and tokens[first.start - 1].pos == "ADP":
        return False
    between = tokens[first.head + 1 : second.start]
    if sum(token.pos == "VERB" for token in between) > 1:
        return False
    for token in between:
        inside = relation.first <= token.place < relation.last
        if not inside and token.pos not in ("VERB", "AUX", "ADV", "PART"):
            return False
        if token.tag in ("VBZ", "VBP", "VBD") and first.plural != second.plural:
            return False
    for token in tokens[second.head + 1 : second.head + 2]:
        # What follows the second thing must still fit once the first is in its place.
        follows = token.pos == "ADP" and token.text.lower() not in ("with", "of", "as", "like")
        if not follows and token.pos not in ("PUNCT", "SPACE"):
            return False
    heads = (first.head, second.head)
    return not any(
        (t.head in heads and t.dep in ("cc", "conj", "case", "appos", "poss"))
        or (t.head == second.head and t.place > second.head and t.dep != "punct")
        or t.tag in ("PRP", "PRP$")
        for t in tokens
    )


def _exchange(context: CaptionContext, first: Phrase, second: Phrase) -> Edit:
    text, tokens = context.source.text, context.source.parse.tokens
    one = text[tokens[first.start].begin : tokens[first.head].end]
    two = text[tokens[second.start].begin : tokens[second.head].end]
    if first.start == 0 and not text.isupper():
        one = one[:1].lower() + one[1:]
    there = context.put(second.start, second.head, one)
    return Edit((context.put(first.start, first.head, two), there), first.noun, second.noun)


def _other_roles(context: CaptionContext) -> Iterator[Edit]:
    """Exchange the roles of two who do different things.

    In `A man holding a bat next to a woman`, the words between the two apply to the first only, and
    modifiers after the second apply to the second only.
    """
    places = [k for k, p in enumerate(context.reading.phrases) if p.kernel in ALIVE]
    if len(places) != 2:
        return
    first, second = (context.reading.phrases[k] for k in places)
    if first.kernel == second.kernel or first.plural != second.plural:
        return
    pair = {first.kernel, second.kernel}
    if pair & ANYBODY or (pair & CHILDREN and pair <= CHILDREN | {"boy", "girl"}):
        return
    if any(r.name in ("of", "for") and r.object in places for r in context.reading.relations):
        return  # a boy who holds an umbrella for a girl: both may hold it
    if not (_is_thing(context, first) and _is_thing(context, second)):
        return
    if not (context.is_named(first) and context.is_named(second)):
        return
    tokens = context.source.parse.tokens
    if any(t.tag in ("PRP", "PRP$") or t.dep == "case" for t in tokens):
        return
    own = [relation for relation in context.reading.relations if _is_own(context, relation, places)]
    if not own or not all(_other_may(context, relation, places) for relation in own):
        return
    things = {context.reading.phrases[relation.object].kernel for relation in own}
    if not things <= SEATS or (len(things) == 2 and len({r.subject for r in own}) == 2):
        yield _exchange(context, first, second)


def _is_own(context: CaptionContext, relation: Relation, places: list[int]) -> bool:
    """Whether a relation applies to only one of the two."""
    first, second = (context.reading.phrases[k] for k in places)
    thing = context.reading.phrases[relation.object]
    if relation.object in places or relation.subject not in places:
        return False
    if relation.last == relation.first and context.word(relation.verb) not in DISTINCTIVE:
        return False
    if relation.subject == places[0]:
        distinctive = relation.last == relation.first or thing.kernel in WORN | RIDDEN | SEATS
        return distinctive and first.head < relation.first and thing.head < second.start
    # Clothes belong to whoever is nearest; anything else at the end may apply to both.
    distinctive = relation.last == relation.first or thing.kernel in WORN | SEATS
    joined = any(set(pair) == set(places) for pair in context.reading.joined)
    return distinctive and not joined and thing.start > second.head


def _other_may(context: CaptionContext, relation: Relation, places: list[int]) -> bool:
    """Whether the other one could do it, and no caption says so."""
    other = context.reading.phrases[places[0] if relation.subject == places[1] else places[1]]
    thing = context.reading.phrases[relation.object]
    name, pairs = context.name(relation), context.lists.collocations
    if (other.kernel, name) not in pairs.before:
        return False
    if relation.verb >= 0 and (other.kernel, context.word(relation.verb)) not in pairs.does:
        return False
    said = (other.kernel, name, thing.kernel) in context.facts.statements
    return not context.doubts("said elsewhere" if said else None)

"""Things that change places: the two sides of a relation, or the two who do different things."""

from __future__ import annotations

from collections.abc import Iterator

from tellapart.mine.negatives.edit import Edit
from tellapart.mine.negatives.phrases import Phrase, Relation
from tellapart.mine.negatives.rules.desk import Desk
from tellapart.mine.negatives.rules.nouns import FEWEST, names_a_thing
from tellapart.mine.negatives.rules.pairs import ATTESTED
from tellapart.mine.negatives.words import ANIMALS, PEOPLE, SCENES, WORN

ONE_WAY = frozenset(
    """on atop under underneath beneath below above over inside onto
    holding holds carrying carries chasing chases following follows leading leads pulling pulls
    pushing pushes licking licks feeding feeds""".split()
) | {"on top of"}
"""Relations that do not hold the other way round."""
FACING = frozenset(("in front of",))
"""Relations that hold the other way round where somebody faces a thing."""
FACES = frozenset("doll toy statue mannequin camera".split()) | {
    "teddy bear", "stuffed animal", "stuffed bear", "stuffed toy",
}  # fmt: skip
"""Things that face others."""
BEFORE_NOUN = frozenset(("DET", "ADJ", "NUM", "NOUN", "PROPN", "SPACE"))
"""What stands before a phrase that was not read whole."""
ALIVE = PEOPLE | ANIMALS
ANYBODY = frozenset("person people human individual someone adult figure animal friend".split())
"""Words that may mean the other one as well."""
CHILDREN = frozenset("kid child baby toddler youth".split())
RIDDEN = frozenset(
    """bike bicycle motorcycle skateboard surfboard snowboard ski horse scooter elephant bull
    phone laptop""".split()
)
"""What one person is on, and not the next."""
TELLING = frozenset(
    f"{verb}{ending}"
    for verb in "hold carry rid wear push pull feed throw catch kick swing driv pett".split()
    for ending in ("ing", "s", "es")
) | frozenset(("carries", "drives", "pets"))
"""Deeds that one does, and not the next."""
SEATS = frozenset("chair bench couch sofa bed boat floor".split())
"""What two may be on together, unless each is on another."""


def swap_object(desk: Desk) -> Iterator[Edit]:
    """Two things change places in a relation that holds one way, or in what they do."""
    for relation in desk.reading.relations:
        if relation.subject >= 0 and desk.name(relation) in ONE_WAY | FACING:
            yield from _turned_round(desk, relation)
    yield from _other_roles(desk)


def _turned_round(desk: Desk, relation: Relation) -> Iterator[Edit]:
    first = desk.reading.phrases[relation.subject]
    second = desk.reading.phrases[relation.object]
    if (first.kernel in ALIVE) != (second.kernel in ALIVE):
        return
    if desk.name(relation) in FACING and {first.kernel, second.kernel} & (ALIVE | FACES):
        return
    if relation.last == relation.first and first.kernel not in ALIVE:
        return
    if not (_is_thing(desk, first) and _is_thing(desk, second)) or first.kernel == second.kernel:
        return
    if not _stands_free(desk, first, second, relation):
        return
    if _is_attested(desk, first, second, relation) and not _is_said(desk, first, relation):
        yield _exchange(desk, first, second)


def _is_thing(desk: Desk, phrase: Phrase) -> bool:
    """Whether a phrase is whole and names a thing that the corpus knows."""
    if phrase.kernel in SCENES or not names_a_thing(phrase.noun):
        return False
    if desk.lists.counts.nouns[phrase.kernel] < FEWEST:
        return False
    if phrase.plural:
        whole = phrase.determiner in ("the", "some", "")
    else:
        whole = phrase.determiner in ("a", "an", "the") or desk.lists.nouns.is_mass(phrase.noun)
    if not whole:
        return False
    if not phrase.start:
        return True
    before = desk.source.parse.tokens[phrase.start - 1]
    return before.pos not in BEFORE_NOUN and (before.pos != "CCONJ" or bool(phrase.determiner))


def _stands_free(desk: Desk, first: Phrase, second: Phrase, relation: Relation) -> bool:
    """Whether the first is what the caption is about, and only the relation joins the two."""
    tokens = desk.source.parse.tokens
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
    behind = tokens[second.head + 1 :]
    if behind and not _may_follow(behind[0].text.lower(), behind[0].pos):
        return False
    heads = (first.head, second.head)
    return not any(
        (t.head in heads and t.dep in ("cc", "conj", "case", "appos", "poss"))
        or (t.head == second.head and t.place > second.head and t.dep != "punct")
        or t.tag in ("PRP", "PRP$")
        for t in tokens
    )


def _may_follow(word: str, pos: str) -> bool:
    """Whether a word may stand behind the second thing and still be right once it is the first."""
    return pos in ("PUNCT", "SPACE") or (pos == "ADP" and word not in ("with", "of", "as", "like"))


def _is_attested(desk: Desk, first: Phrase, second: Phrase, relation: Relation) -> bool:
    """Whether the corpus has each thing on the other side of the relation."""
    counts, name = desk.lists.counts, desk.name(relation)
    if (
        counts.before[second.kernel, name] < ATTESTED
        or counts.behind[name, first.kernel] < ATTESTED
    ):
        return False
    return relation.verb < 0 or (second.kernel, desk.word(relation.verb)) in desk.lists.pairs.does


def _is_said(desk: Desk, first: Phrase, relation: Relation) -> bool:
    said = (desk.name(relation), first.kernel) in desk.facts.relations
    return desk.doubts("said elsewhere" if said else None)


def _exchange(desk: Desk, first: Phrase, second: Phrase) -> Edit:
    text, tokens = desk.source.text, desk.source.parse.tokens
    one = text[tokens[first.start].begin : tokens[first.head].end]
    two = text[tokens[second.start].begin : tokens[second.head].end]
    if first.start == 0 and not text.isupper():
        one = one[:1].lower() + one[1:]
    changes = (
        desk.put(first.start, first.head, two),
        desk.put(second.start, second.head, one),
    )
    return Edit(changes, first.noun, second.noun)


def _other_roles(desk: Desk) -> Iterator[Edit]:
    """Two who do different things do what the other does.

    `A man holding a bat next to a woman` says of the first alone what stands between the two, and
    of the second alone what hangs on it behind.
    """
    places = [k for k, p in enumerate(desk.reading.phrases) if p.kernel in ALIVE]
    if len(places) != 2:
        return
    first, second = (desk.reading.phrases[k] for k in places)
    if first.kernel == second.kernel or first.plural != second.plural:
        return
    pair = {first.kernel, second.kernel}
    if pair & ANYBODY or (pair & CHILDREN and pair <= CHILDREN | {"boy", "girl"}):
        return
    if any(r.name == "of" and r.object in places for r in desk.reading.relations):
        return
    if not (_is_thing(desk, first) and _is_thing(desk, second)):
        return
    tokens = desk.source.parse.tokens
    if any(t.tag in ("PRP", "PRP$") or t.dep == "case" for t in tokens):
        return
    own = [relation for relation in desk.reading.relations if _is_own(desk, relation, places)]
    if not own or not all(_other_may(desk, relation, places) for relation in own):
        return
    things = {desk.reading.phrases[relation.object].kernel for relation in own}
    if not things <= SEATS or (len(things) == 2 and len({r.subject for r in own}) == 2):
        yield _exchange(desk, first, second)


def _is_own(desk: Desk, relation: Relation, places: list[int]) -> bool:
    """Whether a relation is said of one of the two alone, and not of the other."""
    first, second = (desk.reading.phrases[k] for k in places)
    thing = desk.reading.phrases[relation.object]
    if relation.object in places or relation.subject not in places:
        return False
    if relation.last == relation.first and desk.word(relation.verb) not in TELLING:
        return False
    if relation.subject == places[0]:
        telling = relation.last == relation.first or thing.kernel in WORN | RIDDEN | SEATS
        return telling and first.head < relation.first and thing.head < second.start
    # Clothes belong to whoever is nearest; what else stands behind may be said of both.
    telling = relation.last == relation.first or thing.kernel in WORN | SEATS
    joined = any(set(pair) == set(places) for pair in desk.reading.joined)
    return telling and not joined and thing.start > second.head


def _other_may(desk: Desk, relation: Relation, places: list[int]) -> bool:
    """Whether the other one could do it, and no caption says that it does."""
    other = desk.reading.phrases[places[0] if relation.subject == places[1] else places[1]]
    thing = desk.reading.phrases[relation.object]
    name = desk.name(relation)
    if (other.kernel, name) not in desk.lists.pairs.before:
        return False
    if relation.verb >= 0 and (other.kernel, desk.word(relation.verb)) not in desk.lists.pairs.does:
        return False
    said = (other.kernel, name, thing.kernel) in desk.facts.statements
    return not desk.doubts("said elsewhere" if said else None)

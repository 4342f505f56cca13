"""Objects that are not there: one in the place of another, or one more."""

from __future__ import annotations

from collections.abc import Iterator

from tellapart.mine.negatives.edit import Change, Edit
from tellapart.mine.negatives.phrases import Phrase
from tellapart.mine.negatives.rules.classes import COUNTS
from tellapart.mine.negatives.rules.counting import form_of
from tellapart.mine.negatives.rules.desk import Desk
from tellapart.mine.negatives.rules.others import Other
from tellapart.mine.negatives.words import (
    FEMALE,
    GENDER_MARKS,
    MALE,
    OTHER_GENDER,
    PEOPLE,
    PRONOUNS,
)
from tellapart.text.inflect import article

PLACES = frozenset(
    """on in at under underneath beneath behind inside near by beside above over below outside
    against along through across""".split()
) | {"on top of", "in front of", "next to", "close to"}
BEHIND = frozenset(("prep", "acl", "relcl", "appos"))
"""How what hangs on behind a noun depends on it."""
CLOSE_BEHIND = frozenset((",", "of", "with", "without", "full", "filled", "that", "which"))
"""Words that belong to the noun before them."""
NUMBERS = frozenset((*COUNTS, "several", "many", "few", "multiple", "one", "various"))
LOOSE = frozenset("with near by beside behind holding holds".split()) | {"next to", "in front of"}
"""Relations to things of any sort."""
UNCLEAR = frozenset(
    """ski skis skier skiing snowboard snowboarder snowboarding surfer surfing surf wave helmet
    wetsuit silhouette motorcycle biker parasail kite distance skateboarder baby infant""".split()
)
"""Where one cannot see well whether somebody is a man or a woman."""


def replace_object(desk: Desk) -> Iterator[Edit]:
    """A thing gives way to another that is used alike and is not in the image."""
    for place, phrase in enumerate(desk.reading.phrases):
        if phrase.kernel in OTHER_GENDER:
            yield from _other_gender(desk, phrase)
        elif phrase.kernel not in PEOPLE:
            yield from _other_thing(desk, place, phrase)


def _other_thing(desk: Desk, place: int, phrase: Phrase) -> Iterator[Edit]:
    lists = desk.lists
    noun = phrase.noun if phrase.noun in lists.nouns.known else phrase.kernel
    if noun not in lists.nouns.known or phrase.determiner in ("another", "each", "both", "other"):
        return
    if noun == "glass" and phrase.plural:  # maybe spectacles
        return
    form, attributes = form_of(phrase), [desk.word(k) for k in phrase.attributes]
    where = desk.place(place)
    for other in lists.others.alternatives(noun):
        if form not in other.forms or not desk.fits(where, other.noun, other.kernel):
            continue
        if attributes and not all(lists.pairs.takes(other.kernel, one) for one in attributes):
            continue
        if desk.absent(other.noun, noun):
            written = lists.nouns.written(other.noun, phrase.plural)
            change = desk.put(phrase.core, phrase.head, written)
            yield Edit((change,), noun, other.noun, other.weight)


def _other_gender(desk: Desk, phrase: Phrase) -> Iterator[Edit]:
    """A man for a woman, where all captions speak of one person and agree on which."""
    own, others = (MALE, FEMALE) if phrase.kernel in MALE else (FEMALE, MALE)
    words = desk.facts.words
    told = sum(desk.facts.nouns.get(word, 0) for word in own)
    if phrase.plural or not desk.facts.alone or told < 3 or not others.isdisjoint(words):
        return
    if not (GENDER_MARKS | UNCLEAR).isdisjoint(words) or phrase.core != phrase.head:
        return
    changes = [desk.put(phrase.head, phrase.head, OTHER_GENDER[phrase.kernel])]
    for token in desk.source.parse.tokens:
        other = PRONOUNS.get((token.text.lower(), token.tag))
        if other:
            changes.append(desk.put(token.place, token.place, other))
    yield Edit(tuple(changes), phrase.kernel, OTHER_GENDER[phrase.kernel], 0.2)


def add_object(desk: Desk) -> Iterator[Edit]:
    """One thing more, joined by `and` to one that the corpus joins it to."""
    lists = desk.lists
    for place, phrase in enumerate(desk.reading.phrases):
        same = _same_sort_wanted(desk, place)
        if same is None or phrase.noun not in lists.nouns.known:
            continue
        if not _may_be_joined(desk, phrase, same):
            continue
        where, end = desk.place(place), desk.source.parse.tokens[phrase.head].end
        for other in lists.others.companions(phrase.noun):
            if same and not other.same_sort:
                continue
            added = _added(desk, phrase, other)
            if not added or not desk.fits(where, other.noun, other.kernel):
                continue
            if desk.absent(other.noun, phrase.noun):
                yield Edit((Change(end, end, f" and {added}"),), "", added, other.weight)


def _same_sort_wanted(desk: Desk, place: int) -> bool | None:
    """Whether what is added must be of the phrase's own sort; None where nothing can be added.

    What stands somewhere has others of its sort beside it; what something is next to or has with
    it may have anything beside it that the corpus joins to it.
    """
    found: list[bool] = []
    for relation in desk.reading.relations:
        if relation.subject == place:
            if relation.name not in PLACES:
                return None
            found.append(True)
        elif relation.object == place:
            if desk.name(relation) not in LOOSE:
                return None
            found.append(False)
    return any(found) if found else None


def _added(desk: Desk, phrase: Phrase, other: Other) -> str:
    """A noun in the form in which it stands well beside a phrase, or nothing."""
    if phrase.plural:
        fits = not phrase.determiner and "plural" in other.forms
        return desk.lists.nouns.written(other.noun, True) if fits else ""
    written = desk.lists.nouns.written(other.noun, False)
    if phrase.determiner:
        return f"{article(written)} {written}" if "a" in other.forms else ""
    return written if desk.lists.nouns.is_mass(other.noun) else ""


def _may_be_joined(desk: Desk, phrase: Phrase, subject: bool) -> bool:
    """Whether `and` may follow a phrase: it is in no list, and no verb would have to change."""
    tokens = desk.source.parse.tokens
    head = tokens[phrase.head]
    if phrase.kernel in PEOPLE or any(desk.word(k) in NUMBERS for k in phrase.attributes):
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

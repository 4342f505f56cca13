"""Attributes that a thing does not have: replaced, added, or exchanged.

The tables say which attributes exclude each other, and which mean nearly the same; whether a word
goes before a given noun is learned from the corpus (`usage.Collocations`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain, combinations, permutations, product

from tellapart.mine.negatives.claims import attributes_in
from tellapart.mine.negatives.colours import CLOSE_COLOURS, NEW_COLOURS, SPELLINGS
from tellapart.mine.negatives.negative import Change, Edit
from tellapart.mine.negatives.phrases import NO_THINGS, PEOPLE, PRONOUNS, Phrase, Reading
from tellapart.mine.negatives.rules.context import AGREED, CaptionContext
from tellapart.text.parses import Parse

SORTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "size": (
        ("small", "large"), ("small little", "big"), ("tiny", "huge giant"), ("short", "tall"),
        ("short", "long"), ("narrow", "wide"),
    ),
    "age": (("young", "old older elderly"), ("old vintage antique rusty", "new modern")),
    "filling": (("empty deserted quiet", "crowded busy"),),
    "state": (
        ("open", "closed"), ("wet", "dry"), ("clean neat tidy", "dirty messy cluttered"),
        ("dark", "bright"), ("calm", "rough choppy"), ("raw", "cooked"), ("lit", "unlit"),
        ("flat", "steep"),
    ),
    "weather": (("cloudy overcast", "clear sunny"), ("sunny", "rainy", "snowy")),
    "gender": (("male", "female"),),
    "place": (("indoor", "outdoor"), ("urban", "rural")),
    "material": (
        ("wooden wood", "metal steel", "plastic", "glass", "brick", "leather", "paper", "stone"),
    ),
    "land": (("grassy", "snowy", "sandy", "rocky", "paved", "muddy"),),
    "pattern": (("striped", "plaid", "checkered", "floral"),),
    "shape": (("round circular", "square", "rectangular", "triangular"),),
}  # fmt: skip
"""Words of a sort in groups that exclude each other; words in one string mean the same."""
ROOTS = {
    "grassy": "grass", "snowy": "snow", "sandy": "sand", "rocky": "rock", "muddy": "mud",
    "rainy": "rain", "cloudy": "cloud", "sunny": "sun", "wooden": "wood", "striped": "stripe",
}  # fmt: skip
"""The nouns behind attributes: on the grass means the same as on a grassy field."""
COUNTS = ("two", "three", "four", "five", "six")
"""Counts that people usually get right."""
OPEN_COUNTS = frozenset(
    """several many few some multiple various numerous group herd flock bunch crowd lots row line
    seven eight nine ten dozen single third""".split()
)
"""Words of a caption that leave open how many there are, or say another number."""
UNUSUAL = 0.02
"""The least use of an attribute with a noun, relative to the most common one: no red snow."""
SHADES = frozenset("dark light bright pale deep neon very mostly half all".split())
"""Words before an attribute that are part of it."""
OPINIONS = frozenset(("size", "age", "state", "filling"))
"""Sorts on which people differ: two captions must mention them."""
AGES = frozenset("baby adult toddler infant child".split())
"""Words in a noun that state an age by themselves."""
PARTED = frozenset(("cake", "sink"))
"""Things whose parts differ in colour: what is under the icing, the basin in its counter."""
GENDERED = frozenset(word for word, _ in PRONOUNS)
MEMBERS = frozenset("both each other another one pair couple all rest".split())
"""Words for members of a group, whose number must then stay."""
IMPROBABLE = 0.03
"""If at most this share of a noun's captions has an attribute, a thing is unlikely to have it."""
ACROSS = frozenset(("colour", "material", "pattern", "shape"))
"""Sorts that may be exchanged with each other, not only within the sort."""
WOODY = frozenset("brown tan beige gold golden".split())
"""Colours that wooden things have."""


def _contraries() -> Iterator[tuple[str, str, str, str]]:
    """(sort, word, a word that excludes it, what means nearly the same as that word)."""
    for sort, rows in SORTS.items():
        for here, there in chain.from_iterable(permutations(groups, 2) for groups in rows):
            for word, other in product(here.split(), there.split()):
                yield sort, word, other, there
    for word in (*CLOSE_COLOURS, *SPELLINGS):
        close = _close(SPELLINGS.get(word, word))
        for other in NEW_COLOURS:
            if other not in close:
                yield "colour", word, other, " ".join(sorted(_close(other)))


def _close(colour: str) -> set[str]:
    """A colour and those close to it by the table, in either direction."""
    named = {word for word, close in CLOSE_COLOURS.items() if colour in close.split()}
    return named | {colour, *CLOSE_COLOURS[colour].split()}


SORT: dict[str, str] = {}
"""The sort of an attribute."""
CONTRARIES: dict[str, dict[str, frozenset[str]]] = {}
"""For an attribute, those that exclude it, each with its near synonyms."""
for _sort, _word, _other, _same in _contraries():
    SORT.setdefault(_word, _sort)
    CONTRARIES.setdefault(_word, {})[_other] = frozenset(_same.split()) | {_other}


def replace_attribute(context: CaptionContext) -> Iterator[Edit]:
    """Replace an attribute by one of its sort that excludes it and goes with the noun."""
    for phrase in context.reading.phrases:
        if phrase.kernel in NO_THINGS:
            continue
        for token in phrase.attributes:
            word = context.word(token)
            if token and context.word(token - 1) in SHADES:
                continue
            if word in COUNTS:
                others = _counts(context, phrase, word)
            elif _is_agreed(context, phrase, word):
                others = _others(context, phrase, word)
            else:
                continue
            for other, weight in others:
                yield Edit((context.put(token, token, other),), word, other, weight)


def _is_agreed(context: CaptionContext, phrase: Phrase, word: str) -> bool:
    """Whether captions agree on a thing's attribute: it is salient, and none names another.

    Sizes are left alone: whether a pizza is small depends on the comparison.
    """
    sort = SORT.get(word, "size")
    if sort == "size":
        return False
    same = _same_attribute(word)
    given = context.facts.attributes.get(phrase.kernel, Counter())
    if any(SORT.get(other) == sort and other not in same for other in given):
        return not context.doubts("said otherwise")
    return context.is_salient(
        lambda parse, reading: any(
            kernel == phrase.kernel and attribute in same
            for kernel, attribute in attributes_in(parse, reading)
        )
    )


def _same_attribute(word: str) -> frozenset[str]:
    """An attribute with its other spellings, and the words of its sort that mean the same."""
    if SORT[word] == "colour":
        own = SPELLINGS.get(word, word)
        return frozenset(w for w in (*CLOSE_COLOURS, *SPELLINGS) if SPELLINGS.get(w, w) == own)
    rows = (group.split() for groups in SORTS[SORT[word]] for group in groups)
    return frozenset(w for group in rows if word in group for w in group)


def _others(context: CaptionContext, phrase: Phrase, word: str) -> Iterator[tuple[str, float]]:
    """Attributes that exclude a thing's attribute and go with its noun in the corpus."""
    known = context.lists.collocations.attributes.get(phrase.kernel)
    if word not in SORT or not known or not _is_clear(context, phrase, SORT[word]):
        return
    usual = max((n for other, n in known.items() if SORT.get(other) == SORT[word]), default=0)
    for other, close in CONTRARIES[word].items():
        if known.get(other, 0) >= max(1, UNUSUAL * usual) and not _is_said(context, close):
            yield other, known[other] ** 0.5


def _is_said(context: CaptionContext, close: frozenset[str]) -> bool:
    """Whether a caption has an attribute or a near synonym, for any thing."""
    words = close | {ROOTS[word] for word in close & ROOTS.keys()}
    return context.doubts(None if words.isdisjoint(context.facts.words) else "said elsewhere")


def _is_clear(context: CaptionContext, phrase: Phrase, sort: str) -> bool:
    """Whether it is clear which thing has the attribute, and that it does."""
    if sort == "colour" and phrase.kernel in PEOPLE | PARTED:
        return False
    if sort == "size" and phrase.plural:
        return False
    if sort == "age" and not AGES.isdisjoint(phrase.noun.split()):
        return False
    if sort == "gender" and any(t.text.lower() in GENDERED for t in context.source.parse.tokens):
        return False
    if not _number_is_clear(context, phrase):
        return not context.doubts("may be several")
    if sort in OPINIONS or (sort == "colour" and phrase.plural):
        times = context.facts.attributes.get(phrase.kernel, Counter())
        return sum(n for other, n in times.items() if SORT.get(other) == sort) >= 2
    return True


def _number_is_clear(context: CaptionContext, phrase: Phrase) -> bool:
    """Whether captions agree that there is one such thing, or several."""
    several = phrase.kernel in context.facts.several
    return phrase.plural == several and (several or context.is_one(phrase))


def _counts(context: CaptionContext, phrase: Phrase, word: str) -> Iterator[tuple[str, float]]:
    """Another count, if most captions agree on the count and none differs, or leaves it open."""
    facts = context.facts
    here = {token.text.lower() for token in context.source.parse.tokens}
    if not phrase.plural or not MEMBERS.isdisjoint(here):
        return
    people = PEOPLE | {"people"}
    kernels = people if phrase.kernel in people else {phrase.kernel}
    if any(other in facts.words for other in (*COUNTS, *OPEN_COUNTS) if other != word):
        return

    def counted(parse: Parse, reading: Reading) -> bool:
        own = attributes_in(parse, reading)
        return any(kernel in kernels and attribute == word for kernel, attribute in own)

    if len(context.readings) < AGREED or not context.is_salient(counted):
        return
    place = COUNTS.index(word)
    for other in COUNTS[max(0, place - 2) : place + 3]:
        if other != word:
            yield other, 0.5


def add_attribute(context: CaptionContext) -> Iterator[Edit]:
    """Add an attribute that excludes what another caption says about the same thing."""
    for phrase, _, other, weight in contrary_attributes(context):
        yield Edit((before_noun(context, phrase, other),), "", other, weight)


def contrary_attributes(context: CaptionContext) -> Iterator[tuple[Phrase, str, str, float]]:
    """Phrases without attributes; another caption's attribute for the thing; its contraries."""
    for phrase in context.reading.phrases:
        if phrase.noun not in PEOPLE and phrase.noun not in context.lists.nouns.known:
            continue
        elsewhere = [w for w in context.facts.attributes.get(phrase.kernel, ()) if w in SORT]
        if not elsewhere or phrase.attributes or not _is_bare(context, phrase):
            continue
        behind = _sorts_behind(context)
        for attribute in sorted(elsewhere):
            if SORT[attribute] in behind:
                continue
            for other, weight in _others(context, phrase, attribute):
                yield phrase, attribute, other, weight


def before_noun(context: CaptionContext, phrase: Phrase, attribute: str) -> Change:
    """The change that inserts an attribute before a noun."""
    first = context.source.parse.tokens[phrase.core]
    if phrase.core == 0:
        return Change(first.begin, first.end, f"{attribute} {first.text.lower()}")
    return Change(first.begin, first.begin, f"{attribute} ")


def _sorts_behind(context: CaptionContext) -> set[str]:
    """Sorts of attributes that the caption has elsewhere than before a noun: `painted red`."""
    before = {k for phrase in context.reading.phrases for k in phrase.attributes}
    words = (context.word(k) for k in range(len(context.source.parse.tokens)) if k not in before)
    return {SORT[word] for word in words if word in SORT}


def _is_bare(context: CaptionContext, phrase: Phrase) -> bool:
    """Whether the noun has only an article before it."""
    if any(context.word(k) in SORT for k in range(phrase.core, phrase.head)):
        return False
    if phrase.core == 0:
        return True
    before = context.source.parse.tokens[phrase.core - 1]
    if before.pos == "DET" or before.tag == "PRP$":
        return True
    if not phrase.plural and not context.lists.nouns.is_mass(phrase.noun):
        return False  # playing frisbee
    return phrase.start == phrase.core and before.pos in ("ADP", "VERB", "AUX")


def swap_attribute(context: CaptionContext) -> Iterator[Edit]:
    """Exchange the attributes of two things, so that at least one is wrong."""
    for first, second in combinations(context.reading.phrases, 2):
        if first.kernel == second.kernel:
            continue
        for one, two in product(first.attributes, second.attributes):
            if _may_exchange(context, (first, one), (second, two)):
                old, new = context.word(one), context.word(two)
                yield Edit((context.put(one, one, new), context.put(two, two, old)), old, new)


def _may_exchange(
    context: CaptionContext, first: tuple[Phrase, int], second: tuple[Phrase, int]
) -> bool:
    (phrase, token), (other, other_token) = first, second
    one, two = context.word(token), context.word(other_token)
    if one == two or one not in SORT or two not in SORT:
        return False
    if SORT[one] != SORT[two] and not (_may_cross(one) and _may_cross(two)):
        return False
    if SORT[one] == SORT[two] and two not in CONTRARIES[one]:
        return False
    if not (_takes(context, phrase, token, two) and _takes(context, other, other_token, one)):
        return False
    wrong = _is_wrong(context, phrase, one, two) or _is_wrong(context, other, two, one)
    return wrong or not context.doubts("may be true")


def _may_cross(attribute: str) -> bool:
    return SORT[attribute] in ACROSS and attribute not in WOODY


def _takes(context: CaptionContext, phrase: Phrase, instead_of: int, attribute: str) -> bool:
    """Whether a thing could have an attribute instead of its own, and no caption says so."""
    if phrase.kernel in NO_THINGS or not context.lists.collocations.takes(phrase.kernel, attribute):
        return False
    if instead_of and context.word(instead_of - 1) in SHADES:
        return False
    mass = context.lists.nouns.is_mass(phrase.noun)
    if mass and SORT[context.word(instead_of)] == "size":  # a little water
        return False
    others = [context.word(k) for k in _listed(context, phrase) if k != instead_of]
    if any(SORT.get(other) == SORT[attribute] for other in (*others, *phrase.noun.split())):
        return False
    said = attribute in context.facts.attributes.get(phrase.kernel, ())
    return not context.doubts("said elsewhere" if said else None)


def _listed(context: CaptionContext, phrase: Phrase) -> list[int]:
    """A phrase's attributes, with those that a comma may have cut off."""
    tokens = context.source.parse.tokens
    first = phrase.start
    while first and tokens[first - 1].pos in ("ADJ", "PUNCT", "CCONJ"):
        first -= 1
    return [*phrase.attributes, *range(first, phrase.start)]


def _is_wrong(context: CaptionContext, phrase: Phrase, old: str, new: str) -> bool:
    """Whether an attribute excludes a thing's own, or such things rarely have it."""
    if not _number_is_clear(context, phrase):
        return False
    if new in CONTRARIES.get(old, {}):
        return SORT[old] != "size"
    if SORT[new] in ("size", "age"):
        return False
    number = context.lists.counts.attributes[new, phrase.kernel]
    return number <= IMPROBABLE * context.lists.counts.nouns[phrase.kernel]

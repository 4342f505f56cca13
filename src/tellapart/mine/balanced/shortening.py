"""What may be left out of a caption so that the rest is still true and good English.

Adjectives, places, clauses and second parts of lists: who sees `a big dog on a bench in a park`
sees a dog on a bench. Not what changes the rest: a toy dog is no dog, and nobody says `a plate
topped`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from tellapart.mine.negatives.negative import Change
from tellapart.mine.negatives.phrases import FIXED
from tellapart.text.parses import Parse, Token

NEEDED = frozenset(
    """toy stuffed fake plastic wooden stone metal ceramic porcelain bronze concrete paper cardboard
    painted printed carved rubber inflatable artificial ice sand chocolate gingerbread lego
    miniature model cartoon animated drawn graffiti glass clay metallic knitted plush stained hot
    polar teddy remote cell no few other same different half empty single electric silhouetted
    double fried baked mashed sliced cut chopped raw""".split()
)
"""Adjectives without which another thing would be meant."""
TIED = frozenset("of without except like as between than to for into from by with".split())
"""Prepositions whose noun is often needed; `with` is left out after a noun only."""
ALONE = frozenset(
    """stand lie lay walk run graze sleep fly swim eat play jump rest surf ski skateboard
    snowboard pose wait relax smile lean bike move sail race""".split()
)
"""Verbs that need nothing behind them."""
TOGETHER = frozenset("each together another both between same other".split())
"""Words that need several things."""
ADVERBS = frozenset(
    """outside outdoors inside indoors very quietly alone nearby peacefully really""".split()
)
OPENINGS = tuple(
    tuple(words.split())
    for words in (
        "there is", "there are", "a photo of", "an image of", "a picture of", "a photograph of",
        "a close up of", "a close - up of", "a closeup of", "close up of", "a close up view of",
        "a close up picture of", "a close up photo of", "a view of",
        "the view of", "view of", "picture of", "photo of",
    )
)  # fmt: skip
"""How captions begin that say only that there is a picture."""
UNFINISHED = ("ADP", "SCONJ", "CCONJ", "DET", "AUX", "PART")
"""Parts of speech that wait for what follows."""
BROKEN = ("PUNCT", "ADP", "SCONJ", "CCONJ", "AUX", "VERB")
"""Parts of speech that do not go on where something waits."""
CONTINUED = ("PUNCT", "ADP", "SCONJ", "CCONJ", "VERB", "AUX", "SPACE", "ADV")
"""Parts of speech that may follow where something is left out."""


def opening(parse: Parse) -> frozenset[int]:
    """The tokens at the beginning that say only that there is a picture."""
    words = tuple(token.text.lower() for token in parse.tokens[:6])
    return frozenset(
        range(max((len(one) for one in OPENINGS if words[: len(one)] == one), default=0))
    )


def parts(parse: Parse) -> list[frozenset[int]]:
    """Parts that may be left out, each by itself or with others; a part may contain another."""
    tokens = parse.tokens
    return sorted(
        {whole for part in _parts(tokens) for whole in _whole(tokens, part)},
        key=lambda part: (min(part), len(part)),
    )


def _parts(tokens: Sequence[Token]) -> Iterator[set[int]]:
    below: dict[int, list[int]] = defaultdict(list)
    for token in tokens:
        if token.head != token.place:
            below[token.head].append(token.place)
    apart = TOGETHER.isdisjoint(token.text.lower() for token in tokens)
    for token in tokens:
        head, word = tokens[token.head], token.text.lower()
        if token.dep == "amod" and not below[token.place]:
            if _is_mere(tokens, token):
                yield {token.place}
        elif token.dep == "prep" and word not in TIED - {"with"}:
            if _needs_not(tokens, below[head.place], token):
                yield _tree(below, token.place)
        elif token.dep in ("acl", "relcl", "advcl") and token.head < token.place:
            yield _tree(below, token.place)
        elif token.dep == "conj" and token.head < token.place and apart:
            joint = [place for place in below[head.place] if tokens[place].dep in ("cc", "conj")]
            if len(joint) == 2 and _is_second(tokens, joint, below[token.place]):
                yield _tree(below, token.place) | {joint[0]}
        elif token.dep == "advmod" and not below[token.place] and word in ADVERBS:
            yield {token.place}


def _tree(below: dict[int, list[int]], place: int) -> set[int]:
    """A token and all that depends on it."""
    found, todo = {place}, [place]
    while todo:
        for child in below[todo.pop()]:
            if child not in found:
                found.add(child)
                todo.append(child)
    return found


def _is_mere(tokens: Sequence[Token], token: Token) -> bool:
    """Whether an adjective before its noun may go."""
    place = token.place
    if token.head < place or token.tag in ("JJR", "JJS", "VBN", "VBG"):
        return False
    behind = tokens[place + 1]
    if token.text.lower() in NEEDED or (token.text.lower(), behind.lemma.lower()) in FIXED:
        return False
    if place and tokens[place - 1].pos in ("ADV", "CCONJ", "PUNCT"):
        return False
    return place + 1 == token.head or behind.dep in ("amod", "compound")


def _needs_not(tokens: Sequence[Token], siblings: Sequence[int], token: Token) -> bool:
    """Whether the head of a preposition stands without it."""
    head = tokens[token.head]
    if token.text.lower() == "with":
        return head.pos in ("NOUN", "PROPN") and head.place < token.place
    if head.pos == "VERB":
        others = ("dobj", "prep", "prt", "acomp", "attr", "advmod")
        more = any(
            place > head.place and place != token.place and tokens[place].dep in others
            for place in siblings
        )
        return head.tag != "VBN" and (more or head.lemma.lower() in ALONE)
    return head.pos in ("NOUN", "PROPN")


def _is_second(tokens: Sequence[Token], joint: Sequence[int], below: Sequence[int]) -> bool:
    """Whether `and` with what follows it may go: no subject, and nothing said of both."""
    link, second = (tokens[place] for place in joint)
    first = tokens[second.head]
    if link.dep != "cc" or link.text.lower() != "and" or first.pos == "ADJ":
        return False
    if first.dep in ("nsubj", "nsubjpass"):
        return False
    named = first.pos in ("NOUN", "PROPN")
    told = any(tokens[place].dep in ("acl", "relcl", "prep") for place in below)
    return not (named and (first.dep == "ROOT" or told))


def _whole(tokens: Sequence[Token], part: set[int]) -> Iterator[frozenset[int]]:
    """A part with its comma, if what stays is complete."""
    first, last = min(part), max(part)
    if last - first + 1 != len(part):
        return
    if len(part) > 1:
        if first and tokens[first - 1].text == ",":
            first -= 1
        if last + 1 < len(tokens) and tokens[last + 1].text == ",":
            last += 1
        if not first or tokens[first - 1].pos in UNFINISHED:
            return
        if last + 1 < len(tokens) and tokens[last + 1].pos not in CONTINUED:
            return
    yield frozenset(range(first, last + 1))


def is_complete(parse: Parse, left_out: Collection[int]) -> bool:
    """Whether nothing that stays waits for what is left out: `a man and | on a field`."""
    kept = [token for token in parse.tokens if token.place not in left_out and token.pos != "SPACE"]
    return not any(
        one.pos in UNFINISHED and two.pos in BROKEN
        for one, two in pairwise(kept)
        if two.place > one.place + 1
    )


def cuts(parse: Parse, left_out: Collection[int]) -> list[Change]:
    """The changes that leave tokens out, with one space in their place."""
    tokens, changes = parse.tokens, []
    for token in tokens:
        if token.place not in left_out or token.place - 1 in left_out:
            continue
        last = token.place
        while last + 1 in left_out:
            last += 1
        behind = tokens[last + 1] if last + 1 < len(tokens) else None
        if behind is not None and behind.pos != "PUNCT":
            changes.append(Change(token.begin, behind.begin, ""))
        else:
            begin = tokens[token.place - 1].end if token.place else 0
            changes.append(Change(begin, tokens[last].end, ""))
    return changes

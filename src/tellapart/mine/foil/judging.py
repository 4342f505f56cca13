"""What the parse says of category words: which are nouns, and what may stand in their place.

The paper replaces words wherever they stand; so "an cake and white cat" and "a microwave mitt" come
about. Here a word counts only where it is a noun that does not modify another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

import numpy as np

from tellapart.mine.foil.mentions import Flags, Mentions
from tellapart.mine.foil.words import Words
from tellapart.text.parsing.parsed import Ints, Parse, Parses, Token

COLOURS = frozenset(
    """red orange yellow green blue purple pink brown black white grey gray tan gold silver violet
    beige turquoise teal maroon peach olive lavender colored coloured color colour""".split()
)
OPENS_PHRASE = ("DET", "NUM", "PRON", "CCONJ", "SCONJ", "PUNCT", "SYM", "SPACE", "INTJ")
"""What every noun can stand behind."""


class Place(IntEnum):
    """How much the word before a mention says about what can stand there."""

    FREE = 0
    MODIFIED = 1
    """Behind an adjective: only what goes with it."""
    BOUND = 2
    """Behind a noun (coffee table), or bare behind a verb or a preposition (in bed)."""


def judge(found: Mentions, words: Words, parses: Parses) -> tuple[Flags, Ints]:
    """For each mention whether it is a noun that heads its phrase, and its `Place`."""
    good = np.zeros(len(found), np.bool_)
    places = np.zeros(len(found), np.int8)
    for row, parse, first, word, last in _tokens(found, words, parses):
        if is_noun(parse, word, last):
            good[row] = True
            places[row] = place_of(parse, first, plural=bool(found.plural[row]))
    return good, places


def _tokens(
    found: Mentions, words: Words, parses: Parses
) -> Iterator[tuple[int, Parse, Token, Token, Token]]:
    """Each mention's row, its caption, and the tokens of its first, category and last word.

    Mentions that the parser cut otherwise (`cat/dog` as one token) are left out.
    """
    at = -1
    rows = zip(
        found.caption.tolist(),
        words.begin[found.first].tolist(),
        words.begin[found.word].tolist(),
        words.begin[found.last].tolist(),
        words.end[found.word].tolist(),
        strict=True,
    )
    for row, (caption, first, word, last, end) in enumerate(rows):
        if caption != at:
            at, parse = caption, parses[caption]
            tokens = {token.begin: token for token in parse}
        three = [tokens.get(begin) for begin in (first, word, last)]
        if all(three) and three[1] is not None and three[1].end == end:
            yield row, parse, three[0], three[1], three[2]  # type: ignore[misc]


def is_noun(parse: Parse, token: Token, last: Token) -> bool:
    """Whether a category word is a noun and heads its phrase; `last` ends the name it is in.

    Small parsers take many a noun for something else (oven for an adjective, tie for a verb), so
    the word's surroundings are asked as well as its part of speech.
    """
    before = parse.tokens[token.place - 1] if token.place else None
    behind = parse.tokens[last.place + 1 : last.place + 3]
    if token.text.lower() in COLOURS and not _is_thing(parse, token, behind):
        return False
    if token.dep in ("compound", "amod", "nmod") and token.head > last.place:
        # "a zebra standing there" is often read as a kind of standing
        stands = token.head == last.place + 1 and behind[0].text.endswith("ing")
        return stands and (before is None or before.pos in ("DET", "ADJ", "NUM", "PRON"))
    if token.pos in ("VERB", "AUX"):
        return _may_be_noun(token, before, behind)
    if token.pos == "ADJ":
        joined = token.dep == "conj" and parse.head(token.place).pos == "ADJ"
        return token.dep not in ("acomp", "oprd") and not joined
    return True


def _may_be_noun(verb: Token, before: Token | None, behind: tuple[Token, ...]) -> bool:
    """Whether what is read as a verb stands where a noun does: the sink, a suit and tie."""
    if before is None:
        return False
    if before.pos in ("DET", "ADJ", "NUM") or before.tag == "PRP$":
        return True
    joined = before.pos in ("CCONJ", "PUNCT") and verb.tag in ("VB", "VBP")
    return joined and not (behind and behind[0].pos in ("DET", "PRON"))


def _is_thing(parse: Parse, token: Token, behind: tuple[Token, ...]) -> bool:
    """Whether a word that is also a colour stands for a thing: an orange, oranges."""
    if token.tag in ("NNS", "NNPS"):
        return True
    ahead = parse.tokens[max(0, token.place - 2) : token.place]
    if any(other.text.lower() in COLOURS for other in (*ahead, *behind)):
        return False
    if token.pos not in ("NOUN", "PROPN") or not ahead:
        return False
    listed = token.dep == "conj" and ahead[-1].pos in ("CCONJ", "PUNCT")
    return listed or ahead[-1].pos in ("DET", "NUM")


def place_of(parse: Parse, first: Token, *, plural: bool) -> Place:
    """How free the place of a mention is that begins with a token."""
    if not first.place:
        return Place.FREE
    before = parse.tokens[first.place - 1]
    if before.pos in OPENS_PHRASE:
        return Place.FREE
    if before.pos == "ADJ" or before.dep == "amod":
        return Place.MODIFIED
    if before.pos in ("NOUN", "PROPN"):
        return Place.BOUND
    return Place.FREE if plural else Place.BOUND

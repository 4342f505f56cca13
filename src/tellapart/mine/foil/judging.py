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
from tellapart.text.parsed import Ints, Parse, Parses, Token

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
        if is_noun(parse, word, parse.tokens[last.place + 1 :]):
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


def is_noun(parse: Parse, token: Token, behind: tuple[Token, ...]) -> bool:
    """Whether a category word is a noun and heads its phrase.

    Small parsers take many a noun for something else (oven for an adjective, tie for a verb), so
    the word's surroundings are asked as well as its part of speech.
    """
    before = parse.tokens[token.place - 1] if token.place else None
    follows = behind[0] if behind else None
    if token.text.lower() in COLOURS and not _is_thing(parse, token, before, behind):
        return False
    if token.dep in ("compound", "amod", "nmod") and token.head > (
        behind[0].place - 1 if behind else token.place
    ):
        # "a zebra standing there" is often read as a kind of standing
        stands = follows is not None and follows.place == token.head and follows.text[-3:] == "ing"
        return stands and (before is None or before.pos in ("DET", "ADJ", "NUM", "PRON"))
    if token.pos in ("VERB", "AUX"):
        return _may_be_noun(token, before, follows)
    if token.pos == "ADJ":
        return token.dep not in ("acomp", "oprd") and not (
            token.dep == "conj" and parse.tokens[token.head].pos == "ADJ"
        )
    return True


def _may_be_noun(verb: Token, before: Token | None, follows: Token | None) -> bool:
    """Whether what is read as a verb stands where a noun does: the sink, a suit and tie."""
    if before is None:
        return False
    if before.pos in ("DET", "ADJ", "NUM") or before.tag == "PRP$":
        return True
    joined = before.pos in ("CCONJ", "PUNCT") and verb.tag in ("VB", "VBP")
    return joined and (follows is None or follows.pos not in ("DET", "PRON"))


def _is_thing(parse: Parse, token: Token, before: Token | None, behind: tuple[Token, ...]) -> bool:
    """Whether a word that is also a colour stands for a thing: an orange, oranges."""
    near = [*parse.tokens[max(0, token.place - 2) : token.place], *behind[:2]]
    if token.tag in ("NNS", "NNPS"):
        return True
    if any(other.text.lower() in COLOURS for other in near) or token.pos not in ("NOUN", "PROPN"):
        return False
    counted = before is not None and before.pos in ("DET", "NUM")
    listed = before is not None and token.dep == "conj" and before.pos in ("CCONJ", "PUNCT")
    return counted or listed


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

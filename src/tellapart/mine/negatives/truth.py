"""Whether a negative caption may be true of its image after all.

The claims that it makes beyond its original are read off the words that differ, and held against
what is known of the image.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from tellapart.mine.negatives.differing import Difference, difference, is_one_swap
from tellapart.mine.negatives.facts import Claim, Facts, Has, Shows, Stands
from tellapart.text.needing import need
from tellapart.text.parsing.parse import Parse, Token
from tellapart.text.words import FUNCTION_WORDS, spans, tokens

SYMMETRICAL = frozenset(
    """and or with near by beside along alongside next together touching facing meeting kissing
    hugging matching between among amongst around versus against like while""".split()
)
"""Relations that hold both ways: what they join can change places and the caption stays true."""


def doubt_of(parse: Parse, negative: str, kind: str, facts: Facts) -> str | None:
    """Why a negative may be true, as one of `DOUBTS`, or None where nothing says so."""
    found = difference(tokens(parse.text), tokens(negative))
    if found is None:
        return "said elsewhere"
    if kind == "swap-object" and _symmetrical(found):
        return "symmetrical"
    doubts = (facts.doubt(claim) for claim in _claims(parse, found, kind))
    return next((doubt for doubt in doubts if doubt), None)


def _symmetrical(found: Difference) -> bool:
    """Whether nothing but a relation that holds both ways stands between what was exchanged."""
    runs = is_one_swap(found)
    if runs is None:
        return False
    (_, start), (end, _) = runs
    between = found.was[start - found.start : end - found.start]
    telling = [word for word in between if word not in ("a", "the", "to", "is", "some")]
    return not telling or bool(SYMMETRICAL & set(telling[-1:]))


def _claims(parse: Parse, found: Difference, kind: str) -> Iterator[Claim]:
    new = [word for word in found.now if word not in FUNCTION_WORDS]
    if kind.endswith("object") and not kind.startswith("swap"):
        for word in new:
            yield Shows(base(word))
        if len(new) > 1:
            yield Shows(" ".join((*new[:-1], base(new[-1]))))
    elif kind == "swap-attribute":
        runs = is_one_swap(found)
        for here, there in (runs, runs[::-1]) if runs else ():
            for token in _words(parse)[there[0] : there[1]]:
                yield Has(_noun_behind(parse, here[1]), token.text.lower())
    elif kind.endswith("attribute"):
        for word in new:
            yield Has(_noun_behind(parse, found.end), word)
    elif kind == "replace-relation":
        for word in found.now:
            yield Stands(word, _noun_behind(parse, found.end))
        yield Stands(" ".join(found.now), _noun_behind(parse, found.end))


def _words(parse: Parse) -> list[Token]:
    """The token that each word ends with, as `words.tokens` counts words."""
    ends = {token.end: token for token in parse.tokens}
    return [ends.get(end, parse.tokens[0]) for _, end, _ in spans(parse.text)]


def _noun_behind(parse: Parse, word: int) -> str:
    """The first head of a noun phrase at or behind a word, in the singular."""
    for token in _words(parse)[word:]:
        if token.pos in ("NOUN", "PROPN") and token.dep not in ("compound", "amod"):
            return token.lemma.lower()
    return ""


@cache
def base(noun: str) -> str:
    """A noun in the singular.

    >>> base("knives")
    'knife'
    """
    lemminflect = need("lemminflect", "text", "finding base forms")
    found: tuple[str, ...] = lemminflect.getLemma(noun, "NOUN")
    return found[0] if found else noun

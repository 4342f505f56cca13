"""What is read off a caption before a language model is asked, and off what it wrote."""

from __future__ import annotations

from functools import cache

from tellapart.mine.negatives.differing import difference, is_one_swap
from tellapart.text.needing import need
from tellapart.text.parsing.parse import Parse
from tellapart.text.words import FUNCTION_WORDS, tokens


def edited(original: str, negative: str) -> tuple[str, str]:
    """The words that gave way and those that came, or the two that changed places.

    >>> edited("A cat on a red mat.", "A red mat on a cat."), edited("A cat.", "A big cat.")
    (('cat', 'red mat'), ('', 'big'))
    """
    old = tokens(original)
    found = difference(old, tokens(negative))
    if found is None:
        return "", ""
    runs = is_one_swap(found)
    if runs is None:
        return " ".join(found.was), " ".join(found.now)
    first, second = (" ".join(old[start:end]) for start, end in runs)
    return first, second


def is_reworded(was: str, now: str) -> bool:
    """Whether words gave way to other forms of themselves, which a model likes to do.

    >>> is_reworded("sitting", "sits"), is_reworded("sitting", "stands"), is_reworded("", "big")
    (True, False, False)
    """
    before, after = _content(was), _content(now)
    if not before or len(before) != len(after):
        return False
    return all(_bases(old) & _bases(new) for old, new in zip(before, after, strict=True))


def _content(text: str) -> list[str]:
    return [word for word in tokens(text) if word not in FUNCTION_WORDS]


@cache
def _bases(word: str) -> frozenset[str]:
    """The base forms that a word may have."""
    lemminflect = need("lemminflect", "text", "finding base forms")
    found: dict[str, tuple[str, ...]] = lemminflect.getAllLemmas(word)
    return frozenset({word, *(base for bases in found.values() for base in bases)})


def has_what_it_takes(parse: Parse, kind: str) -> bool:
    """Whether a caption has the words that a kind changes, so that asking is not in vain."""
    things = sum(token.pos in ("NOUN", "PROPN") for token in parse.tokens)
    properties = sum(
        token.pos in ("ADJ", "NUM") or token.dep in ("amod", "compound") for token in parse.tokens
    )
    if kind == "replace-attribute":
        return properties >= 1
    if kind == "swap-attribute":
        return properties >= 2 and things >= 2
    if kind == "replace-relation":
        return things >= 1 and any(token.pos in ("ADP", "VERB") for token in parse.tokens)
    return things >= (2 if kind == "swap-object" else 1)

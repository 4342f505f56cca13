"""The words of a text, one of which a person can point at."""

from __future__ import annotations

import re
from collections.abc import Iterator

WORD = re.compile(r"\w+(?:['’-]\w+)*")


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where the words of a text stand; a person's answer is a place in this list.

    >>> word_spans("A dog's toy.")
    [(0, 1), (2, 7), (8, 11)]
    """
    return [match.span() for match in WORD.finditer(text)]


def pieces(text: str) -> Iterator[tuple[str, int | None]]:
    """The text cut into words, which have a place, and what lies between them, which has none.

    Pieces and not offsets go to the page, because a browser counts letters otherwise than we do.

    >>> list(pieces("A dog."))
    [('A', 0), (' ', None), ('dog', 1), ('.', None)]
    """
    end = 0
    for place, (start, stop) in enumerate(word_spans(text)):
        if start > end:
            yield text[end:start], None
        yield text[start:stop], place
        end = stop
    if end < len(text):
        yield text[end:], None

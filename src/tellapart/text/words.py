"""Words of a caption: plain tokens, and the small closed classes of English."""

from __future__ import annotations

import re
from collections.abc import Iterator

WORD = re.compile(r"[A-Za-z]+(?:['’-][A-Za-z]+)*|[0-9]+|[^\W\d_]+")

FUNCTION_WORDS = frozenset(
    """a an the this that these those some any each every no another other both all
    and or but nor so as if than then while of in on at by for from to with without into onto over
    under above below behind between beside near against across along around through up down off
    out inside outside towards toward upon next front top left right back side far away
    is are was were be been being am do does did has have had having can could will would shall
    should may might must it its he she they them him her his their theirs we us our you your i me
    my who which what where when there here not only just very too also more most own one ones
    two three four five six seven eight nine ten s t""".split()
)
"""Words that are no content words (FOIL's T2 chooses among content words)."""


def tokens(text: str) -> list[str]:
    """Lower-case words of a text.

    >>> tokens("A dog's ball, on-the grass.")
    ['a', "dog's", 'ball', 'on-the', 'grass']
    """
    return [match.group().lower() for match in WORD.finditer(text)]


def spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and lower-case form of each word."""
    for match in WORD.finditer(text):
        yield match.start(), match.end(), match.group().lower()

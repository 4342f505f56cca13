"""Words of a caption: plain tokens, and the small closed classes of English."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator


def _kind(letter: str, *blocks: tuple[int, int]) -> str:
    """The characters of some blocks whose category begins with a letter."""
    every = (chr(code) for first, last in blocks for code in range(first, last + 1))
    return "".join(c for c in every if unicodedata.category(c).startswith(letter))


MARKS = _kind("M", (0x300, 0x1AFF), (0x20D0, 0x20FF), (0x302A, 0x309A))
"""Accents and vowel signs, which attach to a letter and belong to its word."""
ALONE = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff" + _kind(
    "L", (0xE00, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3041, 0x309F)
)
"""Characters of scripts without spaces between words (Han, Hiragana, Thai, Lao, Burmese, Khmer):
each counts as a word, since otherwise a whole sentence would be one."""

_LETTERS = rf"[^\W\d_{ALONE}]+(?:[{MARKS}]+[^\W\d_{ALONE}]*)*"
WORD = re.compile(rf"[{ALONE}][{MARKS}]*|{_LETTERS}(?:['’-]{_LETTERS})*|\d+")

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
"""Words that are not content words (FOIL's T2 chooses among content words)."""


def tokens(text: str) -> list[str]:
    """Lower-case words of a text.

    >>> tokens("A dog's ball, on-the grass.")
    ['a', "dog's", 'ball', 'on-the', 'grass']
    >>> tokens("Ein Café, 2 पुल, قِطّ, 一只猫")
    ['ein', 'café', '2', 'पुल', 'قِطّ', '一', '只', '猫']
    """
    return [match.group().lower() for match in WORD.finditer(text)]


def spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and lower-case form of each word."""
    for match in WORD.finditer(text):
        yield match.start(), match.end(), match.group().lower()

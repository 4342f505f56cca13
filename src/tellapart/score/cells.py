"""From questions to texts: which (image, text) pairs a scorer must see to answer them.

A cell of the grid has the edit "": the caption as it stands. For FOIL's T2 and T3 the foil
caption is edited, and only when it is scored: "-3" leaves out the slot's third content word
(counted from 0), "=dog" puts a candidate into the slot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tellapart.items import Item, Slot
from tellapart.questions import Ask, questions
from tellapart.text.english import drop, plural, put

GRID_ASKS = frozenset({Ask.CAPTION, Ask.IMAGE, Ask.JUDGE})
WORD_ASKS = frozenset({Ask.NOUN, Ask.WORD})


@dataclass(frozen=True, slots=True)
class CellText:
    """One thing to score: an image of an item and a text made from one of its captions."""

    item: Item
    image: int
    caption: int
    edit: str
    text: str


def cells(item: Item, asks: frozenset[Ask]) -> Iterator[CellText]:
    """All that a scorer needs to answer the questions of an item, in a fixed order.

    The grid is scored whole whenever any choice is asked, so that every measure that reads
    cells can be had from the run later.
    """
    if asks & GRID_ASKS:
        for i in range(len(item.images)):
            for j, caption in enumerate(item.captions):
                yield CellText(item, i, j, "", caption)
    for question in questions(item, asks & (WORD_ASKS | {Ask.MEND})):
        if question.ask is Ask.NOUN and Ask.WORD in asks:
            continue  # the nouns are among the content words
        assert item.slot is not None
        for option in question.options:
            edit = f"={option}" if question.ask is Ask.MEND else f"-{option}"
            text = edited(item.captions[question.caption], item.slot, edit)
            yield CellText(item, question.image, question.caption, edit, text)


def edited(caption: str, slot: Slot, edit: str) -> str:
    """A caption after an edit.

    >>> slot = Slot(0, 2, 5, "dog", "cat", candidates=("dog", "owl"))
    >>> edited("A cat sleeps.", slot, "=owl")
    'An owl sleeps.'
    """
    if edit.startswith("="):
        word = plural(edit[1:]) if slot.plural else edit[1:]
        return put(caption, slot.start, slot.end, word)
    if edit.startswith("-"):
        word_at = slot.words[int(edit[1:])]
        return drop(caption, word_at.start, word_at.end)
    return caption

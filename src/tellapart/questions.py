"""The questions of a grid: each has options, some of which are right.

A chooser (a chat model, a person) answers questions; a scorer's answers follow from the scores
of the texts behind the options. A question without a wrong option, or without a right one, is not
asked, because there is nothing to tell apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from tellapart.items import Item, Slot


class Ask(StrEnum):
    """The six questions.

    `caption`: which caption fits this image? `image`: which image fits this caption? `judge`:
    is this caption true of this image (FOIL T1)? `noun`, `word`: which noun, which content word
    of the foil caption is wrong (T2)? `mend`: which word corrects it (T3)?
    """

    CAPTION = "caption"
    IMAGE = "image"
    JUDGE = "judge"
    NOUN = "noun"
    WORD = "word"
    MEND = "mend"


@dataclass(frozen=True, slots=True)
class Question:
    """One question about an item.

    `image` and `caption` are the indices of what is shown, -1 for the side to choose from.
    `options` are the possible answers: indices of captions, images or the slot's words, or
    candidate words; "yes"/"no" for `judge`. `right` has the positions of right answers in
    `options`.
    """

    item: Item
    ask: Ask
    image: int
    caption: int
    options: tuple[int | str, ...]
    right: frozenset[int]

    @property
    def id(self) -> str:
        """The question's name within its item, such as `caption@0` or `judge@0,1`."""
        shown = [str(place) for place in (self.image, self.caption) if place >= 0]
        return f"{self.ask}@{','.join(shown)}"


def questions(item: Item, asks: frozenset[Ask]) -> Iterator[Question]:
    """All questions of the given types that an item allows, in a fixed order."""
    images, captions = tuple(range(len(item.images))), tuple(range(len(item.captions)))
    every: list[Question] = []
    if Ask.CAPTION in asks:
        for i in images:
            right = frozenset(j for j in captions if (i, j) in item.true)
            every.append(Question(item, Ask.CAPTION, i, -1, captions, right))
    if Ask.IMAGE in asks:
        for j in captions:
            right = frozenset(i for i in images if (i, j) in item.true)
            every.append(Question(item, Ask.IMAGE, -1, j, images, right))
    if Ask.JUDGE in asks:
        for i, j in product(images, captions):
            right = frozenset([0 if (i, j) in item.true else 1])
            every.append(Question(item, Ask.JUDGE, i, j, ("yes", "no"), right))
    if item.slot is not None:
        for ask in (Ask.NOUN, Ask.WORD, Ask.MEND):
            every += _foil(item, item.slot, ask) if ask in asks else ()
    for question in every:
        if question.right and len(question.right) < len(question.options):
            yield question


def _foil(item: Item, slot: Slot, ask: Ask) -> Iterator[Question]:
    """T2 or T3 of the foil caption, once for each image that it is false of."""
    for i in range(len(item.images)):
        if (i, slot.caption) in item.true:
            continue
        options: tuple[int | str, ...]
        if ask is Ask.MEND:
            options = slot.candidates
            right = frozenset(k for k, word in enumerate(options) if word == slot.target)
        else:
            options = tuple(k for k, w in enumerate(slot.words) if w.noun or ask is Ask.WORD)
            right = frozenset(
                place for place, k in enumerate(options) if slot.words[int(k)].start == slot.start
            )
        yield Question(item, ask, i, slot.caption, options, right)

"""FOIL, T1 and T2: is the caption right, and if not, which word is wrong?

Shekhar et al. 2017, section 4.4: people judge the caption first, then click the wrong word.
"""

from __future__ import annotations

from collections.abc import Iterator

from tellapart.annotate.questions.question import (
    Example,
    Form,
    Matter,
    Option,
    Scenery,
    Shown,
    Truth,
    WordAsked,
)
from tellapart.annotate.questions.words import word_spans
from tellapart.items import Item


class Foil:
    """Shown are a picture and one caption; who finds it wrong points at the word."""

    name = "foil"
    about = "is the caption right or wrong, and which word is wrong (FOIL)"
    needs = "any items; the wrong word is known where they have a slot (FOIL)"
    instructions = (
        "You see a picture and a caption. Decide whether the caption is **right** or **wrong**.\n\n"
        "A wrong caption has one wrong word: something in it is not what the picture shows. Look "
        "at every thing that it names. A caption that leaves something out is not wrong. If you "
        "say that it is wrong, point at the word that makes it so."
    )
    examples = (
        Example(
            (Scenery("street", ("green bus", "brown dog")),),
            ("A dog next to a truck on a street.",),
            ("wrong",),
            "The picture shows a bus, so the word that is wrong is “truck”. The rest is right.",
            word="truck",
        ),
        Example(
            (Scenery("meadow", ("white horse", "brown sheep")),),
            ("A horse on the grass.",),
            ("right",),
            "The caption does not mention the sheep, but leaving something out is not wrong.",
        ),
        Example(
            (Scenery("room", ("red apple", "big brown table"), "on"),),
            ("A banana lies on a table.",),
            ("wrong",),
            "What lies there is an apple, so “banana” is wrong.",
            word="banana",
        ),
    )

    def matters(self, item: Item) -> Iterator[Matter]:
        """One task for each image with each caption."""
        for i, image in enumerate(item.images):
            for j, caption in enumerate(item.captions):
                yield Matter(item.id, f"judge@{i},{j}", (image,), (caption,), _truth(item, i, j))

    def form(self, matter: Matter) -> Form:
        """Right or wrong, then the word."""
        caption = matter.captions[0]
        return Form(
            "Is this caption right or wrong?",
            shown=(Shown("Picture", image=0), Shown("Caption", caption)),
            fixed=(Option("right", "Right"), Option("wrong", "Wrong")),
            word=WordAsked("wrong", "Which word is wrong?", caption),
        )


def _truth(item: Item, image: int, caption: int) -> Truth:
    if (image, caption) in item.true:
        return Truth(frozenset({"right"}))
    slot = item.slot
    if slot is None or slot.caption != caption:
        return Truth(frozenset({"wrong"}))
    spans = enumerate(word_spans(item.captions[caption]))
    words = {k for k, (start, end) in spans if start < slot.end and end > slot.start}
    return Truth(frozenset({"wrong"}), frozenset(words))


QUESTION = Foil()

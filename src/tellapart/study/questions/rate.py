"""Ratings of captions: how correct, how detailed is a caption, from 1 to 5?

Hu et al. 2019, section 3: correctness is rated with the image, detailedness without it.
"""

from __future__ import annotations

from collections.abc import Iterator

from tellapart.items import Item
from tellapart.study.questions.question import (
    Matter,
    Option,
    QuestionType,
    Scenery,
    ShownPart,
    TaskForm,
    TrainingExample,
)


def scale(low: str, high: str) -> tuple[Option, ...]:
    """The options 1 to 5, with labels at both ends."""
    words = {1: f"1: {low}", 5: f"5: {high}"}
    return tuple(Option(str(k), words.get(k, str(k))) for k in range(1, 6))


class RateCorrectness(QuestionType):
    """Shows a picture and a caption."""

    name = "rate-correctness"
    about = "how correct a caption is for its picture, 1 to 5"
    layout, ordinal = "scale", True
    needs = "any items: each image is shown with each caption that is true of it, or with all"
    instructions = (
        "You see a picture and a caption. Rate how **correct** the caption is, from 1 to 5.\n\n"
        "- 1: it has nothing to do with the picture\n"
        "- 2: most of it is wrong\n"
        "- 3: the gist is right, and something important is wrong\n"
        "- 4: a small thing is wrong\n"
        "- 5: everything that it says is true\n\n"
        "It does not matter how much the caption leaves out."
    )
    examples = (
        TrainingExample(
            (Scenery("meadow", ("brown horse", "white sheep")),),
            ("A horse.",),
            ("5",),
            "It says little, but what it says is true: that is a 5. Leaving things out is not "
            "a mistake.",
        ),
        TrainingExample(
            (Scenery("room", ("purple cup", "yellow banana")),),
            ("A pink cup and a banana.",),
            ("4",),
            "One small thing is wrong, the colour of the cup.",
        ),
        TrainingExample(
            (Scenery("snow", ("red truck",)),),
            ("Two cats sleep on a bed.",),
            ("1",),
            "It has nothing to do with the picture.",
        ),
    )

    def matters(self, item: Item) -> Iterator[Matter]:
        """One task for each image with each caption."""
        for i, image in enumerate(item.images):
            for j, caption in enumerate(item.captions):
                yield Matter(item.id, f"correctness@{i},{j}", (image,), (caption,))

    def form(self, matter: Matter) -> TaskForm:
        """A picture, a caption and the scale."""
        return TaskForm(
            "How correct is the caption?",
            shown=(ShownPart("Picture", image=0), ShownPart("Caption", matter.captions[0])),
            fixed=scale("has nothing to do with it", "entirely true"),
        )


class RateDetail(QuestionType):
    """Shows only a caption, because people must not judge what it leaves out."""

    name = "rate-detail"
    about = "how detailed a caption is, read without its picture, 1 to 5"
    layout, ordinal = "scale", True
    needs = "any items: each caption is shown by itself"
    instructions = (
        "You read a caption of a picture that you do not see. Rate how **detailed** it is, from 1 "
        "to 5.\n\n"
        "- 1: it says almost nothing, it could be about any picture\n"
        "- 3: it names the main things\n"
        "- 5: it says enough (what, how many, which colour, where) for you to draw the picture\n\n"
        "Mistakes in grammar do not count."
    )
    examples = (
        TrainingExample(
            (),
            ("An animal somewhere.",),
            ("1",),
            "Which animal, where, how many? It says almost nothing.",
        ),
        TrainingExample(
            (),
            ("Two brown dogs sit to the left of a small red ball on the grass, at night.",),
            ("5",),
            "It says what, how many, which colours, where and when: you could draw it.",
        ),
    )

    def matters(self, item: Item) -> Iterator[Matter]:
        """One task for each caption."""
        for j, caption in enumerate(item.captions):
            yield Matter(item.id, f"detail@{j}", (), (caption,))

    def form(self, matter: Matter) -> TaskForm:
        """A caption and the scale."""
        return TaskForm(
            "How detailed is the caption?",
            shown=(ShownPart("Caption", matter.captions[0]),),
            fixed=scale("says almost nothing", "says very much"),
        )


RATE_CORRECTNESS = RateCorrectness()
RATE_DETAIL = RateDetail()

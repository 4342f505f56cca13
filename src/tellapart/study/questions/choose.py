"""Which caption fits the image, which image fits the caption? Human baselines, both directions.

Miranda et al. 2024, section 4: each of an instance's four queries is asked separately, as it is
for models (BiVLC). Ding et al. 2016, section 3.4: the best of five captions (MCIC).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from tellapart.items import Item
from tellapart.questions import Ask, questions
from tellapart.study.questions.question import (
    Matter,
    QuestionType,
    Scenery,
    ShownPart,
    TaskForm,
    TrainingExample,
    Truth,
    numbered,
    which_picture,
)


class ChooseCaption(QuestionType):
    """Shows a picture and captions in random order, one of which must be chosen."""

    name = "choose-caption"
    about = "which caption fits the picture (human baseline)"
    needs = "items with two captions or more"
    instructions = (
        "You see a picture and captions. Choose the caption that describes the picture.\n\n"
        "Exactly one of them is right. They may differ in a single word: look for the detail that "
        "decides. If you are not sure, choose what seems most likely."
    )
    examples = (
        TrainingExample(
            (Scenery("street", ("red bicycle", "green bench")),),
            ("A red bicycle and a green bench.", "A green bicycle and a red bench."),
            ("0",),
            "Both captions have the same words; the bicycle is red, and the bench is green.",
        ),
        TrainingExample(
            (Scenery("room", ("two blue book", "white cup")),),
            ("Three books and a cup.", "Two books and a cup."),
            ("1",),
            "There are two books.",
        ),
    )
    fewest: ClassVar[int] = 2

    def matters(self, item: Item) -> Iterator[Matter]:
        """One task for each image that has both right and wrong captions."""
        if len(item.captions) < self.fewest:
            return
        for asked in questions(item, frozenset({Ask.CAPTION})):
            truth = Truth(frozenset(str(place) for place in asked.right))
            yield Matter(item.id, asked.id, (item.images[asked.image],), item.captions, truth)

    def form(self, matter: Matter) -> TaskForm:
        """A picture and the captions."""
        return TaskForm(
            "Which caption describes the picture best?",
            shown=(ShownPart("Picture", image=0),),
            options=numbered(captions=matter.captions),
        )


class BestOfFive(ChooseCaption):
    """The same with several captions."""

    name = "best-of-five"
    about = "which of five captions fits the picture best (MCIC)"
    needs = "items with three captions or more"
    instructions = (
        "You see a picture and five captions. Choose the one that describes the picture best.\n\n"
        "One caption was written by someone who saw this picture; the others were written for "
        "different pictures. Several may be partly true, and the right one may leave things out. "
        "Take the one with the most that fits and the least that does not."
    )
    examples = (
        TrainingExample(
            (Scenery("night", ("grey cat", "red car"), "left"),),
            (
                "A grey dog next to a car.",
                "A cat and a car at night.",
                "A red car on a sunny beach.",
                "Two grey cats at night.",
                "A red bus drives past a cat.",
            ),
            ("1",),
            "It says less than some others, but it is the only one without a mistake.",
        ),
        TrainingExample(
            (Scenery("desert", ("big grey elephant",)),),
            (
                "A grey elephant in a desert.",
                "A brown elephant in a desert.",
                "A big animal.",
                "Two elephants in the sand.",
                "A grey elephant in the snow.",
            ),
            ("0",),
            "“A big animal” is also true, but this caption says more.",
        ),
    )
    fewest = 3


class ChooseImage(QuestionType):
    """Shows a caption and pictures in random order, one of which must be chosen."""

    name = "choose-image"
    about = "which picture fits the caption (human baseline)"
    needs = "items with two images or more"
    instructions = (
        "You see a caption and pictures. Choose the picture that the caption describes.\n\n"
        "Exactly one of them is right. The pictures may be similar: read every word and look for "
        "the detail that decides. If you are not sure, choose what seems most likely."
    )
    examples = (
        TrainingExample(
            (Scenery("meadow", ("yellow dog",)), Scenery("meadow", ("yellow cat",))),
            ("A yellow dog on the grass.",),
            ("0",),
            "The animal is a dog in one picture and a cat in the other.",
        ),
        TrainingExample(
            (
                Scenery("beach", ("red ball", "blue umbrella"), "left"),
                Scenery("beach", ("red ball", "blue umbrella"), "right"),
            ),
            ("A ball to the left of an umbrella.",),
            ("0",),
            "Both pictures show the same things; they differ in which side the ball is on.",
        ),
    )

    def matters(self, item: Item) -> Iterator[Matter]:
        """One task for each caption that has both right and wrong images."""
        for asked in questions(item, frozenset({Ask.IMAGE})):
            truth = Truth(frozenset(str(place) for place in asked.right))
            caption = item.captions[asked.caption]
            yield Matter(item.id, asked.id, item.images, (caption,), truth)

    def form(self, matter: Matter) -> TaskForm:
        """A caption and the pictures."""
        return which_picture(matter)


class ChooseBothWays(QuestionType):
    """Shows a picture with captions, or a caption with pictures."""

    name = "choose-both-ways"
    about = "which caption fits the picture and which picture the caption, mixed (BiVLC baseline)"
    needs = "items with two images or two captions, or more"
    instructions = (
        "You see a picture with captions, or a caption with pictures. Choose the caption that "
        "describes the picture, or the picture that the caption describes.\n\n"
        "Exactly one of them is right. They may differ in a single detail: look for it. "
        "If you are not sure, choose what seems most likely."
    )
    examples = (ChooseCaption.examples[0], ChooseImage.examples[0])

    def matters(self, item: Item) -> Iterator[Matter]:
        """All questions in both directions that an item allows."""
        yield from CHOOSE_CAPTION.matters(item)
        yield from CHOOSE_IMAGE.matters(item)

    def form(self, matter: Matter) -> TaskForm:
        """The form for the matter's direction: several captions, or several images."""
        return (CHOOSE_IMAGE if self.block(matter) else CHOOSE_CAPTION).form(matter)

    def block(self, matter: Matter) -> int:
        """All captions are chosen before all images, as in BiVLC's baseline."""
        return int(len(matter.captions) == 1)


CHOOSE_CAPTION = ChooseCaption()
BEST_OF_FIVE = BestOfFive()
CHOOSE_IMAGE = ChooseImage()
CHOOSE_BOTH_WAYS = ChooseBothWays()

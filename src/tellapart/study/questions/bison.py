"""BISON's two questions: pick a caption that tells two images apart, then verify it.

Hu et al. 2019, section 4.1: one person picks a caption that is true of the target and not of the
other image (step 2; the pair is dropped if there is none), and two people who do not know the
target say which image it describes (step 3).
"""

from __future__ import annotations

from collections.abc import Iterator

from tellapart import seeds
from tellapart.items import Grid, Item, drawn_order
from tellapart.study.questions.question import (
    KeptTask,
    Matter,
    Option,
    QuestionType,
    Scenery,
    ShownPart,
    TaskForm,
    TrainingExample,
    Truth,
    numbered,
    true_images,
    which_picture,
)


class PickCaption(QuestionType):
    """Shows the target, the other picture, and the target's captions in random order."""

    name = "pick-caption"
    about = "which caption is true of the target only, or none (BISON)"
    needs = "items with two images, one of which is the target (its captions are the true ones)"
    instructions = (
        "You see a target picture, another picture, and captions that were written for the target."
        "\n\nPick a caption that is true of the **target** and **not** true of the other picture. "
        "Someone who sees only this caption and the two pictures, without knowing which is the "
        "target, must be able to tell. If there are several, take the clearest. If every caption "
        "also fits the other picture, choose **None of them**."
    )
    examples = (
        TrainingExample(
            (
                Scenery("room", ("grey cat", "red couch")),
                Scenery("room", ("white cat", "red couch")),
            ),
            ("A cat and a couch.", "A grey cat next to a red couch.", "A pet indoors."),
            ("1",),
            "Only this caption says that the cat is grey. The two others are true of both.",
        ),
        TrainingExample(
            (Scenery("snow", ("two brown dog",)), Scenery("snow", ("three brown dog",))),
            (
                "Dogs in the snow.",
                "Some brown animals outdoors in winter.",
                "Brown dogs stand there.",
            ),
            ("none",),
            "The pictures differ in the number of dogs, and no caption says how many there are.",
        ),
    )

    def matters(self, item: Item) -> Iterator[Matter]:
        """One task for an item with a target, a decoy and captions of the target."""
        target = _target(item)
        if target is None:
            return
        captions = tuple(text for j, text in enumerate(item.captions) if (target, j) in item.true)
        images = (item.images[target], item.images[1 - target])
        yield Matter(item.id, "pick", images, captions)

    def form(self, matter: Matter) -> TaskForm:
        """Two pictures with their roles, the captions, then none."""
        return TaskForm(
            "Which caption is true of the target only?",
            shown=(ShownPart("Target", image=0), ShownPart("The other picture", image=1)),
            options=numbered(captions=matter.captions),
            fixed=(Option("none", "None of them"),),
        )

    def make_item(self, kept: KeptTask) -> Item:
        """A pair with the picked caption, and the target at a position drawn by the seed."""
        target, decoy = kept.matter.images[:2]
        order = drawn_order(seeds.rng(kept.seed, "verified", target, decoy))
        captions = (kept.matter.captions[int(kept.chosen)],)
        grid = Grid.image_choice((target, decoy), captions, order)
        return Item.built("bison", grid, kind="bison", origin=kept.origin)


def _target(item: Item) -> int | None:
    """The image that the captions were written for, if the item says so."""
    if len(item.images) != 2:
        return None
    if item.original is not None:
        return item.original[0]
    true = {image for image, _ in item.true}
    return true.pop() if len(true) == 1 else None


class WhichImage(QuestionType):
    """Shows a caption and two pictures in random order, without saying which is the target."""

    name = "which-image"
    about = "which of two pictures the caption describes: first, second, both or neither (BISON)"
    needs = "items with two images"
    instructions = (
        "You see a caption and two pictures. Decide which picture the caption describes.\n\n"
        "Choose **Both pictures** if every word of it is true of both, and **Neither picture** if "
        "something in it is wrong for each of them. Go by what you can see, not by what is likely. "
        "Small details decide: a colour, a number, what is where."
    )
    examples = (
        TrainingExample(
            (
                Scenery("meadow", ("red ball", "brown dog")),
                Scenery("meadow", ("blue ball", "brown dog")),
            ),
            ("A dog with a red ball on the grass.",),
            ("0",),
            "Both pictures show a dog with a ball. The ball is red in only one of them.",
        ),
        TrainingExample(
            (Scenery("beach", ("yellow kite",)), Scenery("beach", ("yellow kite", "white bird"))),
            ("A yellow kite at the beach.",),
            ("both",),
            "The caption does not mention a bird, and everything it says is true of both.",
        ),
        TrainingExample(
            (Scenery("street", ("two green car",)), Scenery("street", ("blue car", "green bus"))),
            ("Three cars on a street.",),
            ("neither",),
            "There are two cars in one picture and one in the other, but three in neither.",
        ),
    )

    def matters(self, item: Item) -> Iterator[Matter]:
        """One task for each caption of an item with two images."""
        if len(item.images) != 2:
            return
        for j, caption in enumerate(item.captions):
            true = true_images(item, j)
            right = {0: "neither", 2: "both"}.get(len(true), "".join(true))
            truth = Truth(frozenset({right}))
            yield Matter(item.id, f"image@{j}", item.images, (caption,), truth)

    def form(self, matter: Matter) -> TaskForm:
        """Two pictures, then both and neither."""
        both, neither = Option("both", "Both pictures"), Option("neither", "Neither picture")
        return which_picture(matter, both, neither, places=("First picture", "Second picture"))

    def follow(self, earlier: Matter, chosen: str) -> Iterator[Matter]:
        """Ask about the caption that someone picked for the first image, without saying so."""
        caption = earlier.captions[int(chosen)]
        truth = Truth(frozenset({"0"}))
        yield Matter(earlier.item, "verify", earlier.images[:2], (caption,), truth)


PICK_CAPTION = PickCaption()
WHICH_IMAGE = WhichImage()

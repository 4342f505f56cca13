"""BiVLC's two questions: the best of several generated images, then what is ambiguous.

Miranda et al. 2024, section 3.1: the best of four images for a caption, or none, which drops the
instance (step 3); then which of two images the original caption describes, or both equally: if
the generated image or both are chosen, the instance is dropped (step 4).
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


class BestImage(QuestionType):
    """Shows a caption and its candidate images.

    An item has one caption with candidates, or two captions and an original pair; then the
    candidates are for the other caption. The matter has the original image and caption last; they
    are not shown, but a later stage asks about them.
    """

    name = "best-image"
    about = "which of several pictures shows the caption best, or none (BiVLC)"
    needs = "items with three images or more and one caption, or two and an original pair"
    measures = ("Group", "I2T", "T2I")
    instructions = (
        "You see a caption and several pictures that a program made for it. Choose one picture "
        "that shows what the caption says. Several may do, or none: we need one, if there is "
        "one. If none of them fits, choose **None of them**.\n\n"
        "- Everything the caption says must be in the picture: the things, their number, their "
        "colours, who does what.\n"
        "- Defects of the picture do not matter: distorted faces, arms or hands are accepted."
    )
    examples = (
        TrainingExample(
            (
                Scenery("beach", ("blue boat",)),
                Scenery("beach", ("blue boat", "yellow umbrella")),
                Scenery("beach", ("red boat", "yellow umbrella")),
                Scenery("desert", ("blue boat", "yellow umbrella")),
            ),
            ("A blue boat and a yellow umbrella on a beach.",),
            ("1",),
            "Of the others, one has no umbrella, one has a red boat, and one is not on a beach.",
        ),
        TrainingExample(
            (
                Scenery("night", ("brown cow",)),
                Scenery("night", ("two brown cow",)),
                Scenery("meadow", ("three brown cow",)),
                Scenery("night", ("four brown cow",)),
            ),
            ("Three brown cows at night.",),
            ("none",),
            "Only one picture has three cows, and there it is day.",
        ),
    )

    def matters(self, item: Item) -> Iterator[Matter]:
        """One task for an item with candidates."""
        if len(item.captions) == 1 and len(item.images) >= 3:
            yield Matter(item.id, "best", item.images, item.captions)
        elif len(item.captions) == 2 and item.original is not None and len(item.images) >= 3:
            image, caption = item.original
            candidates = tuple(one for k, one in enumerate(item.images) if k != image)
            captions = (item.captions[1 - caption], item.captions[caption])
            yield Matter(item.id, "best", (*candidates, item.images[image]), captions)

    def form(self, matter: Matter) -> TaskForm:
        """The candidates, then none."""
        candidates = len(matter.images) - (len(matter.captions) - 1)
        return TaskForm(
            "Which picture shows best what the caption says?",
            shown=(ShownPart("Caption", matter.captions[0]),),
            options=numbered(images=candidates),
            fixed=(Option("none", "None of them"),),
        )

    def make_item(self, kept: KeptTask) -> Item | None:
        """The original pair, and the other caption with its chosen image."""
        matter = kept.matter
        if len(matter.captions) != 2:
            return None
        images = (matter.images[-1], matter.images[int(kept.chosen)])
        captions = (matter.captions[1], matter.captions[0])
        rng = seeds.rng(kept.seed, "verified", *images)
        grid = Grid.square(images, captions, drawn_order(rng), drawn_order(rng))
        return Item.built("bivlc", grid, kind=kept.source.kind, origin=kept.origin)


class FirstSecondBoth(QuestionType):
    """Shows a caption and two pictures in random order."""

    name = "first-second-both"
    about = "which of two pictures the caption fits better: first, second or both (BiVLC)"
    needs = "items with two images"
    instructions = (
        "You see a caption and two pictures. Choose the picture that the caption describes.\n\n"
        "If it describes both of them equally well, choose **Both equally**. Judge only what the "
        "caption says: defects such as distorted faces, arms or hands do not matter."
    )
    examples = (
        TrainingExample(
            (
                Scenery("room", ("purple vase", "big brown table"), "on"),
                Scenery("room", ("purple vase", "big brown table"), "left"),
            ),
            ("A vase on a table.",),
            ("0",),
            "Both pictures show a vase and a table, but the vase is on the table in only one "
            "of them.",
        ),
        TrainingExample(
            (Scenery("snow", ("red car",)), Scenery("snow", ("red car", "green bench"))),
            ("A red car in the snow.",),
            ("both",),
            "Everything the caption says is true of both. The bench does not matter.",
        ),
    )

    def matters(self, item: Item) -> Iterator[Matter]:
        """The original caption with both images; every caption if there is no original."""
        if len(item.images) != 2:
            return
        asked = range(len(item.captions)) if item.original is None else [item.original[1]]
        for j in asked:
            true = true_images(item, j)
            truth = Truth(true if len(true) == 1 else frozenset({"both"})) if true else None
            yield Matter(item.id, f"image@{j}", item.images, (item.captions[j],), truth)

    def form(self, matter: Matter) -> TaskForm:
        """Two pictures, then both."""
        both = Option("both", "Both equally")
        return which_picture(matter, both, places=("First picture", "Second picture"))

    def follow(self, earlier: Matter, chosen: str) -> Iterator[Matter]:
        """The original caption with the original image and the chosen candidate."""
        if len(earlier.captions) == 2:
            images = (earlier.images[-1], earlier.images[int(chosen)])
            truth = Truth(frozenset({"0"}))
            yield Matter(earlier.item, "ambiguity", images, (earlier.captions[1],), truth)


BEST_IMAGE = BestImage()
FIRST_SECOND_BOTH = FirstSecondBoth()

"""BiVLC, step 3: which of several generated images shows best what the caption says, if any?

Miranda et al. 2024, section 3.1: the best of four images, or none; then the instance is dropped.
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
    numbered,
)
from tellapart.items import Item


class BestImage:
    """Shown are a caption and its candidates.

    An item has one caption and its candidates, or two captions and an original pair: then the
    candidates are for the other caption. The matter keeps the original image and caption behind
    the others; they are not shown, a later stage asks about them.
    """

    name = "best-image"
    about = "which of several pictures shows the caption best, or none (BiVLC)"
    needs = "items with three images or more and one caption, or two and an original pair"
    instructions = (
        "You see a caption and several pictures that a program made for it. Choose the picture "
        "that shows what the caption says.\n\n"
        "Everything that the caption names must be there, as it says: the things, their number, "
        "their colours, who does what. If several pictures fit, take the one that looks most "
        "natural. If none of them fits, choose **None of them**."
    )
    examples = (
        Example(
            (
                Scenery("beach", ("blue boat",)),
                Scenery("beach", ("blue boat", "yellow umbrella")),
                Scenery("beach", ("red boat", "yellow umbrella")),
                Scenery("desert", ("blue boat", "yellow umbrella")),
            ),
            ("A blue boat and a yellow umbrella on a beach.",),
            ("1",),
            "One of the others has no umbrella, one a red boat, and one is not on a beach.",
        ),
        Example(
            (
                Scenery("night", ("brown cow",)),
                Scenery("night", ("two brown cow",)),
                Scenery("meadow", ("three brown cow",)),
                Scenery("night", ("four brown cow",)),
            ),
            ("Three brown cows at night.",),
            ("none",),
            "Three cows are in one picture only, and there it is day.",
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

    def form(self, matter: Matter) -> Form:
        """The candidates, then none."""
        candidates = len(matter.images) - (len(matter.captions) - 1)
        return Form(
            "Which picture shows best what the caption says?",
            shown=(Shown("Caption", matter.captions[0]),),
            options=numbered(images=candidates),
            fixed=(Option("none", "None of them"),),
        )


QUESTION = BestImage()

"""BiVLC, step 4: which of two images does the caption describe, or both alike?

Miranda et al. 2024, section 3.1: where the generated image is chosen, or both, the instance goes.
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
    numbered,
    true_images,
)
from tellapart.items import Item


class FirstSecondBoth:
    """Shown are a caption and two pictures in drawn order."""

    name = "first-second-both"
    about = "which of two pictures the caption fits better: first, second or both (BiVLC)"
    needs = "items with two images"
    instructions = (
        "You see a caption and two pictures. Choose the picture that the caption describes.\n\n"
        "If it describes both of them equally well, choose **Both alike**. Judge only what the "
        "caption says: it does not matter which picture is more beautiful or more natural."
    )
    examples = (
        Example(
            (
                Scenery("room", ("purple vase", "big brown table"), "on"),
                Scenery("room", ("purple vase", "big brown table"), "left"),
            ),
            ("A vase on a table.",),
            ("0",),
            "There is a vase and a table in both pictures, but it stands on the table in one only.",
        ),
        Example(
            (Scenery("snow", ("red car",)), Scenery("snow", ("red car", "green bench"))),
            ("A red car in the snow.",),
            ("both",),
            "Everything that the caption says is true of both. The bench does not matter.",
        ),
    )

    def matters(self, item: Item) -> Iterator[Matter]:
        """The original caption with both images; every caption where none is the original."""
        if len(item.images) != 2:
            return
        asked = range(len(item.captions)) if item.original is None else [item.original[1]]
        for j in asked:
            true = true_images(item, j)
            truth = Truth(true if len(true) == 1 else frozenset({"both"})) if true else None
            yield Matter(item.id, f"image@{j}", item.images, (item.captions[j],), truth)

    def form(self, matter: Matter) -> Form:
        """Two pictures, then both."""
        return Form(
            "Which picture does the caption describe?",
            shown=(Shown("Caption", matter.captions[0]),),
            options=numbered(images=2),
            fixed=(Option("both", "Both alike"),),
            places=("First picture", "Second picture"),
        )

    def follow(self, earlier: Matter, chosen: str) -> Iterator[Matter]:
        """The original caption with the original image and the candidate that was chosen."""
        if len(earlier.captions) == 2:
            images = (earlier.images[-1], earlier.images[int(chosen)])
            truth = Truth(frozenset({"0"}))
            yield Matter(earlier.item, "ambiguity", images, (earlier.captions[1],), truth)


QUESTION = FirstSecondBoth()

"""BISON, step 3: which image does the caption describe: first, second, both or neither?

Hu et al. 2019, section 4.1: two people who do not know the target verify each triple.
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


class WhichImage:
    """Shown are a caption and two pictures in drawn order; nothing tells which is the target."""

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
        Example(
            (
                Scenery("meadow", ("red ball", "brown dog")),
                Scenery("meadow", ("blue ball", "brown dog")),
            ),
            ("A dog with a red ball on the grass.",),
            ("0",),
            "Both pictures show a dog with a ball. The ball is red in one of them only.",
        ),
        Example(
            (Scenery("beach", ("yellow kite",)), Scenery("beach", ("yellow kite", "white bird"))),
            ("A yellow kite at the beach.",),
            ("both",),
            "The caption does not speak of a bird, and all that it says is true of both.",
        ),
        Example(
            (Scenery("street", ("two green car",)), Scenery("street", ("blue car", "green bus"))),
            ("Three cars on a street.",),
            ("neither",),
            "There are two cars in one picture and one in the other, nowhere three.",
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

    def form(self, matter: Matter) -> Form:
        """Two pictures, then both and neither."""
        return Form(
            "Which picture does the caption describe?",
            shown=(Shown("Caption", matter.captions[0]),),
            options=numbered(images=2),
            fixed=(Option("both", "Both pictures"), Option("neither", "Neither picture")),
            places=("First picture", "Second picture"),
        )

    def follow(self, earlier: Matter, chosen: str) -> Iterator[Matter]:
        """The caption that someone picked for the first of two images, asked without telling."""
        caption = earlier.captions[int(chosen)]
        truth = Truth(frozenset({"0"}))
        yield Matter(earlier.item, "verify", earlier.images[:2], (caption,), truth)


QUESTION = WhichImage()

"""Which image does the caption describe: the first, the second, both or neither? (BISON, step 3)

Hu et al. 2019, section 4.1: two people who do not know the target verify each triple.
"""

from __future__ import annotations

from collections.abc import Iterator

from tellapart.annotate.questions.question import (
    Form,
    Matter,
    Option,
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
        "Choose **Both** if every word of it is true of both pictures, and **Neither** if something "
        "in it is wrong for each of them. Go by what you can see, not by what is likely. Small "
        "details decide: a colour, a number, who does what."
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

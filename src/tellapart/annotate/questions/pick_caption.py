"""BISON, step 2: which caption is true of the target and not of the other picture, if any?

Hu et al. 2019, section 4.1: the pair is dropped where no caption tells the two apart.
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


class PickCaption:
    """Shown are the target, the other picture and the target's captions in drawn order."""

    name = "pick-caption"
    about = "which caption is true of the target only, or none (BISON)"
    needs = "items with two images of which one is the target (its captions are the true ones)"
    instructions = (
        "You see a target picture, another picture, and captions that were written for the target."
        "\n\nPick a caption that is true of the **target** and **not** true of the other picture. "
        "Someone who sees only this caption and the two pictures, without knowing which is the "
        "target, must be able to tell. If there are several, take the clearest. If every caption "
        "also fits the other picture, choose **None of them**."
    )
    examples = (
        Example(
            (
                Scenery("room", ("grey cat", "red couch")),
                Scenery("room", ("white cat", "red couch")),
            ),
            ("A cat and a couch.", "A grey cat next to a red couch.", "A pet indoors."),
            ("1",),
            "Only this caption says that the cat is grey. The two others are true of both.",
        ),
        Example(
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

    def form(self, matter: Matter) -> Form:
        """Two pictures with their roles, the captions, then none."""
        return Form(
            "Which caption is true of the target only?",
            shown=(Shown("Target", image=0), Shown("The other picture", image=1)),
            options=numbered(captions=matter.captions),
            fixed=(Option("none", "None of them"),),
        )


def _target(item: Item) -> int | None:
    """The image that the captions were written for, where the item says so."""
    if len(item.images) != 2:
        return None
    if item.original is not None:
        return item.original[0]
    true = {image for image, _ in item.true}
    return true.pop() if len(true) == 1 else None


QUESTION = PickCaption()

"""Both directions in one study: which caption fits the image, which image fits the caption.

Miranda et al. 2024, section 4: the four queries of an instance, each by itself (BiVLC's baseline).
"""

from __future__ import annotations

from collections.abc import Iterator

from tellapart.annotate.questions.choose import CHOOSE_CAPTION, CHOOSE_IMAGE
from tellapart.annotate.questions.question import Form, Matter
from tellapart.items import Item


class ChooseBothWays:
    """Shown is a picture with captions, or a caption with pictures."""

    name = "choose-both-ways"
    about = "which caption fits the picture and which picture the caption, mixed (BiVLC baseline)"
    needs = "items with two images or two captions, or more"
    instructions = (
        "You see a picture with captions, or a caption with pictures. Choose the caption that "
        "describes the picture, or the picture that the caption describes.\n\n"
        "Exactly one of them is meant. They may differ in a single detail: look for what decides. "
        "If you are not sure, choose what seems most likely."
    )
    examples = (CHOOSE_CAPTION.examples[0], CHOOSE_IMAGE.examples[0])

    def matters(self, item: Item) -> Iterator[Matter]:
        """All questions of both directions that an item allows."""
        yield from CHOOSE_CAPTION.matters(item)
        yield from CHOOSE_IMAGE.matters(item)

    def form(self, matter: Matter) -> Form:
        """The form of the direction that a matter has: several captions, or several images."""
        several = len(matter.captions) > 1
        return CHOOSE_CAPTION.form(matter) if several else CHOOSE_IMAGE.form(matter)


QUESTION = ChooseBothWays()

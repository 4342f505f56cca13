"""What `build foil` can be told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from tellapart.errors import BadInput, UnknownName
from tellapart.text.spacy_pipeline import DEFAULT

ABSENCE = ("objects", "captions")
PER = ("auto", "caption", "image")
AUTO, LANGUAGE, RANDOM = "auto", "language", "random"


@dataclass(frozen=True, slots=True)
class FoilOptions:
    """The paper's four steps, and where to leave them.

    `categories` is a table of words (default: the world's, else COCO's). `split` is `paper`,
    `none` or a file of pairs, of which those of `part` are used. `mentions` is how many captions
    of the image must have the target. `absence` says who tells that a foil is absent: the image's
    objects and its captions, or the captions alone. `hardest` is a model that scores pairs,
    `language` (a language model of the corpus's captions) or `random`; one foil is kept `per`
    caption, as in the paper, or image. `parser` is a spaCy pipeline or `none`. `plain` replaces
    words as the paper does: wherever they stand, without regard to what they mean there, to a/an,
    or to what the captions mention.

    `auto` means `language`, `caption` and `en_core_web_sm`; on the built-in world `random` (its
    words are all as likely, so that the likeliest foil would be likelier than the truth), `image`
    and `none`.
    """

    categories: Path | None = None
    split: str = "paper"
    part: str = "test"
    mentions: int = 2
    absence: str = "objects"
    hardest: str = AUTO
    per: str = AUTO
    parser: str = AUTO
    plain: bool = False

    def check(self) -> None:
        """Raise where a value cannot be meant."""
        if self.mentions < 1:
            raise BadInput(f"{self.mentions} captions are none", allowed="1 or more")
        if self.absence not in ABSENCE:
            raise UnknownName("way to tell what is absent", self.absence, ABSENCE)
        if self.per not in PER:
            raise UnknownName("thing to keep a foil for", self.per, PER)
        if self.plain and self.absence == "captions":
            raise BadInput(
                "the paper's plain replacement does not look at captions for what is absent",
                allowed="--plain with objects, or --absence captions without --plain",
            )

    def settled(self, *, world: bool) -> Self:
        """What `auto` means for a corpus."""
        usual = (RANDOM, "image", "none") if world else (LANGUAGE, "caption", DEFAULT)
        given = (self.hardest, self.per, self.parser)
        hardest, per, parser = (
            default if one == AUTO else one for one, default in zip(given, usual, strict=True)
        )
        return replace(self, hardest=hardest, per=per, parser=parser)

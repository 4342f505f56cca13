"""What `build foil` can be told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tellapart.errors import BadInput, UnknownName
from tellapart.text.parsing_spacy import DEFAULT

ABSENCE = ("objects", "captions")
PER = ("auto", "caption", "image")
LANGUAGE, RANDOM = "language", "random"


@dataclass(frozen=True, slots=True)
class FoilOptions:
    """The paper's four steps, and where to leave them.

    `categories` is a table of words (default: the world's, else COCO's). `split` is `paper`,
    `none` or a file of pairs, of which those of `part` are used. `mentions` is how many captions
    of the image must have the target. `absence` says who tells that a foil is absent: the image's
    objects and its captions, or the captions alone. `hardest` is a model that scores pairs,
    `language` (a language model of the corpus's captions) or `random`; one foil is kept `per`
    caption, as in the paper, or `image` (`auto`: on the built-in world, whose captions are much
    alike). `parser` is a spaCy pipeline or `none`; empty means none on the world, whose words are
    known. `plain` replaces words as the paper does: wherever they stand,
    without regard to what they mean there, to a/an, or to what the captions mention.
    """

    categories: Path | None = None
    split: str = "paper"
    part: str = "test"
    mentions: int = 2
    absence: str = "objects"
    hardest: str = LANGUAGE
    per: str = "auto"
    parser: str = ""
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

    def pipeline(self, *, known_words: bool) -> str:
        """The name of the spaCy pipeline, empty where none is used."""
        if self.parser == "none" or (not self.parser and known_words):
            return ""
        return self.parser or DEFAULT

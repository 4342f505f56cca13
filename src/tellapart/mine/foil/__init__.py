"""FOIL: captions with one wrong word, from pairs of category words (Shekhar et al. 2017).

Section 3 has four steps: pairs of words within supercategories, split between train and test;
salient targets (`mentions`) replaced by absent foils (`foils`); the hardest foil of each caption
(`hardest`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Self

from tellapart.errors import BadInput, UnknownName
from tellapart.options import Help

ABSENCE = ("objects", "captions")
PER = ("auto", "caption", "image")
PAPER, BOTH_WAYS = "paper", "both-ways"
AUTO, LANGUAGE, RANDOM = "auto", "language", "random"


# Without slots: options of the builder inherit from it and from another class that has some.
@dataclass(frozen=True, kw_only=True)
class FoilMethod:
    """The paper's four steps, and where to leave them.

    `plain` replaces words as the paper does: wherever they stand, without regard to what they mean
    there, to a/an, or to what the captions mention. On the built-in world the hardest foil is drawn
    at random: its words are all as likely, so the likeliest foil would be likelier than the truth.
    """

    categories: Annotated[
        Path | None,
        Help("Table of word, category, supercategory (default: COCO's, the world's)."),
    ] = None
    split: Annotated[
        str,
        Help(
            "Pairs: paper (256:216), both-ways (a pair and its reverse in one part), none (all), "
            "or a table of target, foil; auto: both-ways, but paper with --unfiltered."
        ),
    ] = AUTO
    part: Annotated[str, Help("Which part of the split: train or test.")] = "test"
    mentions: Annotated[int, Help("Captions of the image that must have the target.")] = 2
    absence: Annotated[
        str, Help("What tells that a foil is absent: objects, or captions alone.")
    ] = "objects"
    hardest: Annotated[
        str,
        Help(
            "What picks the hardest: a model such as trained:FOLDER, language (of the captions), "
            "random; auto: the captioner in TELLAPART_HOME/neuraltalk, else language, but random "
            "on the built-in world."
        ),
    ] = AUTO
    per: Annotated[
        str,
        Help(
            "Keep a foil for each caption or image; auto: caption, but image on the built-in world."
        ),
    ] = AUTO
    parser: Annotated[str, Help("A spaCy pipeline, or none (the built-in world needs none).")] = (
        AUTO
    )
    plain: Annotated[bool, Help("Replace words as the paper does, grammatical or not.")] = False

    def check(self) -> None:
        """Raise where a value cannot be meant."""
        if self.mentions < 1:
            raise BadInput(f"mentions: {self.mentions}", allowed="1 or more")
        if self.absence not in ABSENCE:
            raise UnknownName("way to tell what is absent", self.absence, ABSENCE)
        if self.per not in PER:
            raise UnknownName("thing to keep a foil for", self.per, PER)
        if self.plain and self.absence == "captions":
            raise BadInput(
                "the paper's plain replacement does not look at captions for what is absent",
                allowed="--plain with objects, or --absence captions without --plain",
            )

    def resolved(self, *, world: bool, filtered: bool = False, seeing: str | None = None) -> Self:
        """What `auto` means for a corpus; `seeing` is a captioner that can pick the hardest."""
        from tellapart.text.spacy_pipeline import DEFAULT

        values = (RANDOM, "image", "none") if world else (seeing or LANGUAGE, "caption", DEFAULT)
        hardest, per, parser = (
            usual if value == AUTO else value
            for value, usual in zip((self.hardest, self.per, self.parser), values, strict=True)
        )
        split = (BOTH_WAYS if filtered else PAPER) if self.split == AUTO else self.split
        return replace(self, hardest=hardest, per=per, parser=parser, split=split)

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


# No slots: the builder's options inherit from this and from another class that has slots.
@dataclass(frozen=True, kw_only=True)
class FoilMethod:
    """The paper's four steps, and how to depart from them.

    `plain` replaces words as the paper does: wherever they occur, whatever they mean there, and
    regardless of a/an or of what the captions mention. On the built-in world the hardest foil is
    random: all its words are equally likely, so the likeliest foil would be likelier than the
    truth.
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
    mentions: Annotated[int, Help("How many captions of the image must have the target.")] = 2
    absence: Annotated[
        str, Help("What shows that a foil is absent: objects, or captions alone.")
    ] = "objects"
    hardest: Annotated[
        str,
        Help(
            "What picks the hardest foil: a model such as trained:FOLDER, language (a model of the "
            "captions), random; auto: the captioner in TELLAPART_HOME/neuraltalk, else language, "
            "but random on the built-in world."
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
    plain: Annotated[bool, Help("Replace words as in the paper, grammatical or not.")] = False

    def check(self) -> None:
        """Raise if a value makes no sense."""
        if self.mentions < 1:
            raise BadInput(f"mentions: {self.mentions}", allowed="1 or more")
        if self.absence not in ABSENCE:
            raise UnknownName("evidence of absence", self.absence, ABSENCE)
        if self.per not in PER:
            raise UnknownName("unit to keep a foil for", self.per, PER)
        if self.plain and self.absence == "captions":
            raise BadInput(
                "the paper's plain replacement does not use captions to decide what is absent",
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

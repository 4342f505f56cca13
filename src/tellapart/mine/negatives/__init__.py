"""Hard negative captions of SugarCrepe's seven kinds, by rules or by a language model.

SugarCrepe (Hsieh et al. 2023) and TROHN-Text (Miranda et al. 2024, section 5.1) from any captions:
a caption of an image with one that differs from it in a detail and is false.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tellapart.errors import BadInput, UnknownName
from tellapart.options import Help

DETAILS = ("both", "added")
"""Methods of the add kinds by rules: a true detail against a false one, or a false one alone."""


# No slots: the builder's options inherit from this and from another class that has slots.
@dataclass(frozen=True, kw_only=True)
class NegativesMethod:
    """Which kinds of negatives, how they are written, and how many.

    No `kinds` means all; `by` is `rules` or `llm:MODEL`; `per_caption` is the number of negatives
    of each kind; `details` is the method of the add kinds by rules, one of `DETAILS`; the word
    lists are learned from the corpus `lists_from`, if that is not the corpus itself. `as_written`
    keeps the captions' own form instead of one form for all (`text.formatting`). `llm` holds the
    options of the language model (`LlmOptions`).
    """

    kinds: Annotated[
        tuple[str, ...], Help("Kinds of near miss, separated by commas (default: all seven).")
    ] = ()
    by: Annotated[str, Help("What writes them: rules, or llm:MODEL.")] = "rules"
    per_caption: Annotated[int, Help("At most this many negatives of each kind per caption.")] = 1
    details: Annotated[
        str,
        Help(
            "For rules and the add kinds: both pairs a true detail with a false one, added pairs "
            "no detail with a false one, as in SugarCrepe."
        ),
    ] = "both"
    lists_from: Annotated[
        Path | None, Help("For rules: learn the word lists from this corpus, not the captions.")
    ] = None
    as_written: Annotated[bool, Help("Keep capitals and final marks as they are.")] = False
    parser: Annotated[str, Help("The spaCy pipeline.")] = "en_core_web_sm"
    cache: Path | None = None
    llm: object = None

    def __post_init__(self) -> None:
        from tellapart.items import KINDS

        for kind in self.kinds:
            if kind not in KINDS:
                raise UnknownName("kind of near miss", kind, KINDS)
        if self.by != "rules" and not self.by.startswith("llm:"):
            raise BadInput(
                f"negatives cannot be made by {self.by!r}", allowed="rules, or llm:MODEL"
            )
        if self.details not in DETAILS:
            raise BadInput(f"details: {self.details!r}", allowed=", ".join(DETAILS))
        if self.per_caption < 1:
            raise BadInput(f"per_caption: {self.per_caption}", allowed="1 or more")

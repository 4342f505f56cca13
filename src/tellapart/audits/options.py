"""Options of an audit; importing this module imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from tellapart.options import Help


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """Options of an audit.

    The pictures of at most `picture_items` items are opened, and a language model reads at most
    `read_items` items; `ngrams` also fits the n-gram model.
    """

    text_features: Annotated[
        str,
        Help(
            "Features of attackers on captions: base (counts) or all (also the sentence encoder "
            "and the language model, if installed)."
        ),
    ] = "base"

    lm: Annotated[str, Help("Add a causal language model: a folder or a name (transformers).")] = ""
    look: Annotated[
        bool, Help("Also guess from the pictures alone.", alias="--images/--no-images")
    ] = True
    encoder: Annotated[
        Any,
        Help(
            "A frozen model that attackers and detectors look with: storybook, open_clip:NAME, or "
            "a backbone such as efficientnet-lite0."
        ),
    ] = ""
    picture_items: int = 2_000
    read_items: int = 3_000
    ngrams: bool = True
    resamples: int = 2_000

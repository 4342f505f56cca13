"""How an audit is made; importing this imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tellapart.options import Help


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """How an audit is made.

    `lm` is the name or folder of a causal language model for transformers; `look` says whether
    pictures are opened, of at most `picture_items` items; `ngrams` whether the n-gram model is
    fitted.
    """

    lm: Annotated[str, Help("Also a causal language model: a folder or a name (transformers).")] = (
        ""
    )
    look: Annotated[
        bool, Help("Also guess from the pictures alone.", alias="--images/--no-images")
    ] = True
    picture_items: int = 2_000
    ngrams: bool = True
    resamples: int = 2_000

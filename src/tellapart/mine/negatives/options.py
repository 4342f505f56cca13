"""The options of `build negatives`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tellapart.errors import BadInput, UnknownName
from tellapart.items import KINDS


@dataclass(frozen=True, slots=True)
class NegativesOptions:
    """Which kinds, by what, how many.

    `by` is `rules` or `llm:MODEL`; `per_caption` counts negatives of each kind; `lists_from` is a
    corpus that the word lists are learnt from, where that is not the corpus itself.
    `as_written` keeps the captions' own form instead of one form for all (`text.formatting`).
    `llm` holds the options of the language model's way (`LlmOptions`).
    """

    kinds: tuple[str, ...] = KINDS
    by: str = "rules"
    per_caption: int = 1
    lists_from: Path | None = None
    as_written: bool = False
    parser: str = "en_core_web_sm"
    cache: Path | None = None
    llm: object = None

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in KINDS:
                raise UnknownName("kind of near miss", kind, KINDS)
        if self.by != "rules" and not self.by.startswith("llm:"):
            raise BadInput(f"nothing makes negatives by {self.by!r}", allowed="rules, or llm:MODEL")
        if self.per_caption < 1:
            raise BadInput(f"{self.per_caption} negatives a caption are none", allowed="1 or more")

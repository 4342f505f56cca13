"""Models that write captions, and how they choose their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, runtime_checkable

from tellapart.errors import BadInput
from tellapart.models.model import Model
from tellapart.options import Help, Seed
from tellapart.pictures import Picture

METHODS = ("beam", "greedy", "sample")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """How captions are written; samples for an image depend only on it and the seed."""

    method: Annotated[
        str,
        Help(
            "beam (the likeliest caption), greedy (the likeliest word at each step), or sample "
            "(random words).",
            choices=METHODS,
        ),
    ] = "beam"
    beams: Annotated[int, Help("beam: how many captions are kept at each step.")] = 5
    temperature: Annotated[
        float, Help("For samples: below 1 favours likely words, above 1 unlikely ones.")
    ] = 1.0
    longest: Annotated[int, Help("At most this many words (or tokens) per caption.")] = 20
    seed: Seed = 0

    def check(self) -> None:
        """Raise if a value makes no sense."""
        if self.method not in METHODS:
            raise BadInput(f"method {self.method!r}", allowed=", ".join(METHODS))
        if self.beams < 1 or self.longest < 1:
            raise BadInput(
                f"{self.beams} beams, captions of {self.longest} words", allowed="1 or more of both"
            )
        if not 0 < self.temperature < float("inf"):
            raise BadInput(f"a temperature of {self.temperature}", allowed="a number above 0")


@runtime_checkable
class CaptionWriter(Model, Protocol):
    """Writes captions of pictures."""

    def write_captions(self, pictures: Sequence[Picture], how: Decoding) -> list[str]:
        """One caption per picture."""
        ...


def writes_captions(model: Any) -> CaptionWriter:
    """The model, if it writes captions; the error says which models do."""
    if isinstance(model, CaptionWriter):
        return model
    raise BadInput(
        f"{model.facts.name} does not write captions",
        allowed="a captioner: trained:FOLDER (showtell, showatttell, updown, neuraltalk, "
        "vec2seq-ffnn), or hf:ORG/NAME?head=caption",
        todo="see: tellapart list models",
    )

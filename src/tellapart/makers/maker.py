"""The protocol of a maker of images.

A maker gets requests and returns one picture, or the reason why there is none, for each. Everything
a picture depends on is in the maker's name and in the request, so that a killed job makes the same
pictures when it resumes. A maker that draws from captions reads the caption and the seed; one that
edits reads the source and the edit as well; `folder:` reads the key.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from tellapart import registry
from tellapart.errors import BadInput, TellapartError
from tellapart.models.names import ModelName, canonical, factory_object
from tellapart.pictures import Picture
from tellapart.seeds import digest

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

FractionBox = tuple[float, float, float, float]
"""Part of a picture: left, top, width, height as fractions of it."""


@dataclass(frozen=True, slots=True)
class PhotoEdit:
    """An edit of a picture: mirror it, erase some boxes, or neither.

    Boxes may grow by up to `growth`, if that is more than the maker lets them grow anyway.
    """

    mirror: bool = False
    erase: tuple[FractionBox, ...] = ()
    growth: float = 0.0

    def facts(self) -> list[Any]:
        """The edit as values for hashing."""
        return [self.mirror, [list(box) for box in self.erase], self.growth]


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """A requested picture: `key` names its file, `seed` belongs to this caption and candidate."""

    key: str
    caption: str
    seed: int
    source: Picture | None = None
    edit: PhotoEdit | None = None


@dataclass(frozen=True, slots=True)
class MadeImage:
    """An encoded picture with its file extension, or the reason of a refusal and no picture."""

    data: bytes = b""
    suffix: Literal["png", "jpg"] = "png"
    refused: str = ""


@dataclass(frozen=True, slots=True)
class MakerInfo:
    """What a card records about a maker, so that the same pictures can be made again.

    `licence` states the terms of its weights, for anyone who shares the pictures.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    weights: str = ""
    licence: str = ""

    @property
    def fingerprint(self) -> str:
        """The hash of everything a picture depends on besides its request."""
        return digest("maker", self.name, self.weights)

    def to_json(self) -> dict[str, Any]:
        """For cards."""
        told = {"name": self.name, "weights": self.weights, "licence": self.licence}
        return {name: value for name, value in told.items() if value}


@runtime_checkable
class ImageMaker(Protocol):
    """Makes pictures, `batch` at a time.

    `needs` says what a request must have besides its caption: nothing, a picture to edit, or a
    picture with boxes.
    """

    facts: MakerInfo
    batch: int
    needs: Literal["caption", "picture", "boxes"]

    def make(self, requests: Sequence[ImageRequest]) -> list[MadeImage]:
        """One picture or refusal per request, in order."""
        ...


@runtime_checkable
class Preparing(Protocol):
    """A maker that must see all requests before it makes the first picture."""

    def prepare(self, requests: Sequence[ImageRequest]) -> None:
        """Called once for each job that has anything left to make."""
        ...


class MakerFailed(TellapartError):
    """A maker cannot continue; the pictures made so far are kept."""


def load_maker(text: str) -> ImageMaker:
    """The maker that a string names, such as `world:` or `http:MODEL@http://host/v1?size=512x512`.

    >>> load_maker("world:").facts.name
    'world:'
    """
    name = ModelName.parse(text)
    maker = factory_object(name, registry.makers.get(name.scheme), registry.makers)
    if not isinstance(maker, ImageMaker):
        raise BadInput(f"{text!r} is not a maker of images", todo="see: tellapart list makers")
    return maker


def maker_name(scheme: str, options: Mapping[str, Any], rest: str = "") -> str:
    """The string that rebuilds a maker; the colon stays even with nothing after it.

    >>> maker_name("world", {"error": 0.1, "look": "storybook"})
    'world:?error=0.1'
    """
    text = canonical(scheme, options, rest, registry.makers.get(scheme))
    return text if rest else text.replace(scheme, f"{scheme}:", 1)


def png(picture: PILImage) -> MadeImage:
    """A picture as a PNG file."""
    buffer = io.BytesIO()
    picture.convert("RGB").save(buffer, "PNG")
    return MadeImage(buffer.getvalue(), "png")


def jpeg(picture: PILImage, quality: int) -> MadeImage:
    """A picture as a JPEG file."""
    buffer = io.BytesIO()
    picture.convert("RGB").save(buffer, "JPEG", quality=quality)
    return MadeImage(buffer.getvalue(), "jpg")

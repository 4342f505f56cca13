"""What a maker of images is to the toolkit: one small protocol.

A maker is given requests and gives one picture, or the reason why there is none, for each. All that
a picture depends on is in the maker's name and in the request, so that a job that was killed makes
the same pictures when it goes on. A maker that writes pictures from captions reads the caption and
the seed; one that edits reads the source and the edit as well; `folder:` reads the key.
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
    """What is to be done to a picture: mirrored, some boxes taken out of it, or neither."""

    mirror: bool = False
    erase: tuple[FractionBox, ...] = ()

    def facts(self) -> list[Any]:
        """As it goes into hashes."""
        return [self.mirror, [list(box) for box in self.erase]]


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """A picture that is wanted: `key` names its file, `seed` is of this caption and candidate."""

    key: str
    caption: str
    seed: int
    source: Picture | None = None
    edit: PhotoEdit | None = None


@dataclass(frozen=True, slots=True)
class MadeImage:
    """An encoded picture with the ending of its file; or the words of a refusal, and no picture."""

    data: bytes = b""
    suffix: Literal["png", "jpg"] = "png"
    refused: str = ""


@dataclass(frozen=True, slots=True)
class MakerInfo:
    """What a card records of a maker, so that the same pictures can be had again.

    `licence` are the facts about its weights that whoever shares the pictures must know.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    weights: str = ""
    licence: str = ""

    @property
    def fingerprint(self) -> str:
        """The hash of all that a picture depends on beside its request."""
        return digest("maker", self.name, self.weights)

    def to_json(self) -> dict[str, Any]:
        """For cards."""
        told = {"name": self.name, "weights": self.weights, "licence": self.licence}
        return {name: value for name, value in told.items() if value}


@runtime_checkable
class ImageMaker(Protocol):
    """Makes pictures; `batch` is how many it is asked for at a time.

    `needs` says what a request must hold beside its caption: nothing, a picture to edit, or a
    picture with boxes.
    """

    facts: MakerInfo
    batch: int
    needs: Literal["caption", "picture", "boxes"]

    def make(self, requests: Sequence[ImageRequest]) -> list[MadeImage]:
        """One picture or refusal a request, in order."""
        ...


@runtime_checkable
class Preparing(Protocol):
    """A maker that wants to know all requests before the first picture is made."""

    def prepare(self, requests: Sequence[ImageRequest]) -> None:
        """Told once for each job that has anything left to make."""
        ...


class MakerFailed(TellapartError):
    """A maker that cannot go on; what was made before is kept."""


def load_maker(text: str) -> ImageMaker:
    """The maker that a string names, such as `world:` or `http:MODEL@http://host/v1?size=512x512`.

    >>> load_maker("world:").facts.name
    'world:'
    """
    name = ModelName.parse(text)
    maker = factory_object(name, registry.makers.get(name.scheme), registry.makers)
    if not isinstance(maker, ImageMaker):
        raise BadInput(f"{text!r} is no maker of images", todo="see: tellapart list makers")
    return maker


def maker_name(scheme: str, options: Mapping[str, Any], rest: str = "") -> str:
    """The string that builds a maker again; the colon stays where nothing stands behind it.

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

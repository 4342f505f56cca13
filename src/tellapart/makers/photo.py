"""`photo:`: real photographs, mirrored or with objects painted out; nothing is generated.

Works offline on pictures with boxes. Every picture it returns, edited or not, is processed the same
way: cropped to whole JPEG blocks, so that mirroring keeps the block grid of the first encoding, and
encoded again with the same quality. So a file does not show which picture of a pair was edited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from tellapart.errors import BadInput
from tellapart.makers.maker import (
    FractionBox,
    ImageRequest,
    MadeImage,
    MakerInfo,
    jpeg,
    maker_name,
)

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

BLOCK = 16
"""The side of a JPEG block with subsampled colour, in pixels."""
QUALITY = 85
GROWTH = 0.02
"""A box grows by this share of the picture on every side, since annotators draw tight boxes."""
FURTHER_GROWTH = 0.05
"""A larger hole, which often removes what would be left of a thing: its shadow, its cable."""


class PhotoMaker:
    """Photographs mirrored, or with objects taken out by MI-GAN (offline; needs boxes)."""

    needs: Literal["caption", "picture", "boxes"] = "boxes"
    batch = 1

    def __init__(self, quality: int = QUALITY, growth: float = GROWTH) -> None:
        if not 30 <= quality <= 100:
            raise BadInput(f"quality={quality}", allowed="30 to 100")
        if not 0 <= growth <= 0.2:
            raise BadInput(f"growth={growth}", allowed="0 to 0.2, as a share of the picture")
        from tellapart.makers.migan import LICENCE, SHA256

        self.quality, self.growth = quality, growth
        options = {"quality": quality, "growth": growth}
        self.facts = MakerInfo(maker_name("photo", options), options, f"migan {SHA256}", LICENCE)

    def make(self, requests: Sequence[ImageRequest]) -> list[MadeImage]:
        """Each source picture, edited."""
        return [self._make_one(request) for request in requests]

    def _make_one(self, request: ImageRequest) -> MadeImage:
        if request.source is None or request.edit is None:
            raise BadInput(
                "photo: needs a photograph to edit",
                allowed="a corpus with boxes",
                todo="give a corpus instead of a benchmark of captions, and boxes with --boxes",
            )
        picture = whole_blocks(request.source.open())
        if request.edit.erase:
            growths = [self.growth, *(g for g in [request.edit.growth] if g > self.growth)]
            picture = erase(picture, request.edit.erase, growths)
        if request.edit.mirror:
            from PIL import ImageOps

            picture = ImageOps.mirror(picture)
        return jpeg(picture, self.quality)


def whole_blocks(picture: PILImage) -> PILImage:
    """The picture cropped to whole JPEG blocks on its right and lower side."""
    width, height = (max(BLOCK, side - side % BLOCK) for side in picture.size)
    return picture.crop((0, 0, min(width, picture.width), min(height, picture.height)))


def erase(picture: PILImage, boxes: Sequence[FractionBox], growths: Sequence[float]) -> PILImage:
    """The picture with some boxes painted over, grown as leaves the plainest paint.

    A fill that continues what is left of a thing, or invents another, varies more.
    """
    from tellapart.makers.migan import fill

    holes = [hole_of(picture, boxes, growth) for growth in sorted(growths)]
    fills = [fill(picture, hole) for hole in holes]
    return min(fills, key=lambda one: _deviation(one, holes[0]))


def _deviation(picture: PILImage, hole: PILImage) -> float:
    """The standard deviation of brightness within a hole."""
    import numpy as np

    seen = np.asarray(picture.convert("L"), float)[np.asarray(hole) > 127]
    return float(seen.std()) if seen.size else 0.0


def hole_of(picture: PILImage, boxes: Sequence[FractionBox], growth: float) -> PILImage:
    """White where the boxes are, black elsewhere."""
    from PIL import Image, ImageDraw

    hole = Image.new("L", picture.size, 0)
    draw = ImageDraw.Draw(hole)
    for left, top, width, height in boxes:
        corners = (left - growth, top - growth, left + width + growth, top + height + growth)
        sides = (picture.width, picture.height) * 2
        x0, y0, x1, y1 = (
            round(min(max(c, 0.0), 1.0) * s) for c, s in zip(corners, sides, strict=True)
        )
        draw.rectangle((x0, y0, max(x0, x1 - 1), max(y0, y1 - 1)), fill=255)
    return hole

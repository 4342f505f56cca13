"""The renderer: a scene becomes a picture, by way of SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Protocol

from tellapart.corpus.world.lexicon import CATEGORIES, COLOURS, SIZES, Category
from tellapart.corpus.world.scene import Box, Scene, copies

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

SIDE = 224
"""Pixels of a picture's side."""
SENTINELS = ("#ff00ff", "#b000b0", "#ff80ff")
"""The colours in the drawings that stand for a thing's own: main, shade, tint."""
SCENE_KEY = "tellapart-scene"
"""Under this name a PNG file carries its scene."""


class Painter(Protocol):
    """Draws things; `extent` says which part of its unit square a category fills."""

    @property
    def categories(self) -> Mapping[str, Category]:
        """What can be drawn, by name."""
        ...

    @property
    def colours(self) -> Sequence[str]:
        """The colours that things come in; "" where they have their own."""
        ...

    def extent(self, category: str) -> Box:
        """(left, top, right, bottom) within the unit square."""
        ...

    def paint(self, scene: Scene) -> PILImage:
        """The picture of a scene."""
        ...


class StorybookPainter:
    """Draws with the project's own vector drawings."""

    @property
    def categories(self) -> dict[str, Category]:
        """Every category that has a drawing."""
        return {name: CATEGORIES[name] for name in drawn_categories()}

    @property
    def colours(self) -> tuple[str, ...]:
        """All colours."""
        return tuple(COLOURS)

    def extent(self, category: str) -> Box:
        """The drawing's bounding box, read off its pixels."""
        return _extent(category)

    def paint(self, scene: Scene) -> PILImage:
        """The picture of a scene."""
        parts = [
            f'<g transform="scale({SIDE / 224})">{_inner(f"background-{scene.background}")}</g>'
        ]
        for thing in scene.things:
            extent = self.extent(thing.category)
            scale = SIZES[thing.size] * SIDE / 100
            body = _coloured(thing.category, thing.colour)
            for left, top in copies(thing, extent):
                x = left * SIDE - extent[0] * 100 * scale
                y = top * SIDE - extent[1] * 100 * scale
                parts.append(
                    f'<g transform="translate({x:.2f} {y:.2f}) scale({scale:.4f})">{body}</g>'
                )
        return rasterise("".join(parts), SIDE).convert("RGB")


@cache
def background(name: str) -> PILImage:
    """The picture of a background alone."""
    return rasterise(_inner(f"background-{name}"), SIDE, 224).convert("RGB")


def rasterise(inner: str, side: int, view: int | None = None) -> PILImage:
    """Pixels of a square SVG."""
    import vl_convert
    from PIL import Image

    view = view or side
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{side}" height="{side}" '
        f'viewBox="0 0 {view} {view}">{inner}</svg>'
    )
    return Image.open(io.BytesIO(vl_convert.svg_to_png(svg)))


def png_bytes(picture: PILImage, scene: Scene) -> bytes:
    """A PNG file of a picture that carries its scene as text."""
    from PIL.PngImagePlugin import PngInfo

    info = PngInfo()
    info.add_text(SCENE_KEY, scene.to_json())
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", pnginfo=info)
    return buffer.getvalue()


def drawn_categories() -> list[str]:
    """Every category that has a drawing."""
    folder = files("tellapart.corpus.world") / "drawings"
    names = (entry.name.removesuffix(".svg") for entry in folder.iterdir())
    return sorted(name for name in names if not name.startswith(("background-", ".")))


@cache
def _inner(name: str) -> str:
    """What stands between a drawing's <svg> tags."""
    path = files("tellapart.corpus.world") / "drawings" / f"{name}.svg"
    match = re.search(r"<svg[^>]*>(.*)</svg>", path.read_text(encoding="utf-8"), re.S)
    assert match is not None, name
    return match.group(1)


@cache
def _coloured(category: str, colour: str) -> str:
    body = _inner(category)
    for sentinel, shade in zip(SENTINELS, COLOURS[colour], strict=True):
        body = body.replace(sentinel, shade)
    return body


@cache
def _extent(category: str) -> Box:
    box = (
        rasterise(_inner(category), 200, 100)
        .getchannel("A")
        .point(lambda a: 255 * (a > 40))
        .getbbox()
    )
    assert box is not None, category
    return box[0] / 200, box[1] / 200, box[2] / 200, box[3] / 200

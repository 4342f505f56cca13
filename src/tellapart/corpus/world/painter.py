"""Painters: draw scenes with vector drawings (SVG) or with a folder of cut-outs."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tellapart.corpus.world.grammar import is_known_word
from tellapart.corpus.world.lexicon import CATEGORIES, COLOURS, SIZE_WORDS, SIZES, Category
from tellapart.corpus.world.scene import Box, Scene, copies
from tellapart.errors import BadInput

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

SIDE = 224
"""Side of a picture in pixels."""
SENTINELS = ("#ff00ff", "#b000b0", "#ff80ff")
"""Placeholders in the drawings for a thing's own colours: main, shade, tint."""
SCENE_KEY = "tellapart-scene"
"""The name of the PNG text chunk that contains the scene."""
DESCRIBING = frozenset(COLOURS) | {word for words in SIZE_WORDS.values() for word in words}
NAME = re.compile(r"[a-z]{3,}")


class Painter(Protocol):
    """Draws scenes; `extent` is the part of the unit square that a category fills."""

    @property
    def categories(self) -> Mapping[str, Category]:
        """What can be drawn, by name."""
        ...

    @property
    def colours(self) -> Sequence[str]:
        """The available colours; "" if things have fixed colours of their own."""
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
        """The drawing's bounding box, measured in its pixels."""
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
    """A picture as a PNG file with its scene in a text chunk."""
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
    """The content of a drawing's <svg> element."""
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


class SpritePainter:
    """Draws with the cut-out pictures of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not folder.is_dir():
            raise BadInput(
                f"there is no folder {folder}", todo="give a folder of cut-out PNG files"
            )
        if len(self.categories) < 2:
            raise BadInput(
                f"{folder} has {len(self.categories)} cut-outs with a usable name",
                allowed="at least two files NAME.png with transparency, named by NAME or NAME.txt",
            )

    @property
    def colours(self) -> tuple[str, ...]:
        """None to choose from: cut-outs have fixed colours."""
        return ("",)

    @cached_property
    def categories(self) -> dict[str, Category]:
        """The categories of the cut-outs, by name."""
        return {name: Category(name, group) for name, (group, _) in self._files.items()}

    @cached_property
    def _files(self) -> dict[str, tuple[str, Path]]:
        found: dict[str, tuple[str, Path]] = {}
        for path in sorted(self.folder.rglob("*.png")):
            name = sprite_name(path)
            parts = path.relative_to(self.folder).parts
            if name and name not in found:
                found[name] = (parts[0] if len(parts) > 1 else "thing", path)
        return found

    def extent(self, category: str) -> Box:
        """The cut-out's box in its square: centred, standing on the lower edge."""
        width, height = self._sprite(category).size
        longer = max(width, height)
        margin = (1 - width / longer) / 2
        return margin, 1 - height / longer, 1 - margin, 1.0

    def paint(self, scene: Scene) -> PILImage:
        """The picture of a scene."""
        picture = background(scene.background).copy()
        for thing in scene.things:
            sprite = self._sprite(thing.category)
            scale = SIZES[thing.size] * SIDE / max(sprite.size)
            size = (max(1, round(sprite.width * scale)), max(1, round(sprite.height * scale)))
            small = sprite.resize(size)
            for left, top in copies(thing, self.extent(thing.category)):
                picture.paste(small, (round(left * SIDE), round(top * SIDE)), small)
        return picture

    def _sprite(self, category: str) -> PILImage:
        return _cut_out(self._files[category][1])


def sprite_name(path: Path) -> str:
    """What a cut-out shows, as one plain word; empty if it is unclear.

    Words for colour and size are dropped ("A red kangaroo." becomes kangaroo), because captions of
    the world add these themselves.
    """
    beside = path.with_suffix(".txt")
    if beside.exists():
        text = beside.read_text(encoding="utf-8", errors="replace").partition("\n")[0]
        if not re.match(r"an? ", text, re.IGNORECASE):
            return ""
        text = text.partition(" ")[2]
    else:
        text = re.sub(r"[_\-\d]+", " ", path.stem)
    words = text.lower().strip(" .!").split()
    if not words or words[-1] in DESCRIBING:  # "a sliced orange": orange is a colour here
        return ""
    name = " ".join(word for word in words if word not in DESCRIBING)
    return name if NAME.fullmatch(name) and not is_known_word(name) else ""


@lru_cache(maxsize=512)
def _cut_out(path: Path) -> PILImage:
    """A cut-out without its empty margin, at most as large as it is ever drawn."""
    from PIL import Image

    try:
        picture = Image.open(io.BytesIO(path.read_bytes())).convert("RGBA")
    except OSError as error:
        raise BadInput(
            f"the cut-out {path.name} cannot be read: {error}", where=str(path)
        ) from None
    box = picture.getchannel("A").point(lambda alpha: 255 * (alpha > 40)).getbbox()
    picture = picture.crop(box) if box else picture
    picture.thumbnail((SIDE, SIDE))
    return picture

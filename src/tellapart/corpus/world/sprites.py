"""Drawing with cut-out pictures instead of the project's own drawings.

A folder holds NAME.png files with transparency, in subfolders if you like; the first folder is
the supercategory. What a cut-out shows is the first line of NAME.txt where there is one ("A
wombat."), else its file name; it must be one noun. Cut-outs keep their own colours, so captions of
such a world speak of sizes, counts, places and relations only.
"""

from __future__ import annotations

import io
import re
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tellapart.corpus.world.drawing import SIDE, background
from tellapart.corpus.world.lexicon import COLOURS, SIZE_WORDS, SIZES, Category
from tellapart.corpus.world.reading import is_known_word
from tellapart.corpus.world.scene import Box, Scene, copies
from tellapart.errors import BadInput

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

DESCRIBING = frozenset(COLOURS) | {word for words in SIZE_WORDS.values() for word in words}
NAME = re.compile(r"[a-z]{3,}")


class SpritePainter:
    """Draws with the cut-out pictures of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not folder.is_dir():
            raise BadInput(
                f"there is no folder {folder}", todo="name a folder of cut-out PNG files"
            )
        if len(self.categories) < 2:
            raise BadInput(
                f"{folder} holds {len(self.categories)} cut-outs that can be named",
                allowed="at least two files NAME.png with transparency, named by NAME or NAME.txt",
            )

    @property
    def colours(self) -> tuple[str, ...]:
        """Cut-outs have no colour that could be chosen."""
        return ("",)

    @cached_property
    def categories(self) -> dict[str, Category]:
        """What there is, by name."""
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
        """The cut-out's place in its square: centred, standing on the lower edge."""
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
    """What a cut-out shows, as one plain word; empty where that cannot be told.

    Words of colour and size are left out ("A red kangaroo." is a kangaroo), since the world says
    these itself.
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
    if not words or words[-1] in DESCRIBING:  # "a sliced orange" is no sliced
        return ""
    name = " ".join(word for word in words if word not in DESCRIBING)
    return name if NAME.fullmatch(name) and not is_known_word(name) else ""


@lru_cache(maxsize=512)
def _cut_out(path: Path) -> PILImage:
    """A cut-out without its empty margin, at most as large as it can be drawn."""
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

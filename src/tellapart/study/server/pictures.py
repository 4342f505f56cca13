"""Pictures as people see them: re-encoded, so that only what is visible is sent.

A file's name, metadata (the built-in world stores its scenes there) and format could give the
answer away. Every picture becomes a WebP of at most `SIDE` pixels, kept in the study's folder under
a hash as its name. Only images in the study's own tables are ever opened, and only if they have not
changed since the study was created.
"""

from __future__ import annotations

import io
import threading
from pathlib import Path

from tellapart.errors import BadImage
from tellapart.files import whole_file
from tellapart.items import Image
from tellapart.pictures import Picture
from tellapart.seeds import digest
from tellapart.study.study import OpenStudy

SIDE = 1600
QUALITY = 90
FORMAT = 1
"""Increased whenever the encoding changes, so that older pictures are not served."""
AT_ONCE = 2
"""Maximum number of pictures decoded at a time; each may be large."""


class Pictures:
    """The pictures of one study."""

    def __init__(self, study: OpenStudy) -> None:
        self._study = study
        self._folder = study.folder / "pictures"
        self._making = threading.BoundedSemaphore(AT_ONCE)

    def read(self, role: str, image_id: str) -> bytes:
        """A picture's bytes, encoded now or taken from the folder.

        `role` is the task's role: gold items and training examples have pictures of their own.
        """
        picture = self._find(role, image_id)
        kept = self._folder / f"{_name(role, picture)}.webp"
        try:
            return kept.read_bytes()
        except FileNotFoundError:
            with self._making:
                return _make(picture, kept)

    def _find(self, role: str, image_id: str) -> Picture:
        content, folder = self._study.content, self._study.folder
        if role == "training":
            return Picture(Image(image_id, image_id), _inside(folder, image_id))
        if role == "gold" and content.gold is not None:
            return content.gold.picture(image_id)
        return content.items.picture(image_id)


def _inside(folder: Path, uri: str) -> Path:
    """The study's folder, if the path stays inside it after following all links."""
    root = folder.resolve()
    if not (root / uri).resolve().is_relative_to(root):
        raise BadImage("a training example's picture is outside the study's folder", where=uri)
    return root


def _make(picture: Picture, kept: Path) -> bytes:
    from PIL import ImageOps

    pixels = picture.open_unchanged()
    pixels = ImageOps.exif_transpose(pixels)
    pixels.thumbnail((SIDE, SIDE))
    written = io.BytesIO()
    pixels.save(written, "WEBP", quality=QUALITY, method=2)
    with whole_file(kept) as partial:
        partial.write_bytes(written.getvalue())
    return written.getvalue()


def _name(role: str, picture: Picture) -> str:
    image = picture.image
    return digest(FORMAT, SIDE, QUALITY, role == "gold", image.id, image.uri, image.sha256)[:40]

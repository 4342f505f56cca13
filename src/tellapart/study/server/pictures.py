"""Pictures as people see them: made anew, so that nothing but what is visible goes out.

A file's name, its metadata (the built-in world writes its scenes there) and its format could give
the answer away. Every picture becomes a WebP of at most `SIDE` pixels, kept in the study's folder
under a name that is a hash. Only images of the study's own tables are ever opened, and only if they
are still what they were when the study was made.
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
"""Raised whenever pictures are made otherwise, so that older ones are not served."""
AT_ONCE = 2
"""Pictures that are unpacked at a time: each may be large."""


class Pictures:
    """The pictures of one study."""

    def __init__(self, study: OpenStudy) -> None:
        self._study = study
        self._folder = study.folder / "pictures"
        self._making = threading.BoundedSemaphore(AT_ONCE)

    def read(self, role: str, image_id: str) -> bytes:
        """A picture's bytes, from the folder where it was made before.

        `role` is the task's: gold items and training examples have pictures of their own.
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
    """The study's folder, if the path stays in it when all links are followed."""
    root = folder.resolve()
    if not (root / uri).resolve().is_relative_to(root):
        raise BadImage("a training example's picture lies outside the study's folder", where=uri)
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

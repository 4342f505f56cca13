"""Thumbnails: made on first request, and kept in the cache.

They are encoded from the pixels only, so that a file's metadata (such as where a photograph was
taken) is not passed on.
"""

from __future__ import annotations

import io
import os
import threading
from dataclasses import dataclass, field
from pathlib import Path

from tellapart.errors import BadImage
from tellapart.files import whole_file
from tellapart.pictures import Picture, crop_box, split_uri
from tellapart.seeds import digest
from tellapart.store.cache import SIZE_GB, default_folder, make_room

FORMAT = 1
"""Increased whenever the encoding changes, so that older thumbnails are not shown."""
QUALITY = 80
ROOM_EVERY = 2_000
"""The size of the cache is checked after this many new thumbnails."""


@dataclass(slots=True)
class Thumbnails:
    """Thumbnails of one size (the longest side in pixels), kept in a folder of the cache."""

    side: int
    folder: Path = field(default_factory=lambda: default_folder() / "thumbnails")
    made: int = 0
    _making: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(os.cpu_count() or 1)
    )

    def read(self, picture: Picture) -> bytes:
        """A thumbnail as WebP, made if it does not exist yet."""
        kept = self._place(picture)
        try:
            return kept.read_bytes()
        except OSError:
            with self._making:
                return self._make(picture, kept)

    def _place(self, picture: Picture) -> Path:
        """The file of a thumbnail; its name changes with the picture's file."""
        try:
            status = picture.path.stat()
        except (OSError, ValueError):
            raise BadImage(
                f"the file of image {picture.id} is missing", where=picture.place
            ) from None
        facts = (str(picture.path.resolve()), picture.image.uri, status.st_size, status.st_mtime_ns)
        name = digest("thumbnail", FORMAT, self.side, QUALITY, *facts)[:40]
        return self.folder / name[:2] / f"{name}.webp"

    def _make(self, picture: Picture, kept: Path) -> bytes:
        data = shrunk(picture, self.side)
        try:
            with whole_file(kept) as partial:
                partial.write_bytes(data)
        except OSError:
            return data  # an unwritable cache only costs time
        self.made += 1
        if self.made % ROOM_EVERY == 0:
            make_room(self.folder.parent, int(SIZE_GB * 1e9))
        return data


def shrunk(picture: Picture, side: int) -> bytes:
    """A picture as a WebP file of at most `side` pixels per side."""
    from PIL import Image, ImageOps

    pixels = picture.open_reduced(side) if not crop_box(split_uri(picture.image.uri)[1]) else None
    pixels = pixels or picture.open()
    pixels = ImageOps.exif_transpose(pixels)
    pixels.thumbnail((side, side), reducing_gap=2.0)
    bare = Image.frombytes("RGB", pixels.size, pixels.convert("RGB").tobytes())
    written = io.BytesIO()
    bare.save(written, "WEBP", quality=QUALITY, method=2)
    return written.getvalue()

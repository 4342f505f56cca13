"""Pictures as people see them: made anew, so that nothing but what is visible goes out.

A file's own name, its metadata (the built-in world writes its scenes there) and its format could
give the answer away. Every picture becomes a WebP of at most `SIDE` pixels, kept in the study's
folder under a name that is a hash.
"""

from __future__ import annotations

import io
from pathlib import Path

from tellapart.annotate.opening import OpenStudy
from tellapart.pictures import Picture
from tellapart.seeds import digest
from tellapart.tables import whole_file

SIDE = 1600
FORMAT = 1


class Pictures:
    """The pictures of one study, by image id."""

    def __init__(self, study: OpenStudy) -> None:
        self._study = study
        self._folder = study.folder / "pictures"

    def read(self, image_id: str) -> bytes:
        """A picture's bytes, from the folder where it was made before."""
        picture = self._study.items.picture(image_id)
        kept = self._folder / f"{_name(picture)}.webp"
        try:
            return kept.read_bytes()
        except FileNotFoundError:
            return self._make(picture, kept)

    def _make(self, picture: Picture, kept: Path) -> bytes:
        pixels = picture.open()
        pixels.thumbnail((SIDE, SIDE))
        written = io.BytesIO()
        pixels.save(written, "WEBP", quality=90, method=2)
        with whole_file(kept) as partial:
            partial.write_bytes(written.getvalue())
        return written.getvalue()


def _name(picture: Picture) -> str:
    image = picture.image
    return digest(FORMAT, SIDE, image.id, image.uri, image.sha256)[:40]

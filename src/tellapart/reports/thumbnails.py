"""Pictures for the page: small, each distinct one stored once, opened one at a time.

They are always written anew from their pixels, so that nothing that a file carries beside them
(such as where a photograph was taken) gets into the page.
"""

from __future__ import annotations

import base64
import hashlib
import io
from dataclasses import dataclass

import PIL.Image
from PIL import features

from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput

PAGE = 7_300_000
"""Bytes that a page with 300 items should stay under; more items may take more."""

LEAST = 1_500_000
"""Bytes that pictures may always take, however much text there is (before base64)."""

LARGEST = 40_000
LEVELS = ((320, 82), (320, 68), (256, 65), (224, 55), (176, 50), (128, 45), (96, 40), (64, 30))
"""Longest side in pixels and quality, tried in turn until a picture fits its share."""


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A picture as the page shows it: its place in the album, or why it is not there."""

    place: int | None
    width: int = 0
    height: int = 0
    problem: str = ""


class Album:
    """All pictures of a page; `pictures` are data URIs, in the order of their places."""

    def __init__(self, items: int, pictures: int, text: int) -> None:
        """For so many items and distinct pictures, beside so many bytes of text."""
        room = max(PAGE * max(1.0, items / 300) - text, 0) * 3 / 4  # base64 makes 4 bytes of 3
        self._limit = min(LARGEST, int(max(room, LEAST) / max(1, pictures)))
        self._seen: dict[tuple[str, str], Thumbnail] = {}
        self._places: dict[str, int] = {}
        self.pictures: list[str] = []

    def add(self, benchmark: Benchmark, image_id: str) -> Thumbnail:
        """Put a picture into the album, unless it is there already."""
        image = benchmark.images.get(image_id)
        if image is None:
            return Thumbnail(None, problem=f"image {image_id} is not listed in the benchmark")
        key = (str(benchmark.root.resolve()), image.uri)
        if key not in self._seen:
            self._seen[key] = self._added(benchmark, image_id)
        return self._seen[key]

    def _added(self, benchmark: Benchmark, image_id: str) -> Thumbnail:
        try:
            with benchmark.picture(image_id).open() as picture:
                data, (width, height) = shrunk(picture, self._limit)
        except BadInput as error:
            return Thumbnail(None, problem=error.what)
        name = hashlib.sha256(data).hexdigest()
        if name not in self._places:
            self._places[name] = len(self.pictures)
            kind = "webp" if data[8:12] == b"WEBP" else "jpeg"
            self.pictures.append(
                f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"
            )
        return Thumbnail(self._places[name], width, height)


def shrunk(picture: PIL.Image.Image, limit: int) -> tuple[bytes, tuple[int, int]]:
    """A picture's bytes, at the best level that fits into `limit` bytes, and its size."""
    data, small = b"", picture.copy()
    for side, quality in LEVELS:
        small.thumbnail((side, side), reducing_gap=2.0)
        data = _encoded(small, quality)
        if len(data) <= limit:
            break
    return data, small.size


def _encoded(picture: PIL.Image.Image, quality: int) -> bytes:
    buffer = io.BytesIO()
    bare = PIL.Image.frombytes("RGB", picture.size, picture.tobytes())  # without what came with it
    if features.check("webp"):
        bare.save(buffer, "WEBP", quality=quality, method=4)
    else:
        bare.save(buffer, "JPEG", quality=quality, optimize=True)
    return buffer.getvalue()

"""Pictures of a study are those that were there when it was made, by their hashes.

Whatever is put in the place of a picture later, a link to a file outside included, is not shown.
A picture that is not there yet has no hash, and may still be brought.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadImage
from tellapart.items import Image
from tellapart.pictures import Picture

THREADS = 4


def pin_pictures(benchmark: Benchmark) -> Benchmark:
    """The same benchmark, each of whose pictures carries the hash of its bytes."""
    with ThreadPoolExecutor(THREADS) as threads:
        pinned = threads.map(_pinned, map(benchmark.picture, benchmark.images))
        return replace(benchmark, images={image.id: image for image in pinned})


def missing_pictures(benchmark: Benchmark) -> int:
    """How many of a study's pictures were not there when it was made."""
    return sum(image.sha256 is None for image in benchmark.images.values())


def _pinned(picture: Picture) -> Image:
    if picture.image.sha256:
        return picture.image
    try:
        return replace(picture.image, sha256=picture.stored_sha256())
    except BadImage:
        return picture.image

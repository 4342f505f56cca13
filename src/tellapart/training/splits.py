"""Which images may be used for training: held out, refused as test images, or look-alikes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.benchmark.groups import components
from tellapart.errors import BadImage, BadInput
from tellapart.image_features.extract import look_of
from tellapart.pictures import Picture
from tellapart.training.data import CaptionedImages
from tellapart.types import Ints

ALIKE = 4
"""Two pictures whose perceptual hashes differ in at most this many of 64 bits may be the same."""


@dataclass(frozen=True, slots=True)
class TestImage:
    """An image that must not be used for training, as far as it is known."""

    __test__ = False  # its name looks like a test to pytest

    id: str
    sha256: str | None
    look: int | None


def known_images(pictures: Iterable[Picture]) -> list[TestImage]:
    """Facts about pictures; those that exist are opened."""
    found = []
    for picture in pictures:
        sha256, look = picture.image.sha256, None
        if picture.is_there():
            with contextlib.suppress(BadImage):
                sha256, look = picture.stored_sha256(), look_of(picture.open())
        found.append(TestImage(picture.id, sha256, look))
    return found


def test_images(benchmarks: Sequence[Benchmark]) -> list[TestImage]:
    """The images of benchmarks; pictures that exist are opened."""
    return known_images(one.picture(image) for one in benchmarks for image in one.images)


def images_of(data: CaptionedImages) -> list[TestImage]:
    """The images of a set that others must not share."""
    columns = data.ids, data.column("sha256"), data.column("look")
    return [TestImage(i, str(s), _whole(n)) for i, s, n in zip(*columns, strict=True)]


def _whole(number: object) -> int:
    assert isinstance(number, int)
    return number


def refuse(own: Sequence[TestImage], tests: Sequence[TestImage], whose: str) -> tuple[str, ...]:
    """Raise if an own image is among `tests`; returns lines that name look-alikes.

    Images are the same by their bytes, or by their ids unless the pictures clearly differ.
    """
    by_id = {one.id: one for one in tests}
    by_hash = {one.sha256 for one in tests if one.sha256}
    same = [
        one.id
        for one in own
        if one.sha256 in by_hash or (one.id in by_id and not _differ(one, by_id[one.id]))
    ]
    if same:
        raise BadInput(
            f"{len(same):,} training images are also in {whose}, such as {same[0]}",
            allowed="training images that no test uses",
            todo="leave them out: tellapart corpus OUT CORPUS --without BENCH",
        )
    return _alike(own, tests, whose)


def _differ(one: TestImage, other: TestImage) -> bool:
    """Whether two pictures clearly look different."""
    known = one.look is not None and other.look is not None
    return known and ((one.look or 0) ^ (other.look or 0)).bit_count() > ALIKE


def _alike(own: Sequence[TestImage], tests: Sequence[TestImage], whose: str) -> tuple[str, ...]:
    seen = [one for one in own if one.look is not None]
    looks = np.array([one.look for one in seen], np.uint64)
    lines = []
    for one in tests:
        if one.look is None:
            continue
        bits = np.bitwise_count(looks ^ np.uint64(one.look))
        for number in np.flatnonzero(bits <= ALIKE).tolist():
            lines.append(f"image {seen[number].id} looks like {one.id} of {whose}")
    return tuple(lines)


def _families(data: CaptionedImages, hashes: Sequence[str]) -> list[str]:
    """The first hash of each image's family: images connected by false captions."""
    if data.false_image is None:
        return list(hashes)
    distinct = sorted(set(hashes))
    number = {one: k for k, one in enumerate(distinct)}
    own = np.array([number[one] for one in hashes])
    linked = data.false_image >= 0
    one, other = own[data.owner[linked]], own[data.false_image[linked]]
    family = components(one, other, len(distinct))
    first = {group: distinct[k] for k, group in reversed(list(enumerate(family.tolist())))}
    return [first[group] for group in family[own].tolist()]


def hold_out(data: CaptionedImages, share: float, seed: int) -> tuple[Ints, Ints]:
    """The numbers of the images for training and held out.

    Equal pictures stay together, and so do pictures and those made for their false captions.
    """
    if not 0 < share < 1:
        raise BadInput(f"a share of {share} cannot be held out", allowed="between 0 and 1")
    hashes = _families(data, [str(one) for one in data.column("sha256")])
    distinct = sorted(set(hashes))
    order = seeds.rng(seed, "held out").permutation(len(distinct))
    count = max(1, round(share * len(distinct)))
    if count >= len(distinct):
        raise BadInput(
            f"{len(distinct)} distinct images are too few to hold some out",
            allowed="at least two images",
        )
    apart = {distinct[k] for k in order[:count].tolist()}
    inside = np.array([one in apart for one in hashes])
    return np.flatnonzero(~inside), np.flatnonzero(inside)

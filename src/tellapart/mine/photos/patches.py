"""Patches: parts of a photograph that are painted over in place of a thing.

If one picture of a pair lacks a thing, paint and missing detail give it away. So a patch as large
is painted over in the other picture: where it takes nothing along that a caption names, and where
about as much detail goes as with the thing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tellapart.image_features.boxes import LabelledBox
from tellapart.makers.maker import FractionBox
from tellapart.makers.photo import GROWTH
from tellapart.types import Bools, Floats

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

STEPS = 24
"""Places are tried on a grid of this many columns and rows."""
SHAPES = (1.0, 0.8, 1.25, 0.64, 1.5625)
"""How much wider than the thing a patch may be; it is lower by as much."""
SIZES = (1.0, 1.1, 1.2, 1.3)
"""How much longer the sides of a patch may be if only so it has the detail of the thing."""
FEW, MOST, PERSON = 0.1, 0.9, 0.3
"""If no place is bare, a patch covers at most the share `FEW` of a thing that captions name, and of
any other as little or at least `MOST`, so that no half is left; people fill at most `PERSON`."""
ALIKE = 0.07
"""Differences of the logarithm of detail that do not matter."""
BLOCK, STEP = 8, 16.0
"""The side of a block in pixels, and the step that its frequencies are rounded to, as in JPEG."""


def patch_like(
    thing: FractionBox,
    named: Sequence[FractionBox],
    others: Sequence[LabelledBox],
    detail: Floats,
    lot: float,
) -> FractionBox | None:
    """A place to paint over instead of the thing; None if there is no room.

    Places without any thing come first. `lot` (0 to 1) decides among the smallest of those whose
    detail is like the thing's.
    """
    things = [*named, *(box for _, box in others)]
    bare = _like(thing, lambda size: free_patches(thing, things, [], size, few=0), detail, lot)
    return bare or _like(thing, lambda size: free_patches(thing, named, others, size), detail, lot)


def plainest_patch(
    thing: FractionBox,
    named: Sequence[FractionBox],
    others: Sequence[LabelledBox],
    detail: Floats,
) -> FractionBox | None:
    """The place with the least detail; for captions that may name things without a box."""
    things = [*named, *(box for _, box in others)]
    patches = free_patches(thing, things, [], few=0) or free_patches(thing, named, others)
    return min(patches, key=lambda one: (_sum(detail, one), one), default=None)


def _like(
    thing: FractionBox,
    free: Callable[[float], list[FractionBox]],
    detail: Floats,
    lot: float,
) -> FractionBox | None:
    """Of the free patches by size, one whose detail is like the thing's, else the nearest."""
    wanted = np.log(1 + _sum(detail, thing))
    nearest: tuple[float, FractionBox] | None = None
    for size in SIZES:
        patches = free(size)
        apart = [abs(np.log(1 + _sum(detail, one)) - wanted) for one in patches]
        alike = [one for one, by in zip(patches, apart, strict=True) if by <= ALIKE]
        if alike:
            return alike[min(int(lot * len(alike)), len(alike) - 1)]
        best = min(zip(apart, patches, strict=True), default=None)
        if best and (nearest is None or best[0] < nearest[0]):
            nearest = best
    return nearest and nearest[1]


def free_patches(
    thing: FractionBox,
    named: Sequence[FractionBox],
    others: Sequence[LabelledBox],
    size: float = 1.0,
    few: float = FEW,
) -> list[FractionBox]:
    """Every place for a patch as large as `thing`, and apart from it, once both have grown.

    A patch covers at most the share `few` of a named thing. Patches of another shape are returned
    only if none has the thing's own.
    """
    for shape in SHAPES:
        wide, high = thing[2] * shape * size, thing[3] / shape * size
        if max(wide, high) > 1:
            continue
        places = _places(wide, high)
        painted = places + np.array([-GROWTH, -GROWTH, 2 * GROWTH, 2 * GROWTH])
        free = _covered(places, thing, margin=2 * GROWTH) == 0
        for box in named:
            free &= _covered(painted, box) <= few * box[2] * box[3]
        for category, box in others:
            free &= _spares(painted, category, box)
        if free.any():
            return [(x, y, wide, high) for x, y in places[free, :2].tolist()]
    return []


def detail_of(picture: PILImage) -> Floats:
    """How much there is to see in each block of 8 x 8 pixels: bits of its rounded frequencies."""
    from scipy.fft import dctn

    grey = np.asarray(picture.convert("L"), float)
    rows, columns = (side // BLOCK for side in grey.shape)
    blocks = grey[: rows * BLOCK, : columns * BLOCK].reshape(rows, BLOCK, columns, BLOCK)
    waves = np.abs(np.round(dctn(blocks, axes=(1, 3), norm="ortho") / STEP))
    waves[:, 0, :, 0] = 0  # the mean brightness
    bits: Floats = np.log2(1 + waves).sum(axis=(1, 3))
    return bits


def _sum(detail: Floats, box: FractionBox) -> float:
    """The detail within a box once it has grown, counting blocks by the share inside."""
    left, top, width, height = box
    rows, columns = (
        _shares(start - GROWTH, start + length + GROWTH, blocks)
        for start, length, blocks in ((top, height, len(detail)), (left, width, detail.shape[1]))
    )
    return float(rows @ detail @ columns)


def _shares(begin: float, end: float, blocks: int) -> Floats:
    """How much of each block is between two places of a side that is 1 long."""
    edges = np.arange(blocks + 1) / blocks
    inside: Floats = np.clip(np.minimum(edges[1:], end) - np.maximum(edges[:-1], begin), 0, None)
    return inside * blocks


def _places(wide: float, high: float) -> Floats:
    """Boxes of one size all over the picture, one per row."""
    lefts, tops = np.linspace(0, 1 - wide, STEPS), np.linspace(0, 1 - high, STEPS)
    corners = np.stack(np.meshgrid(lefts, tops), axis=-1).reshape(-1, 2)
    return np.hstack([corners, np.tile([wide, high], (len(corners), 1))])


def _covered(places: Floats, box: FractionBox, margin: float = 0.0) -> Floats:
    """How much of a box, grown by a margin, each place covers, as a share of the picture."""
    left, top, width, height = box
    x0, y0, wide, high = places.T
    across = np.minimum(x0 + wide, left + width + margin) - np.maximum(x0, left - margin)
    down = np.minimum(y0 + high, top + height + margin) - np.maximum(y0, top - margin)
    covered: Floats = np.clip(across, 0, None) * np.clip(down, 0, None)
    return covered


def _spares(painted: Floats, category: str, box: FractionBox) -> Bools:
    """Whether patches leave a thing that no caption names as it is, or take nearly all of it."""
    covered = _covered(painted, box)
    share = covered / (box[2] * box[3])
    spared: Bools = (share <= FEW) | (share >= MOST)
    if category == "person":
        spared = spared & (covered <= PERSON * painted[:, 2] * painted[:, 3])
    return spared

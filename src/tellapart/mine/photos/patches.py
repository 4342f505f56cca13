"""Patches: parts of a photograph that are painted over in place of a thing.

If one picture of a pair lacks a thing, paint gives it away. So a patch as large is painted over in
the other picture: where it takes nothing along that a caption names, and where the picture is plain
enough for the paint not to show.
"""

from __future__ import annotations

from collections.abc import Sequence
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
FEW, MOST, PERSON = 0.1, 0.9, 0.3
"""If no place is bare, a patch covers at most the share `FEW` of a thing that captions name, and of
any other as little or at least `MOST`, so that no half is left; people fill at most `PERSON`."""
PLAIN = 40.0
"""The most that brightness (0 to 255) may deviate where a patch goes: of 110 patches that were
looked at, 91% of the plainer half were clean and 58% of the others."""
BLOCK = 8
"""The side of a block in pixels."""


def plainest_patch(
    thing: FractionBox,
    named: Sequence[FractionBox],
    others: Sequence[LabelledBox],
    brightness: Floats,
) -> FractionBox | None:
    """The plainest place to paint over instead of the thing; None if there is none.

    Places without any thing come first.
    """
    things = [*named, *(box for _, box in others)]
    for free in (free_patches(thing, things, [], few=0), free_patches(thing, named, others)):
        rated = [(deviation(brightness, one), one) for one in free]
        least, patch = min(rated, default=(PLAIN + 1, thing))
        if least <= PLAIN:
            return patch
    return None


def free_patches(
    thing: FractionBox,
    named: Sequence[FractionBox],
    others: Sequence[LabelledBox],
    few: float = FEW,
) -> list[FractionBox]:
    """Every place for a patch as large as `thing`, and apart from it, once both have grown.

    A patch covers at most the share `few` of a named thing. Patches of another shape are returned
    only if none has the thing's own.
    """
    for shape in SHAPES:
        wide, high = thing[2] * shape, thing[3] / shape
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


def brightness_of(picture: PILImage) -> Floats:
    """The mean brightness of each block, and the mean of its square, (rows, columns, 2)."""
    grey = np.asarray(picture.convert("L"), float)
    rows, columns = (side // BLOCK for side in grey.shape)
    blocks = grey[: rows * BLOCK, : columns * BLOCK].reshape(rows, BLOCK, columns, BLOCK)
    found: Floats = np.stack([blocks, blocks**2], axis=-1).mean(axis=(1, 3))
    return found


def deviation(brightness: Floats, box: FractionBox) -> float:
    """The standard deviation of brightness in a box once it has grown."""
    left, top, width, height = box
    rows, columns = (
        _shares(start - GROWTH, start + length + GROWTH, blocks)
        for start, length, blocks in (
            (top, height, brightness.shape[0]),
            (left, width, brightness.shape[1]),
        )
    )
    mean, square = np.einsum("r,rcn,c->n", rows, brightness, columns) / (rows.sum() * columns.sum())
    return float(np.sqrt(max(square - mean**2, 0.0)))


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

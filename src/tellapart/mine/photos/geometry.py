"""Boxes in a picture, as fractions of it: areas, overlaps, and what is beside what."""

from __future__ import annotations

from collections.abc import Sequence

from tellapart.makers.maker import FractionBox
from tellapart.makers.photo import GROWTH

APART, OVERLAP = 0.15, 0.3
"""For "left of": the distance of the centres, and the overlap allowed for the narrower box."""


def area(box: FractionBox) -> float:
    """The share of the picture that a box covers."""
    return box[2] * box[3]


def grown(box: FractionBox, growth: float = GROWTH) -> FractionBox:
    """The box grown for painting over."""
    left, top, width, height = box
    return left - growth, top - growth, width + 2 * growth, height + 2 * growth


def overlap(a: FractionBox, b: FractionBox) -> float:
    """The area that two boxes share."""
    wide = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    high = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    return max(0.0, wide) * max(0.0, high)


def side_by_side(a: FractionBox, b: FractionBox) -> bool:
    """Whether one box is clearly to the left of the other."""
    centres = abs((a[0] + a[2] / 2) - (b[0] + b[2] / 2))
    beside = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    return centres >= APART and beside <= OVERLAP * min(a[2], b[2])


def around(boxes: Sequence[FractionBox]) -> FractionBox:
    """The smallest box that contains all."""
    left, top = min(b[0] for b in boxes), min(b[1] for b in boxes)
    right, bottom = max(b[0] + b[2] for b in boxes), max(b[1] + b[3] for b in boxes)
    return left, top, right - left, bottom - top

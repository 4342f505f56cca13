"""Margins that the arithmetic cannot tell from nothing: half precision makes ties and flips.

A question of the grid is decided by the difference between the best right and the best wrong
option. Where it is below the step of the dtype that the model computed in, at the size of these
scores, the answer says nothing about the model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tellapart.items import Cell, Item

STEPS = {
    "bfloat16": 2.0**-7,
    "float16": 2.0**-10,
    "half": 2.0**-10,
    "float32": 2.0**-23,
    "float64": 2.0**-52,
}
HALF = ("bfloat16", "float16", "half")
"""In these a difference of exactly 0 is as doubtful as a small one."""

Grids = npt.NDArray[np.floating]
Bools = npt.NDArray[np.bool_]


class Imprecise(UserWarning):
    """Some answers are finer than the arithmetic they come from."""


def close_items(items: Sequence[Item], begins: Sequence[int], scores: Grids, dtype: str) -> int:
    """How many items have a question that is decided by less than the dtype's step.

    `begins` says where the grid of each item stands in `scores`.
    """
    if dtype not in STEPS:
        return 0
    together: dict[tuple[int, int, frozenset[Cell]], list[int]] = defaultdict(list)
    for item, begin in zip(items, begins, strict=True):
        together[len(item.images), len(item.captions), item.true].append(begin)
    found = 0
    for (images, captions, true), at in together.items():
        places = np.array(at)[:, None] + np.arange(images * captions)
        grids = scores[places].reshape(-1, images, captions).astype(np.float64)
        right = np.zeros((images, captions), bool)
        right[tuple(np.array(sorted(true)).T)] = True
        close = np.zeros(len(at), bool)
        for axis in (1, 2):
            close |= _close(grids, right, axis, dtype)
        found += int(close.sum())
    return found


def _close(grids: Grids, right: Bools, axis: int, dtype: str) -> Bools:
    """Which grids have a row or column whose best right and wrong cells are too close."""
    asked = right.any(axis=axis - 1) & ~right.all(axis=axis - 1)
    best = np.where(right, grids, -np.inf).max(axis=axis)[:, asked]
    other = np.where(right, -np.inf, grids).max(axis=axis)[:, asked]
    usable = np.isfinite(best) & np.isfinite(other)
    margin = np.abs(np.where(usable, best, 1.0) - np.where(usable, other, -1.0))
    size = np.maximum(np.abs(np.where(usable, best, 0)), np.abs(np.where(usable, other, 0)))
    below = margin < STEPS[dtype] * size
    doubtful = below if dtype in HALF else below & (margin > 0)
    found: Bools = (doubtful & usable).any(axis=1)
    return found

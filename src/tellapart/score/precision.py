"""Margins below the arithmetic's precision: half precision creates ties and flips answers.

A grid question is decided by the difference between the best right and the best wrong option. If
this is below the spacing of the model's dtype at the size of these scores, the answer says nothing
about the model.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tellapart.score.cells import CellTable
from tellapart.types import Bools

STEPS = {
    "bfloat16": 2.0**-7,
    "float16": 2.0**-10,
    "half": 2.0**-10,
    "float32": 2.0**-23,
    "float64": 2.0**-52,
}
HALF = ("bfloat16", "float16", "half")
"""Dtypes in which a difference of exactly 0 is as doubtful as a small one."""

Grids = npt.NDArray[np.floating]


class Imprecise(UserWarning):
    """Some answers depend on differences below the arithmetic's precision."""


def close_items(cells: CellTable, scores: Grids, dtype: str) -> int:
    """How many items have a grid question decided by less than the dtype's spacing."""
    if dtype not in STEPS:
        return 0
    found = 0
    for pattern in cells.items.patterns:
        size = pattern.images * pattern.captions
        places = cells.begins[pattern.rows][:, None] + np.arange(size)
        grids = scores[places].reshape(-1, pattern.images, pattern.captions).astype(np.float64)
        right = np.zeros((pattern.images, pattern.captions), bool)
        right[tuple(np.array(sorted(pattern.true)).T)] = True
        close = np.zeros(len(pattern.rows), bool)
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

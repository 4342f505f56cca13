"""Types that every part shares: arrays of one dtype each, and how long work says how far it is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Ints32 = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


Progress = Callable[[str, int, int], None]
"""Told again and again how many of how many steps of a phase are done: (phase, done, total)."""


def silent(phase: str, done: int, total: int) -> None:
    """Progress that nobody watches."""

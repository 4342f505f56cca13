"""Types that every part shares: arrays of one dtype each, and how long work says how far it is."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Ints32 = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


class Progress(Protocol):
    """Told again and again how many of how many steps of a phase are done."""

    def __call__(self, phase: str, done: int, total: int, /) -> None: ...


def silent(phase: str, done: int, total: int, /) -> None:
    """Progress that nobody watches."""

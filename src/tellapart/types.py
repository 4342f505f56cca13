"""Types that every part shares: arrays of one dtype each, and how long work says how far it is.

The arrays' types are made when they are first asked for, so that who only needs `Progress` does not
import NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Floats32 = npt.NDArray[np.float32]
    Ints = npt.NDArray[np.int64]
    Ints32 = npt.NDArray[np.int32]
    Bools = npt.NDArray[np.bool_]
    AnyInts = npt.NDArray[np.integer[Any]]
    """Of columns that are as narrow as their values allow."""

_DTYPES = {
    "Floats": "float64",
    "Floats32": "float32",
    "Ints": "int64",
    "Ints32": "int32",
    "AnyInts": "integer",
    "Bools": "bool_",
}

Progress = Callable[[str, int, int], None]
"""Told again and again how many of how many steps of a phase are done: (phase, done, total)."""


def silent(phase: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


def __getattr__(name: str) -> Any:
    if name not in _DTYPES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import numpy as np

    dtype: Any = getattr(np, _DTYPES[name])
    return np.ndarray[tuple[Any, ...], np.dtype[dtype]]

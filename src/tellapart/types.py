"""Shared types: arrays of one dtype each, and progress of long work.

The array types are created on first use, so that importing only `Progress` does not import NumPy.
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
    """Columns whose integer type is as narrow as their values allow."""

_DTYPES = {
    "Floats": "float64",
    "Floats32": "float32",
    "Ints": "int64",
    "Ints32": "int32",
    "AnyInts": "integer",
    "Bools": "bool_",
}

Progress = Callable[[str, int, int], None]
"""Called repeatedly with the progress of a phase: (phase, steps done, total steps)."""


def silent(phase: str, done: int, total: int) -> None:
    """A progress callback that does nothing."""


def __getattr__(name: str) -> Any:
    if name not in _DTYPES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import numpy as np

    dtype: Any = getattr(np, _DTYPES[name])
    return np.ndarray[tuple[Any, ...], np.dtype[dtype]]

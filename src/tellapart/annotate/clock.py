"""Time comes in as a value, so that tests need not wait and a clock that jumps can be tried."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Gives the time in milliseconds since 1970."""


def wall_clock() -> int:
    """The time as the machine knows it."""
    return time.time_ns() // 1_000_000

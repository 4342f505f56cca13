"""Compiled kernels: compiled on first use, kept on disk where that is possible, run in threads."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile for numbers only, without the interpreter's lock.

    A kernel may call only kernels of its own file: what numba kept is used until that file changes.
    Numba keeps what it compiled beside the source or in the user's cache folder. Where it may
    write to neither it refuses to decorate, so then the kernel is compiled anew in each process.
    """
    try:
        compiled: Any = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        compiled = numba.njit(nogil=True)(function)
    return cast(Function, compiled)


def threads() -> int:
    """How many threads kernels are run in: the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(work: Callable[[int, int], None], size: int, least: int = 2_000) -> None:
    """Call `work(begin, end)` for parts of `range(size)`, each of `least` or more.

    Threads of our own rather than numba's: its pools end the process when it forks later, or when
    two threads call a kernel at once.
    """
    parts = min(threads(), max(1, size // least))
    bounds = [size * k // parts for k in range(parts + 1)]
    if parts == 1:
        return work(0, size)
    with ThreadPoolExecutor(parts) as pool:
        for done in [pool.submit(work, a, b) for a, b in pairwise(bounds)]:
            done.result()
    return None

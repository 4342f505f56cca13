"""Kernels: compiled by numba on first call, cached on disk if possible, run in threads.

`fastmath` is never used: it lets the compiler reorder sums and ignore infinities, so that the last
digits of a score would depend on the processor.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])
Array = Any
"""An argument of a kernel; numba infers its type, so annotations say no more."""

_lock = threading.Lock()


def kernel(function: Function) -> Function:
    """Compile on first call, in nopython mode and without the interpreter's lock.

    A kernel may use only kernels and constants of its own file: numba uses its cached code until
    that file changes, whatever happens to other files.
    """
    return cast(Function, _Kernel(function))


class _Kernel:
    """A function that is compiled later, because numba takes half a second to import.

    Numba compiles only calls to functions it knows. So before the first call, all kernels of a file
    replace these stand-ins in the file's namespace, under a lock: another thread must never compile
    a kernel that still refers to a stand-in.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._compiled: Any = None
        self._ready = False
        self.__doc__ = function.__doc__

    def __call__(self, *arguments: Any) -> Any:
        if not self._ready:
            with _lock:
                names = self._function.__globals__
                # Leave kernels of other files alone: called directly, they would find stand-ins.
                stand_ins = {
                    name: one
                    for name, one in names.items()
                    if isinstance(one, _Kernel) and one._function.__globals__ is names
                }
                names.update({name: one.compiled() for name, one in stand_ins.items()})
                self.compiled()
                self._ready = True
        return self._compiled(*arguments)

    def compiled(self) -> Any:
        """The compiled function.

        Numba caches it beside the source or in the user's cache folder. If it can write to neither,
        it refuses to decorate with a cache; then each process compiles the kernel itself.
        """
        if self._compiled is None:
            import numba

            try:
                self._compiled = numba.njit(cache=True, nogil=True)(self._function)
            except RuntimeError:
                self._compiled = numba.njit(nogil=True)(self._function)
        return self._compiled


def threads() -> int:
    """How many threads run kernels: the number of processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(work: Callable[[int, int], None], size: int, least: int = 2_000) -> None:
    """Call `work(begin, end)` for parts of `range(size)`, each of `least` or more.

    These are Python threads rather than numba's, whose pools kill the process if it forks later or
    if two threads call a kernel at the same time.
    """
    parts = min(threads(), max(1, size // least))
    bounds = [size * k // parts for k in range(parts + 1)]
    if parts == 1:
        return work(0, size)
    with ThreadPoolExecutor(parts) as pool:
        for done in [pool.submit(work, a, b) for a, b in pairwise(bounds)]:
            done.result()
    return None

"""Kernels: compiled by numba when first called, kept on disk where possible, run in threads.

Without `fastmath` everywhere: it lets the compiler reorder sums and forget about infinities, so
that the last digits of a score would depend on the processor.
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
"""What a kernel is given: numba finds out the types itself, so that more need not be said."""

_lock = threading.Lock()


def kernel(function: Function) -> Function:
    """Compile for numbers only, without the interpreter's lock, when it is first called.

    A kernel may use only kernels and constants of its own file: what numba kept on disk is used
    until that file changes, whatever happens to others.
    """
    return cast(Function, _Kernel(function))


class _Kernel:
    """A function that is compiled later: numba takes half a second to import.

    Numba compiles calls only to what it knows. So before the first call all kernels of a file are
    put in the places of these stand-ins among the file's names, at once: another thread must never
    compile a kernel that still finds a stand-in.
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
                # Kernels of another file stay: called directly, they would find its stand-ins.
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
        """What numba makes of the function.

        Numba keeps it beside the source or in the user's cache folder. Where it may write to
        neither it refuses to decorate: then the kernel is compiled anew in each process.
        """
        if self._compiled is None:
            import numba

            try:
                self._compiled = numba.njit(cache=True, nogil=True)(self._function)
            except RuntimeError:
                self._compiled = numba.njit(nogil=True)(self._function)
        return self._compiled


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

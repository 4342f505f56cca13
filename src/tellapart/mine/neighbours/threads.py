"""Work on parts in several threads, each with BLAS to itself, results in order."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def in_order(
    work: Callable[[Part], Result], parts: Iterable[Part], threads: int
) -> Iterator[Result]:
    """The results for parts in turn; no more are under way, or wait, than there are threads.

    BLAS keeps to one thread meanwhile: threads of its own get in each other's way, and how they
    share a product changes the last digit of a sum.
    """
    waiting: deque[Future[Result]] = deque()
    with _one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        for part in parts:
            waiting.append(pool.submit(work, part))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextlib.contextmanager
def _one_blas_thread() -> Iterator[None]:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, "blas"):
        yield

"""Reading ahead: threads read and decode pictures before the model needs them."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TypeVar

from tellapart.pictures import Picture

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage


Given = TypeVar("Given")
Made = TypeVar("Made")

WORKERS = max(2, min(8, os.cpu_count() or 2))
BUDGET = 256 << 20
"""The most bytes of decoded pictures to hold ready; others are opened when needed."""


def ahead(
    make: Callable[[Given], Made], things: Iterable[Given], depth: int
) -> Iterator[Made | Exception]:
    """The results of `make` for each thing, in order, with at most `depth` made ahead.

    If `make` raises, the exception is yielded in place of the result, for the caller to raise.
    """
    pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="ahead")
    waiting: deque[Future[Made | Exception]] = deque()
    try:
        for thing in things:
            waiting.append(pool.submit(_result_or_error, make, thing))
            if len(waiting) >= depth:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _result_or_error(make: Callable[[Given], Made], thing: Given) -> Made | Exception:
    try:
        return make(thing)
    except Exception as error:
        return error


@dataclass(frozen=True, slots=True)
class Decoded(Picture):
    """A picture that is already decoded."""

    pixels: PILImage

    def open(self) -> PILImage:
        """The pixels, as RGB."""
        return self.pixels.copy()


class Feed:
    """Prepares the pictures of each batch ahead: decoded, or preprocessed if the model can.

    `needed` has the numbers of each batch's pictures; a picture of the previous batch is not
    prepared again. At most `BUDGET` bytes of decoded pictures wait.
    """

    def __init__(self, model: Any, pictures: Sequence[Picture], needed: list[list[int]]) -> None:
        self._pictures, self._needed = pictures, needed
        self._make = getattr(model, "preprocess", None)
        self._now: dict[int, Any] = {}
        self._at, self._used, self._lock = -1, 0, Lock()
        depth = 2 * max(map(len, needed), default=1) + 1
        self._made = ahead(self._ready, self._new(), depth)

    def _new(self) -> Iterator[int]:
        before: set[int] = set()
        for numbers in self._needed:
            yield from (k for k in numbers if k not in before)
            before = set(numbers)

    def _ready(self, number: int) -> Any:
        picture = self._pictures[number]
        if self._make is not None:
            return self._make(picture)
        with self._lock:
            if self._used >= BUDGET:
                return picture
        pixels = picture.open()
        with self._lock:
            self._used += _bytes(pixels)
        return Decoded(picture.image, picture.root, pixels)

    def take(self, batch: int, numbers: Sequence[int]) -> list[Any]:
        """Some pictures of a batch, prepared; raises the error of the first bad one."""
        while self._at < batch:
            self._step()
        ready = [self._now[k] for k in numbers]
        for one in ready:
            if isinstance(one, Exception):
                raise one
        return ready

    def _step(self) -> None:
        self._at += 1
        before = self._now
        numbers = self._needed[self._at]
        self._now = {k: before[k] if k in before else next(self._made) for k in numbers}
        gone = [one for k, one in before.items() if k not in self._now]
        with self._lock:
            self._used -= sum(_bytes(one.pixels) for one in gone if isinstance(one, Decoded))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._made.close()  # type: ignore[attr-defined]


def _bytes(pixels: PILImage) -> int:
    return 3 * pixels.width * pixels.height

"""Asking a model for rows, batch by batch: stored rows are reused, new rows are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tellapart.errors import BadImage, TellapartError
from tellapart.store.rows import Keys, Rows
from tellapart.types import Ints


class ModelFailed(TellapartError):
    """A model raised an error or returned something invalid."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Positions in a list that go to the model together: the `number`th batch of the list."""

    number: int
    places: Ints


Call = Callable[[Batch, Ints], Any]
"""Returns one row for each of some positions of a batch."""


@dataclass(slots=True)
class BatchLimits:
    """How many inputs go to the model at a time, by kind; smaller after memory ran out."""

    batch_size: int
    smaller: dict[str, int] = field(default_factory=dict)
    changed: Callable[[dict[str, int]], None] = lambda smaller: None

    def of(self, kind: str) -> int:
        """The largest batch of a kind."""
        return min(self.batch_size, self.smaller.get(kind, self.batch_size))

    def halve(self, kind: str, size: int) -> None:
        """Record that `size` inputs were too many."""
        self.smaller[kind] = max(1, size // 2)
        self.changed(self.smaller)


@dataclass(frozen=True, slots=True)
class Computed:
    """The rows of one batch (NaN if missing), and why rows are missing, by position."""

    batch: Batch
    rows: Rows
    bad: dict[int, BadImage]


class RowKeeper(Protocol):
    """Keeps rows by their keys: a store on disk, or the rows of a shard."""

    def read(self, keys: Keys) -> list[Rows | None]:
        """The row of each key, or None."""
        ...

    def add(self, keys: Keys, rows: Rows) -> None:
        """Store a batch."""
        ...


@dataclass(frozen=True, slots=True)
class Asker:
    """Gets rows of one kind (images, texts, pairs) out of a model and a store."""

    model: str
    kind: str
    limits: BatchLimits
    store: RowKeeper | None = None
    skip_bad: bool = False
    width: list[int] = field(default_factory=list)
    """The length of a row, once it is known."""

    def stored(self, keys: Keys) -> list[Rows | None]:
        """The stored row of each key, or None."""
        found = self.store.read(keys) if self.store is not None else [None] * len(keys)
        known = {len(row) for row in found if row is not None}
        if known and not self.width:
            self.width.append(known.pop())
        return [row if row is not None and len(row) == self.width[0] else None for row in found]

    def compute(
        self, batches: Sequence[Batch], keys: Keys, call: Call, known: Sequence[Rows | None]
    ) -> Iterator[Computed]:
        """All rows, batch by batch; `known` has the stored ones, by position."""
        for batch in batches:
            missing = np.array([k for k in batch.places.tolist() if known[k] is None], np.int64)
            made, bad = self._compute_rows(batch, missing, call)
            if self.store is not None and len(missing):
                whole = np.isfinite(made).all(axis=1)
                self.store.add(keys[missing[whole]], made[whole])
            rows = self._merged_rows(batch.places, known, missing, made)
            yield Computed(batch, rows, bad)

    def _merged_rows(
        self, places: Ints, known: Sequence[Rows | None], missing: Ints, made: Rows
    ) -> Rows:
        if len(missing) == len(places):
            return made
        at = {int(k): row for k, row in zip(missing, made, strict=True)}
        found = [at[k] if known[k] is None else known[k] for k in places.tolist()]
        return np.stack([row for row in found if row is not None])

    def _compute_rows(
        self, batch: Batch, places: Ints, call: Call
    ) -> tuple[Rows, dict[int, BadImage]]:
        """The rows of some positions of a batch, in as few calls as memory and bad images allow."""
        if not len(places):
            return np.empty((0, *self.width), np.float32), {}
        most = self.limits.of(self.kind)
        if len(places) > most:
            parts = [places[k : k + most] for k in range(0, len(places), most)]
            return self._joined([self._compute_rows(batch, part, call) for part in parts])
        try:
            return self._checked(call(batch, places), len(places), batch), {}
        except BadImage as error:
            if not self.skip_bad:
                raise
            if len(places) == 1:
                none = np.full((1, *(self.width or [1])), np.nan, np.float32)
                return none, {int(places[0]): error}
            ones = np.split(places, len(places))
            return self._joined([self._compute_rows(batch, one, call) for one in ones])
        except TellapartError:
            raise
        except Exception as error:
            if not _is_memory(error):
                raise self._failed(batch, f"{type(error).__name__}: {error}") from error
            if len(places) == 1:
                raise self._failed(
                    batch, "there is not enough memory for a batch of one"
                ) from error
        self.limits.halve(self.kind, len(places))  # after the except: the error holds memory
        return self._compute_rows(batch, places, call)

    def _joined(
        self, parts: list[tuple[Rows, dict[int, BadImage]]]
    ) -> tuple[Rows, dict[int, BadImage]]:
        width = max(rows.shape[1] for rows, _ in parts)
        rows = [
            r if r.shape[1] == width else np.full((len(r), width), np.nan, r.dtype)
            for r, _ in parts
        ]
        return np.concatenate(rows), {k: e for _, bad in parts for k, e in bad.items()}

    def _checked(self, given: Any, n: int, batch: Batch) -> Rows:
        """A model's return value as an array of n rows; raises if it is not one."""
        rows: Rows
        try:
            rows = np.asarray(given, np.float64 if self.kind == "pairs" else np.float32)
        except (TypeError, ValueError) as error:
            raise self._failed(batch, f"it did not return numbers: {error}") from None
        if self.kind == "pairs":
            wanted = f"({n},)"
            good = rows.shape == (n,)
            rows = rows[:, None] if good else rows
        else:
            wanted = f"({n}, {self.width[0] if self.width else 'd'})"
            good = rows.ndim == 2 and len(rows) == n and rows.shape[1] > 0
            good = good and (not self.width or rows.shape[1] == self.width[0])
        if not good:
            raise self._failed(batch, f"it returned an array of shape {rows.shape}", wanted)
        if not self.width:
            self.width.append(rows.shape[1])
        return rows

    def _failed(self, batch: Batch, what: str, shape: str = "") -> ModelFailed:
        return ModelFailed(
            f"{self.model} failed on batch {batch.number + 1} of the {self.kind}: {what}",
            allowed=f"an array of shape {shape}" if shape else "",
            todo="fix the model and run the same command again: finished work is kept",
        )


def _is_memory(error: Exception) -> bool:
    """Whether memory ran out: Python's own error, or torch's (recognized by name)."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


def in_batches(order: Ints, size: int, first: int = 0) -> list[Batch]:
    """Consecutive parts of a list of positions; batches are numbered from `first`."""
    parts = range(0, len(order), size)
    return [Batch(first + b, order[k : k + size]) for b, k in enumerate(parts)]

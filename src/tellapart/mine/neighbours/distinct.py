"""Distinct vectors of unit length, and the rows that each of them stands for.

Texts with the same words have the same vector. Each distinct vector is compared once, so that
rows which are alike tie exactly, whatever block or thread a matrix product puts them into.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, issparse

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
Vectors = Any
"""One row a text: an array of float32, or a sparse matrix (csr) for tf-idf."""

STEP = 1e-6
"""Similarities are rounded to this: a float32 product is not exact beyond it."""


@dataclass(frozen=True, eq=False)
class Distinct:
    """`vectors` without repetition; `of_row[r]` says which of them row `r` has."""

    vectors: Vectors
    of_row: Ints

    @property
    def number(self) -> int:
        """How many distinct vectors there are."""
        return int(self.vectors.shape[0])

    @cached_property
    def counts(self) -> Ints:
        """How many rows each vector stands for."""
        return np.bincount(self.of_row, minlength=self.number).astype(np.int32)

    def rows(self, vectors: Ints) -> Ints:
        """The rows that some vectors stand for, those of the first vector first."""
        if self.number == len(self.of_row):
            return vectors
        lengths = self.counts[vectors]
        starts = self._starts[vectors]
        before = np.cumsum(lengths) - lengths
        places = np.repeat(starts - before, lengths) + np.arange(lengths.sum())
        rows: Ints = self._rows[places]
        return rows

    @cached_property
    def _rows(self) -> Ints:
        return np.argsort(self.of_row, kind="stable").astype(np.int32)

    @cached_property
    def _starts(self) -> npt.NDArray[np.int64]:
        return np.cumsum(self.counts, dtype=np.int64) - self.counts


def distinct(vectors: Vectors) -> Distinct:
    """Bring rows to unit length (zero stays zero) and put equal ones together.

    Lengths are taken in double precision: two texts of which one says the other twice then have
    the same vector to the last bit.
    """
    unit = _unit(vectors)
    known: dict[bytes, int] = {}
    of_row = np.empty(unit.shape[0], np.int32)
    first: list[int] = []
    for row in range(unit.shape[0]):
        vector = known.setdefault(_key(unit, row), len(first))
        if vector == len(first):
            first.append(row)
        of_row[row] = vector
    return Distinct(unit if len(first) == unit.shape[0] else unit[np.array(first)], of_row)


def _unit(vectors: Vectors) -> Vectors:
    if issparse(vectors):
        squares = np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()
        scale = 1 / np.sqrt(np.where(squares > 0, squares, 1))
        return csr_matrix(vectors.multiply(scale[:, None]), dtype=np.float32)
    unit = np.empty(vectors.shape, np.float32)
    for start in range(0, len(vectors), 8192):  # in blocks: double precision takes twice the room
        block = np.asarray(vectors[start : start + 8192], np.float64)
        norms = np.linalg.norm(block, axis=1, keepdims=True)
        unit[start : start + 8192] = block / np.where(norms > 0, norms, 1)
    return unit + np.float32(0)  # minus zero becomes zero


def _key(unit: Vectors, row: int) -> bytes:
    if not issparse(unit):
        return blake2b(unit[row], digest_size=16).digest()
    part = slice(unit.indptr[row], unit.indptr[row + 1])
    return blake2b(unit.indices[part].tobytes() + unit.data[part].tobytes()).digest()

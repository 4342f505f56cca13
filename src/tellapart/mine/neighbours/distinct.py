"""Distinct vectors of unit length, and the rows that each of them stands for.

Texts with the same words have the same vector. Each distinct vector is compared once, so that
rows which are alike tie exactly, whatever block of a matrix product they would be put into.
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
Floats = npt.NDArray[np.floating]
Vectors = Any
"""One row a text: an array of float32, or a sparse matrix (csr) for tf-idf."""

DIGITS = {"float32": 6, "float64": 9}
"""Similarities are rounded to so many: beyond them a product is not exact."""
DOUBLE_UP_TO = 10_000
"""Up to so many rows there is time and room to compare in double precision."""
BLOCK = 8192


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
    def rows(self) -> Ints:
        """The rows of the first vector, those of the second, ...; each vector's in order."""
        return np.argsort(self.of_row, kind="stable").astype(np.int32)

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Where the rows of each vector begin in `rows`, and the end of all."""
        counts = np.bincount(self.of_row, minlength=self.number)
        return np.concatenate([[0], np.cumsum(counts)])


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


def rounded(similar: Floats) -> Floats:
    """Similarities as they are compared; minus zero is zero."""
    return np.round(similar, DIGITS[similar.dtype.name]) + similar.dtype.type(0)


def step(similar: Floats) -> float:
    """What similarities may differ by and still be equal when rounded."""
    return float(10.0 ** -DIGITS[similar.dtype.name])


def _unit(vectors: Vectors) -> Vectors:
    if issparse(vectors):
        squares = np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()
        scale = 1 / np.sqrt(np.where(squares > 0, squares, 1))
        return csr_matrix(vectors.multiply(scale[:, None]), dtype=np.float64)
    unit = np.empty(vectors.shape, np.float64 if len(vectors) <= DOUBLE_UP_TO else np.float32)
    for start in range(0, len(vectors), BLOCK):  # double precision takes twice the room
        block = np.asarray(vectors[start : start + BLOCK], np.float64)
        norms = np.linalg.norm(block, axis=1, keepdims=True)
        unit[start : start + BLOCK] = block / np.where(norms > 0, norms, 1) + 0.0
    return unit


def _key(unit: Vectors, row: int) -> bytes:
    if not issparse(unit):
        return blake2b(unit[row], digest_size=16).digest()
    part = slice(unit.indptr[row], unit.indptr[row + 1])
    return blake2b(unit.indices[part].tobytes() + unit.data[part].tobytes()).digest()

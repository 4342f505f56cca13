"""Exact search over distinct vectors: products of blocks by BLAS, then the best of each row.

Texts with the same words have the same vector. Each distinct vector is compared once, so that
rows which are alike tie exactly, whatever block of a matrix product they would be put into.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from math import ceil, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, issparse

from tellapart.types import Ints, Ints32

Similarities = npt.NDArray[np.floating]
"""Cosines, in the precision of the vectors: double for few rows, single for many."""
Vectors = Any
"""One row a text: an array of float32, or a sparse matrix (csr) for tf-idf."""

DIGITS = {"float32": 6, "float64": 9}
"""Similarities are rounded to this many: beyond them a product is not exact."""
DOUBLE_UP_TO = 10_000
"""Up to this many rows there is time and room to compare in double precision."""
UNIT_BLOCK = 8192
BLOCK_BYTES = 128_000_000
"""Room for one block of similarities."""
SAMPLE = 4096
"""How many similarities of a row are looked at to guess how high the best lie."""


@dataclass(frozen=True, eq=False)
class Distinct:
    """`vectors` of unit length without repetition; `of_row[r]` says which of them row `r` has."""

    vectors: Vectors
    of_row: Ints32

    @property
    def number(self) -> int:
        """How many distinct vectors there are."""
        return int(self.vectors.shape[0])

    @cached_property
    def rows(self) -> Ints32:
        """The rows of the first vector, those of the second, ...; each vector's in order."""
        return np.argsort(self.of_row, kind="stable").astype(np.int32)

    @cached_property
    def starts(self) -> Ints:
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


def _unit(vectors: Vectors) -> Vectors:
    if issparse(vectors):
        squares = np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()
        scale = 1 / np.sqrt(np.where(squares > 0, squares, 1))
        return csr_matrix(vectors.multiply(scale[:, None]), dtype=np.float64)
    unit = np.empty(vectors.shape, np.float64 if len(vectors) <= DOUBLE_UP_TO else np.float32)
    for start in range(0, len(vectors), UNIT_BLOCK):  # double precision takes twice the room
        block = np.asarray(vectors[start : start + UNIT_BLOCK], np.float64)
        norms = np.linalg.norm(block, axis=1, keepdims=True)
        unit[start : start + UNIT_BLOCK] = block / np.where(norms > 0, norms, 1) + 0.0
    return unit


def _key(unit: Vectors, row: int) -> bytes:
    if not issparse(unit):
        return blake2b(unit[row], digest_size=16).digest()
    part = slice(unit.indptr[row], unit.indptr[row + 1])
    return blake2b(unit.indices[part].tobytes() + unit.data[part].tobytes()).digest()


def rounded(similar: Similarities) -> Similarities:
    """Similarities as they are compared; minus zero is zero."""
    return np.round(similar, DIGITS[similar.dtype.name]) + similar.dtype.type(0)


def step(similar: Similarities) -> float:
    """What similarities may differ by and still be equal when rounded."""
    return float(10.0 ** -DIGITS[similar.dtype.name])


@dataclass(frozen=True, slots=True)
class NearVectors:
    """Distinct vectors near some queries, best first, one query after the other.

    Those of query `q` are `vectors[ends[q]:ends[q + 1]]`; `values` are the similarities.
    """

    ends: Ints
    vectors: Ints32
    values: Similarities


@dataclass(frozen=True, eq=False)
class Exact:
    """Compares with every vector."""

    distinct: Distinct

    @property
    def block(self) -> int:
        """How many queries to ask for at a time."""
        room = max(self.distinct.vectors.shape) * self.distinct.vectors.dtype.itemsize
        return max(1, min(1024, BLOCK_BYTES // int(room)))

    def near(self, queries: Ints32, numbers: npt.NDArray[np.integer]) -> NearVectors:
        """For each query (a distinct vector) its best vectors, itself among them.

        At least as many as `numbers` says, as far as there are, and with all that tie with the
        last of them.
        """
        vectors = self.distinct.vectors
        if issparse(vectors):  # sparse by dense is several times as fast as sparse by sparse
            similar = np.ascontiguousarray((vectors @ vectors[queries].toarray().T).T)
        else:
            similar = vectors[queries] @ vectors.T
        rows = [best(row, number) for row, number in zip(similar, numbers, strict=True)]
        ends = np.cumsum([0, *(len(places) for places, _ in rows)])
        places, values = (np.concatenate(parts) for parts in zip(*rows, strict=True))
        return NearVectors(ends, places, values)


def best(similar: Similarities, number: int) -> tuple[Ints32, Similarities]:
    """The places of the highest similarities, best first, and the similarities, rounded.

    A level that the best most likely reach is guessed from a sample first: a full partition of
    every row would take longer than the matrix product.
    """
    if number >= len(similar):
        places = np.arange(len(similar))
    else:
        sample = similar[:: max(1, len(similar) // SAMPLE)]
        places = np.flatnonzero(similar >= level(sample, number, len(similar)) - step(similar))
        if len(places) < number:  # the guess was too high
            places = np.arange(len(similar))
        values = similar[places]
        last = np.partition(values, len(values) - number)[len(values) - number]
        places = places[values >= last - step(similar)]
    values = rounded(similar[places])
    order = np.argsort(-values, kind="stable")
    if number < len(order):
        order = order[values[order] >= values[order[number - 1]]]
    return places[order].astype(np.int32), values[order]


def level(samples: Similarities, number: int, total: int) -> Similarities:
    """Similarities that at least `number` of `total` most likely reach.

    `samples` are some of each query's similarities, along the last axis. The rank taken in the
    sample lies four standard deviations of a Poisson count below the one expected, so that too
    high a guess is rare.
    """
    size = samples.shape[-1]
    expected = number * size / total
    rank = ceil(expected + 4 * sqrt(expected) + 4)
    if rank >= size:
        return np.full(samples.shape[:-1], -np.inf, samples.dtype)
    lowest: Similarities = np.partition(samples, size - rank, axis=-1)[..., size - rank]
    return lowest

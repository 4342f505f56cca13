"""Exact search: products of blocks by BLAS, then the best of each row."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from tellapart.mine.neighbours.candidates import Candidates
from tellapart.mine.neighbours.distinct import Distinct, Floats, Ints, Vectors, rounded, step

BLOCK_BYTES = 128_000_000
"""Room for one block of similarities."""
SAMPLE = 4096
"""How many similarities of a row are looked at to guess how high the best lie."""


@dataclass(frozen=True, eq=False)
class Exact:
    """Compares with every vector."""

    distinct: Distinct

    @property
    def block(self) -> int:
        """How many queries to ask for at a time."""
        room = max(self.distinct.vectors.shape) * self.distinct.vectors.dtype.itemsize
        return max(1, min(1024, BLOCK_BYTES // int(room)))

    def near(self, queries: Ints, numbers: npt.NDArray[np.integer]) -> Candidates:
        """For each query (a distinct vector) its best vectors, itself among them.

        At least so many as `numbers` says, where there are so many, and with all that tie with
        the last of them.
        """
        similar = self._similar(self.distinct.vectors[queries])
        found = [best(row, number) for row, number in zip(similar, numbers, strict=True)]
        ends = np.cumsum([0, *(len(places) for places, _ in found)])
        places, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return Candidates(ends, places, values)

    def _similar(self, asked: Vectors) -> Floats:
        vectors = self.distinct.vectors
        if issparse(vectors):  # sparse by dense is several times as fast as sparse by sparse
            return np.ascontiguousarray((vectors @ asked.toarray().T).T)
        product: Floats = asked @ vectors.T
        return product


def best(similar: Floats, number: int) -> tuple[Ints, Floats]:
    """The places of the highest similarities, best first, and the similarities, rounded."""
    if number >= len(similar):
        places = np.arange(len(similar))
    else:
        sample = similar[:: max(1, len(similar) // SAMPLE)]
        places = np.flatnonzero(similar >= level(sample, number, len(similar)) - step(similar))
        if len(places) < number:
            places = np.arange(len(similar))
        values = similar[places]
        last = np.partition(values, len(values) - number)[len(values) - number]
        places = places[values >= last - step(similar)]
    values = rounded(similar[places])
    order = np.argsort(-values, kind="stable")
    if number < len(order):
        order = order[values[order] >= values[order[number - 1]]]
    return places[order].astype(np.int32), values[order]


def level(samples: Floats, number: int, total: int) -> Floats:
    """Similarities that at least `number` of `total` most likely reach.

    `samples` are some of each query's similarities, along the last axis.
    """
    size = samples.shape[-1]
    expected = number * size / total
    rank = ceil(expected + 4 * sqrt(expected) + 4)
    if rank >= size:
        return np.full(samples.shape[:-1], -np.inf, samples.dtype)
    lowest: Floats = np.partition(samples, size - rank, axis=-1)[..., size - rank]
    return lowest

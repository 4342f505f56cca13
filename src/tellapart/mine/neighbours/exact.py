"""Exact search: products of blocks by BLAS, then the best of each row."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from scipy.sparse import issparse

from tellapart.mine.neighbours.distinct import STEP, Distinct, Floats, Ints

BLOCK_BYTES = 200_000_000
"""Room for one block of similarities."""
SAMPLE = 4096
"""How many similarities of a row are looked at to guess how high the best lie."""


@dataclass(frozen=True, slots=True)
class Exact:
    """Compares with every vector."""

    distinct: Distinct
    threads: int

    @property
    def block(self) -> int:
        """How many queries fit into one block."""
        return max(1, min(1024, BLOCK_BYTES // (4 * self.distinct.number)))

    def search(self, queries: Ints, numbers: Ints) -> Iterator[tuple[Ints, Floats]]:
        """For each query (a distinct vector) its best vectors, itself among them, best first.

        At least so many as `numbers` says, where there are so many, and with all that tie with
        the last of them; equal similarities in the order of the vectors.
        """
        vectors = self.distinct.vectors
        transposed = vectors.T.tocsr() if issparse(vectors) else vectors.T
        with ThreadPoolExecutor(self.threads) as pool:
            for start in range(0, len(queries), self.block):
                part = slice(start, start + self.block)
                product = vectors[queries[part]] @ transposed
                similar = product.toarray() if issparse(product) else product
                yield from pool.map(best, similar, numbers[part])


def best(similar: Floats, number: int) -> tuple[Ints, Floats]:
    """The places of the highest similarities, best first, and the similarities, rounded."""
    if number >= len(similar):
        places = np.arange(len(similar))
    else:
        places = np.flatnonzero(similar >= _guess(similar, number))
        if len(places) < number:
            places = np.arange(len(similar))
        values = similar[places]
        if len(places) > number:
            last = np.partition(values, len(values) - number)[len(values) - number]
            places = places[values >= last - STEP]
    rounded = np.round(similar[places], 6) + np.float32(0)
    order = np.argsort(-rounded, kind="stable")
    if number < len(order):
        order = order[rounded[order] >= rounded[order[number - 1]]]
    return places[order].astype(np.int32), rounded[order]


def _guess(similar: Floats, number: int) -> float:
    """A level that at least `number` similarities most likely reach, from a regular sample."""
    sample = similar[:: max(1, len(similar) // SAMPLE)]
    expected = number * len(sample) / len(similar)
    rank = ceil(expected + 4 * sqrt(expected) + 4)
    if rank >= len(sample):
        return float("-inf")
    return float(np.partition(sample, len(sample) - rank)[len(sample) - rank]) - STEP

"""Approximate search by faiss: vectors in lists by k-means, of which the nearest are looked at.

Douze et al. 2024, The Faiss library, inverted files. Unlike a graph (HNSW) the lists come out the
same each time, however many threads fill them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tellapart.errors import TellapartError
from tellapart.mine.neighbours.distinct import Distinct, Floats, Ints

BLOCK = 4096
LISTS_PER_ROOT = 2
"""Lists for each unit of the square root of the number of vectors."""
LOOKED_AT = 0.12
"""The share of the lists that a query looks at."""


@dataclass(frozen=True, slots=True)
class Approximate:
    """Looks at the lists nearest to a query."""

    distinct: Distinct
    threads: int
    seed: int
    _index: list[Any] = field(default_factory=list)

    @property
    def block(self) -> int:
        """How many queries are sought at a time."""
        return BLOCK

    def search(self, queries: Ints, numbers: Ints) -> Iterator[tuple[Ints, Floats]]:
        """For each query its best vectors as far as they are found, itself among them.

        As many as the largest of `numbers` for each block; see `Exact.search`.
        """
        index = self._made()
        vectors = self.distinct.vectors
        for start in range(0, len(queries), BLOCK):
            part = slice(start, start + BLOCK)
            number = min(int(numbers[part].max()), self.distinct.number)
            similar, found = index.search(vectors[queries[part]], number)
            for values, places in zip(np.round(similar, 6), found, strict=True):
                there = np.flatnonzero(places >= 0)
                order = there[np.lexsort((places[there], -values[there]))]
                yield places[order].astype(np.int32), values[order] + np.float32(0)

    def _made(self) -> Any:
        """The index, made when it is first needed."""
        if not self._index:
            faiss = _faiss()
            faiss.omp_set_num_threads(self.threads)
            number, size = self.distinct.vectors.shape
            lists = max(1, int(LISTS_PER_ROOT * number**0.5))
            index = faiss.IndexIVFFlat(
                faiss.IndexFlatIP(size), size, lists, faiss.METRIC_INNER_PRODUCT
            )
            index.cp.seed = self.seed % (1 << 31)
            index.train(self.distinct.vectors)
            index.add(self.distinct.vectors)
            index.nprobe = max(1, round(LOOKED_AT * lists))
            self._index.append(index)
        return self._index[0]


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise TellapartError(
            "approximate search for neighbours needs the package 'faiss', which is not installed",
            todo="pip install 'tellapart[text]', or search exactly (method exact)",
        ) from error
    return faiss

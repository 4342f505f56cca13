"""The nearest texts of a text, without those that may not be chosen.

The same for vectors of images (BISON: Hu et al. 2019, section 4.1) and of captions (MCIC: Ding et
al. 2016, section 3.2), exact or approximate.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from tellapart import seeds
from tellapart.errors import BadInput
from tellapart.mine.neighbours.approximate import Approximate
from tellapart.mine.neighbours.distinct import Distinct, Floats, Ints, Vectors, distinct
from tellapart.mine.neighbours.exact import Exact

METHODS = ("auto", "exact", "approximate")
EXACT_UP_TO = 60_000
"""Up to so many distinct vectors `auto` searches exactly."""
SAMPLE = 200
"""How many queries the recall of an approximate search is measured on."""
SPARE = 256
"""How many more than k an approximate search looks for, at most, before it gives up on a row."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Search:
    """How neighbours are sought.

    `auto` is exact for few or sparse vectors and where faiss is not installed. `threads` 0 means
    all cores; the result does not depend on it.
    """

    method: str = "auto"
    threads: int = 0
    seed: int = 0


class Near(NamedTuple):
    """Neighbours of a block of queries: `rows` are their places among the queries.

    `indices` and `similarities` are [block, k], best first, equal similarities in the order of
    the rows; where there are fewer than k, -1 and 0 fill the rest.
    """

    rows: slice
    indices: Ints
    similarities: Floats


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Vectors that can be asked for their nearest others, by cosine.

    `exclude` holds arrays of group numbers, one number a row: rows that share a group in any of
    them are never neighbours (the same image, the same text). A row is never its own.
    """

    vectors: Vectors
    exclude: Sequence[npt.NDArray[np.integer]] = ()
    search: Search = field(default_factory=Search)

    def __post_init__(self) -> None:
        if self.search.method not in METHODS:
            raise BadInput(
                f"there is no way to search called {self.search.method!r}",
                allowed=", ".join(METHODS),
            )

    @cached_property
    def method(self) -> str:
        """Whether the search is exact or approximate."""
        if self.search.method != "auto":
            return self.search.method
        few = issparse(self.vectors) or self._distinct.number <= EXACT_UP_TO
        return "exact" if few or not find_spec("faiss") else "approximate"

    def nearest(
        self,
        k: int,
        queries: npt.NDArray[np.integer] | None = None,
        progress: Progress = lambda done, total: None,
    ) -> Iterator[Near]:
        """The k nearest rows of each row, or of the rows in `queries`, in blocks."""
        asked = self._all_rows if queries is None else np.asarray(queries, np.int32)
        for start in range(0, len(asked), self._finder.block):
            rows = slice(start, min(start + self._finder.block, len(asked)))
            yield Near(rows, *self._block(asked[rows], k))
            progress(rows.stop, len(asked))

    def recall(self, k: int, sample: int = SAMPLE) -> float:
        """The share of the true k nearest that are found, on a random sample of the rows."""
        if self.method == "exact":
            return 1.0
        rng = seeds.rng(self.search.seed, "recall of neighbours")
        size = min(sample, len(self._all_rows))
        chosen = np.sort(rng.choice(len(self._all_rows), size=size, replace=False))
        found = np.concatenate([near.indices for near in self.nearest(k, chosen)])
        exact = Neighbours(self.vectors, self.exclude, Search("exact", self.search.threads))
        exact.__dict__["_distinct"] = self._distinct
        true = np.concatenate([near.indices for near in exact.nearest(k, chosen)])
        hits = sum(len(np.intersect1d(a[a >= 0], b)) for a, b in zip(found, true, strict=True))
        return hits / max(1, int((true >= 0).sum()))

    def _block(self, asked: Ints, k: int) -> tuple[Ints, Floats]:
        indices = np.full((len(asked), k), -1, np.int32)
        similarities = np.zeros((len(asked), k), np.float32)
        excluded = self._excluded[asked]
        numbers = k + np.minimum(excluded, SPARE if self.method == "approximate" else excluded)
        short = self._fill(self._finder, asked, numbers, indices, similarities)
        if self.method == "approximate" and len(short):
            again = asked[short]
            parts = indices[short], similarities[short]
            self._fill(self._exact, again, k + self._excluded[again], *parts)
            indices[short], similarities[short] = parts
        return indices, similarities

    def _fill(
        self, finder: Exact | Approximate, asked: Ints, numbers: Ints, indices: Ints, values: Floats
    ) -> Ints:
        """Write the neighbours of some rows; returns the places of those that got too few."""
        short = []
        found = finder.search(self._distinct.of_row[asked], numbers)
        for place, (row, (vectors, similar)) in enumerate(zip(asked, found, strict=True)):
            rows, near = self._allowed(int(row), vectors, similar, indices.shape[1])
            indices[place, : len(rows)], values[place, : len(rows)] = rows, near
            indices[place, len(rows) :], values[place, len(rows) :] = -1, 0
            if len(rows) < indices.shape[1] and len(vectors) < self._distinct.number:
                short.append(place)
        return np.array(short, np.int32)

    def _allowed(self, row: int, vectors: Ints, near: Floats, k: int) -> tuple[Ints, Floats]:
        """Up to k rows that have these vectors and may be neighbours of a row."""
        counts = self._distinct.counts[vectors]
        enough = int(np.searchsorted(np.cumsum(counts), k + self._excluded[row]))
        if enough < len(vectors):
            enough = int(np.searchsorted(-near, -near[enough], side="right"))
            vectors, near, counts = vectors[:enough], near[:enough], counts[:enough]
        rows = self._distinct.rows(vectors)
        near = np.repeat(near, counts)
        allowed = rows != row
        for groups in self.exclude:
            allowed &= groups[rows] != groups[row]
        rows, near = rows[allowed], near[allowed]
        order = np.lexsort((rows, -near))[:k]
        return rows[order], near[order]

    @cached_property
    def _distinct(self) -> Distinct:
        return distinct(self.vectors)

    @cached_property
    def _exact(self) -> Exact:
        return Exact(self._distinct, self._threads)

    @cached_property
    def _finder(self) -> Exact | Approximate:
        if self.method == "exact":
            return self._exact
        return Approximate(self._distinct, self._threads, self.search.seed)

    @property
    def _threads(self) -> int:
        return self.search.threads or os.cpu_count() or 1

    @cached_property
    def _all_rows(self) -> Ints:
        return np.arange(self.vectors.shape[0], dtype=np.int32)

    @cached_property
    def _excluded(self) -> Ints:
        """For each row at most how many rows may not be its neighbours, itself among them."""
        total = np.ones(self.vectors.shape[0], np.int32)
        for groups in self.exclude:
            _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
            total += sizes[codes].astype(np.int32) - 1
        return total

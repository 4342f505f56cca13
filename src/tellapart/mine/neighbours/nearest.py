"""The nearest texts of a text, without those that may not be chosen.

The same for vectors of images (BISON: Hu et al. 2019, section 4.1) and of captions (MCIC: Ding et
al. 2016, section 3.2), exact or approximate.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse

from tellapart import seeds
from tellapart.errors import BadInput, UnknownName
from tellapart.mine.neighbours.approximate import Approximate, KnownLists
from tellapart.mine.neighbours.exact import (
    Distinct,
    Exact,
    NearVectors,
    Similarities,
    Vectors,
    distinct,
)  # fmt: skip
from tellapart.store.arrays import Arrays, arrays_bytes
from tellapart.text._numba import kernel
from tellapart.types import Ints32, Progress, silent
from tellapart.work.shard import ShardResult

METHODS = ("auto", "exact", "approximate")
EXACT_UP_TO = 50_000
"""Up to this many distinct vectors `auto` searches exactly."""
SAMPLE, LEAST = 200, 2_000
"""The recall of an approximate search is measured on this many queries, and neighbours."""
SPARE = 32
"""How many more than k an approximate search looks for, since some may not be neighbours."""
LARGE = 300_000
"""Above this many rows to look at in a block it pays to compile."""

Part = TypeVar("Part")
Result = TypeVar("Result")


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
    indices: Ints32
    similarities: Similarities


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourTask:
    """What workers seek: the k nearest of some rows, among all; in one thread each."""

    vectors: Vectors
    exclude: Sequence[npt.NDArray[np.integer]]
    search: Search
    k: int
    lists: KnownLists | None

    @classmethod
    def of(cls, neighbours: Neighbours, k: int) -> NeighbourTask:
        """As a process seeks them, which makes the lists that all need."""
        search = replace(neighbours.search, method=neighbours.method, threads=1)
        lists = neighbours.known_lists(k)
        return cls(neighbours.vectors, neighbours.exclude, search, k, lists)

    def open(self) -> Callable[[Ints32], ShardResult]:
        """Make the vectors ready."""
        neighbours = Neighbours(self.vectors, self.exclude, self.search, self.lists)
        return lambda rows: ShardResult(arrays_bytes(neighbours.nearest_arrays(self.k, rows)))


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Vectors that can be asked for their nearest others, by cosine.

    `exclude` holds arrays of group numbers, one number a row: rows that share a group in any of
    them are never neighbours (the same image, the same text). A row is never its own.
    """

    vectors: Vectors
    exclude: Sequence[npt.NDArray[np.integer]] = ()
    search: Search = field(default_factory=Search)
    lists: KnownLists | None = None
    """Of an approximate search for the one number of neighbours that will be asked for."""
    _made: dict[int, Approximate] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.search.method not in METHODS:
            raise UnknownName("way to search", self.search.method, METHODS)
        if self.search.method == "approximate" and issparse(self.vectors):
            raise BadInput(
                "approximate search needs dense vectors, and tf-idf vectors are sparse",
                allowed="--search auto or exact, or other vectors",
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
        progress: Progress = silent,
    ) -> Iterator[Near]:
        """The k nearest rows of each row, or of the rows in `queries`, in blocks."""
        asked = self._all_rows if queries is None else np.asarray(queries, np.int32)
        finder = self._exact if self.method == "exact" else self._approximate(k)
        find = self._found_exactly if self.method == "exact" else self._found_nearly
        _ = self._excluded, self._distinct.rows, self._distinct.starts  # not in several threads

        def block(rows: slice) -> Near:
            return Near(rows, *find(asked[rows], k))

        starts = range(0, len(asked), finder.block)
        parts = (slice(start, min(start + finder.block, len(asked))) for start in starts)
        for near in in_order(block, parts, self._threads):
            yield near
            progress("nearest neighbours", near.rows.stop, len(asked))

    def recall(self, k: int) -> float:
        """The share of the true k nearest that are found, on a random sample of the rows."""
        if self.method == "exact":
            return 1.0
        rng = seeds.rng(self.search.seed, "recall of neighbours")
        size = min(max(SAMPLE, LEAST // k), len(self._all_rows))
        chosen = np.sort(rng.choice(len(self._all_rows), size=size, replace=False))
        found = np.concatenate([near.indices for near in self.nearest(k, chosen)])
        true, _ = self._found_exactly(chosen.astype(np.int32), k)
        hits = sum(len(np.intersect1d(a[a >= 0], b)) for a, b in zip(found, true, strict=True))
        return hits / max(1, int((true >= 0).sum()))

    def nearest_arrays(self, k: int, queries: npt.NDArray[np.integer]) -> Arrays:
        """The k nearest of each query, all at once, as arrays to keep."""
        blocks = list(self.nearest(k, queries))
        return {
            "indices": np.concatenate([block.indices for block in blocks]),
            "similarities": np.concatenate([block.similarities for block in blocks]),
        }

    def _found_exactly(self, rows: Ints32, k: int) -> tuple[Ints32, Similarities]:
        """A row's own group and what has its text may stand before the k that are wanted."""
        found = []
        for start in range(0, len(rows), self._exact.block):
            part = rows[start : start + self._exact.block]
            near = self._exact.near(self._distinct.of_row[part], k + self._excluded[part])
            found.append(self._allowed(part, near, k))
        indices, values = zip(*found, strict=True)
        return np.concatenate(indices), np.concatenate(values)

    def _found_nearly(self, rows: Ints32, k: int) -> tuple[Ints32, Similarities]:
        """Rows that get too few are sought exactly: much that is near they may not have."""
        near = self._approximate(k).near(self._distinct.of_row[rows])
        indices, values = self._allowed(rows, near, k)
        short = np.flatnonzero(indices[:, -1] < 0)
        if len(short):
            indices[short], values[short] = self._found_exactly(rows[short], k)
        return indices, values

    @cached_property
    def _distinct(self) -> Distinct:
        return distinct(self.vectors)

    @cached_property
    def _groups(self) -> Ints32:
        """[kinds of groups, rows]: the group of each row."""
        groups = [np.unique(one, return_inverse=True)[1] for one in self.exclude]
        return np.array(groups, np.int32).reshape(len(groups), len(self._all_rows))

    def _allowed(self, rows: Ints32, near: NearVectors, k: int) -> tuple[Ints32, Similarities]:
        """For each row the first k near ones that share no group with it, -1 and 0 for fewer.

        Equal similarities come in the order of the rows.
        """
        indices = np.full((len(rows), k), -1, np.int32)
        values = np.zeros((len(rows), k), np.float32)
        holders = self._distinct.starts, self._distinct.rows
        to_see = np.diff(self._distinct.starts)[near.vectors].sum()
        fill = _fill_compiled if to_see > LARGE else _fill
        fill(rows, (near.ends, near.vectors, near.values), holders, self._groups, indices, values)
        return indices, values

    @cached_property
    def _exact(self) -> Exact:
        return Exact(self._distinct)

    def known_lists(self, k: int) -> KnownLists | None:
        """The lists of an approximate search, so that other processes need not make them."""
        return self._approximate(k).known_lists if self.method == "approximate" else None

    def _approximate(self, k: int) -> Approximate:
        """The search for k neighbours; kept, since making it takes a while."""
        if k not in self._made:
            number = min(k + SPARE, self._distinct.number)
            made = Approximate(self._distinct, number, self.search.seed, self._threads)
            self._made[k] = made.knowing(self.lists) if self.lists else made
            self._made[k].prepare()
        return self._made[k]

    @property
    def _threads(self) -> int:
        return self.search.threads or os.cpu_count() or 1

    @cached_property
    def _all_rows(self) -> Ints32:
        return np.arange(self.vectors.shape[0], dtype=np.int32)

    @cached_property
    def _excluded(self) -> Ints32:
        """For each row at most how many rows may not be its neighbours, itself among them."""
        total = np.ones(self.vectors.shape[0], np.int32)
        for groups in self._groups:
            total += np.bincount(groups)[groups].astype(np.int32) - 1
        return total


def _fill(rows: Any, found: Any, holders: Any, groups: Any, indices: Any, values: Any) -> None:
    # Loops and numbers only, since numba compiles it. What ties must come in the order of the rows,
    # but a run of equal similarities comes in the order of the vectors: so each run is sorted by
    # insertion as it is read. Runs are short, but for texts that many people wrote.
    ends, vectors, similar = found
    starts, holding = holders
    k = indices.shape[1]
    for query in range(len(rows)):
        asked = rows[query]
        at, filled = ends[query], 0
        while at < ends[query + 1] and filled < k:
            first, stop = filled, at
            while stop < ends[query + 1] and similar[stop] == similar[at]:
                for holder in range(starts[vectors[stop]], starts[vectors[stop] + 1]):
                    row = holding[holder]
                    fits = row != asked
                    for kind in range(len(groups)):
                        fits = fits and groups[kind, row] != groups[kind, asked]
                    if not fits or (filled == k and row > indices[query, k - 1]):
                        continue
                    place = min(filled, k - 1)
                    while place > first and indices[query, place - 1] > row:
                        indices[query, place] = indices[query, place - 1]
                        place -= 1
                    indices[query, place] = row
                    filled = min(filled + 1, k)
                stop += 1
            for place in range(first, filled):
                values[query, place] = similar[at]
            at = stop


_fill_compiled = kernel(_fill)


def in_order(
    work: Callable[[Part], Result], parts: Iterable[Part], threads: int
) -> Iterator[Result]:
    """The results for parts in turn; no more are under way, or wait, than there are threads.

    BLAS keeps to one thread meanwhile: threads of its own get in each other's way, and how they
    share a product changes the last digit of a sum.
    """
    from threadpoolctl import threadpool_limits

    waiting: deque[Future[Result]] = deque()
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(threads) as pool:
        for part in parts:
            waiting.append(pool.submit(work, part))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

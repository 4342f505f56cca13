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
from tellapart.mine.neighbours.candidates import Allowed
from tellapart.mine.neighbours.distinct import Distinct, Floats, Ints, Vectors, distinct
from tellapart.mine.neighbours.exact import Exact
from tellapart.mine.neighbours.threads import in_order

METHODS = ("auto", "exact", "approximate")
EXACT_UP_TO = 50_000
"""Up to so many distinct vectors `auto` searches exactly."""
SAMPLE, LEAST = 200, 2_000
"""The recall of an approximate search is measured on so many queries, and neighbours."""
SPARE = 32
"""How many more than k an approximate search looks for, since some may not be neighbours."""

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
    _made: dict[int, Approximate] = field(default_factory=dict, repr=False)

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
        finder = self._exact if self.method == "exact" else self._approximate(k)
        find = self._found_exactly if self.method == "exact" else self._found_nearly
        _ = self._excluded, self._distinct.rows, self._distinct.starts  # not in several threads

        def block(rows: slice) -> Near:
            return Near(rows, *find(asked[rows], k))

        starts = range(0, len(asked), finder.block)
        parts = (slice(start, min(start + finder.block, len(asked))) for start in starts)
        for near in in_order(block, parts, self._threads):
            yield near
            progress(near.rows.stop, len(asked))

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

    def _found_exactly(self, rows: Ints, k: int) -> tuple[Ints, Floats]:
        """A row's own group and what has its text may stand before the k that are wanted."""
        found = []
        for start in range(0, len(rows), self._exact.block):
            part = rows[start : start + self._exact.block]
            near = self._exact.near(self._distinct.of_row[part], k + self._excluded[part])
            found.append(self._allowed.nearest(part, near, k))
        indices, values = zip(*found, strict=True)
        return np.concatenate(indices), np.concatenate(values)

    def _found_nearly(self, rows: Ints, k: int) -> tuple[Ints, Floats]:
        """Rows that get too few are sought exactly: much that is near they may not have."""
        near = self._approximate(k).near(self._distinct.of_row[rows])
        indices, values = self._allowed.nearest(rows, near, k)
        short = np.flatnonzero(indices[:, -1] < 0)
        if len(short):
            indices[short], values[short] = self._found_exactly(rows[short], k)
        return indices, values

    @cached_property
    def _distinct(self) -> Distinct:
        return distinct(self.vectors)

    @cached_property
    def _allowed(self) -> Allowed:
        groups = [np.unique(one, return_inverse=True)[1] for one in self.exclude]
        size = (len(groups), len(self._all_rows))
        return Allowed(self._distinct, np.array(groups, np.int32).reshape(size))

    @cached_property
    def _exact(self) -> Exact:
        return Exact(self._distinct)

    def _approximate(self, k: int) -> Approximate:
        """The search for k neighbours; kept, since making it takes a while."""
        if k not in self._made:
            number = min(k + SPARE, self._distinct.number)
            self._made[k] = Approximate(self._distinct, number, self.search.seed, self._threads)
            self._made[k].prepare()
        return self._made[k]

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
        for groups in self._allowed.groups:
            total += np.bincount(groups)[groups].astype(np.int32) - 1
        return total

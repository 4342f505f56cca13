"""Vectors near a query, and the rows among them that may be its neighbours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tellapart.mine.neighbours.distinct import Distinct, Floats, Ints

LARGE = 300_000
"""Above so many rows to look at in a block it pays to compile."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Distinct vectors near some queries, best first, one query after the other.

    Those of query `q` are `vectors[ends[q]:ends[q + 1]]`; `values` are the similarities.
    """

    ends: npt.NDArray[np.int64]
    vectors: Ints
    values: Floats


@dataclass(frozen=True, eq=False)
class Allowed:
    """Which rows may be neighbours: those that share no group, `groups` being [kinds, rows]."""

    distinct: Distinct
    groups: Ints

    def nearest(self, rows: Ints, candidates: Candidates, k: int) -> tuple[Ints, Floats]:
        """The first k candidates of each row that it may have, -1 and 0 where there are fewer.

        Equal similarities come in the order of the rows.
        """
        indices = np.full((len(rows), k), -1, np.int32)
        values = np.zeros((len(rows), k), np.float32)
        found = candidates.ends, candidates.vectors, candidates.values
        holders = self.distinct.starts, self.distinct.rows
        to_see = np.diff(self.distinct.starts)[candidates.vectors].sum()
        fill = _compiled() if to_see > LARGE else _fill
        fill(rows, found, holders, self.groups, indices, values)
        return indices, values


@cache
def _compiled() -> Callable[..., None]:
    from tellapart.text._numba import kernel

    return kernel(_fill)


def _fill(
    rows: Any, found: Any, holders: Any, groups: Any, indices: Any, values: Any
) -> None:  # numba compiles this: loops and numbers only
    ends, vectors, similar = found
    starts, holding = holders
    k = indices.shape[1]
    for query in range(len(rows)):
        asked = rows[query]
        at, filled = ends[query], 0
        while at < ends[query + 1] and filled < k:
            first, stop = filled, at
            while stop < ends[query + 1] and similar[stop] == similar[at]:  # a run of equal ones
                for holder in range(starts[vectors[stop]], starts[vectors[stop] + 1]):
                    row = holding[holder]
                    fits = row != asked
                    for kind in range(len(groups)):
                        fits = fits and groups[kind, row] != groups[kind, asked]
                    if not fits or (filled == k and row > indices[query, k - 1]):
                        continue
                    # put in where it belongs by its number; of a full row the last falls out
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

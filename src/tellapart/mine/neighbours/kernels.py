"""Kernels of approximate search: the similarities of each query that are high enough."""

from __future__ import annotations

from typing import Any

import numpy as np

from tellapart.text._numba import kernel

Array = Any


@kernel
def gather(
    similar: Array, asking: Array, places: Array, lowest: Array, kept: Array, keep: int
) -> None:
    """Note similarities [asking, places] above a query's lowest, with their places.

    `kept` is (values [queries, room], found [queries, room], counts [queries]). When a query's
    room is full its best `keep` stay, and its lowest is raised to the last of them.
    """
    values, found, counts = kept
    room = values.shape[1]
    for row in range(len(asking)):
        query = asking[row]
        limit, count = lowest[query], counts[query]
        for column in range(len(places)):
            if similar[row, column] > limit:
                if count == room:
                    limit = shrink(values[query], found[query], keep)
                    count = keep
                    if similar[row, column] <= limit:
                        continue
                values[query, count] = similar[row, column]
                found[query, count] = places[column]
                count += 1
        lowest[query], counts[query] = limit, count


@kernel
def shrink(values: Array, found: Array, keep: int) -> float:
    """Bring the best `keep` to the front, of equal ones the first; returns the lowest of them."""
    limit: float = np.partition(values, len(values) - keep)[len(values) - keep]
    ties = keep - np.sum(values > limit)
    count = 0
    for place in range(len(values)):
        tie = values[place] == limit
        if values[place] > limit or (tie and ties > 0):
            ties -= tie
            values[count], found[count] = values[place], found[place]
            count += 1
    values[count:], found[count:] = -np.inf, -1  # what moved to the front is still there, too
    return limit

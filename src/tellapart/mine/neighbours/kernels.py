"""Kernels of approximate search: the best similarities so far, as a heap for each query."""

from __future__ import annotations

from typing import Any

from tellapart.text._numba import kernel

Array = Any


@kernel
def push(similar: Array, asking: Array, places: Array, values: Array, found: Array) -> None:
    """Put similarities [asking, places] into the heaps of the queries that asked.

    `values` and `found` are [queries, size]; the lowest value of a heap is its first. A value
    must be above it to come in.
    """
    for row in range(len(asking)):
        query = asking[row]
        lowest = values[query, 0]
        for column in range(len(places)):
            if similar[row, column] > lowest:
                sink(values[query], found[query], similar[row, column], places[column])
                lowest = values[query, 0]


@kernel
def sink(values: Array, found: Array, value: float, place: int) -> None:
    """Replace a heap's lowest value and let the new one sink to where it belongs."""
    size, at = len(values), 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and values[child + 1] < values[child]:
            child += 1
        if values[child] >= value:
            break
        values[at], found[at] = values[child], found[child]
        at = child
    values[at], found[at] = value, place

"""Approximate search: vectors in lists by faiss's k-means; a query looks at the lists near it.

Inverted files (Jegou et al. 2011; Douze et al. 2024, The Faiss library), with two turns for the
case that every vector is a query. The queries that look at a list are compared with it in one
matrix product, which is several times as fast as faiss's own scan of query after query. And how
many lists are looked at is not guessed: it is the smallest number that finds enough of the true
neighbours of a sample. A graph (HNSW) was measured to be slower still where hundreds of neighbours
are wanted, and comes out different when several threads build it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tellapart import seeds
from tellapart.errors import need
from tellapart.mine.neighbours.exact import (
    Distinct,
    Exact,
    NearVectors,
    Similarities,
    level,
    rounded,
    step,
)  # fmt: skip
from tellapart.text._numba import kernel
from tellapart.types import Ints32

TARGET = 0.965
"""The share of the true neighbours of the sample that must be found: of others a little less is."""
TUNED_ON = 256
GUESSED_ON = 4096
"""How many vectors a query is compared with to guess how near its nearest are."""
ROUNDS = 8
ROOM = 3
"""Room for this many times the wanted number: more than is found above the guessed level."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownLists:
    """The lists of a search: their centres, the list of each vector, how many are looked at."""

    centres: Similarities
    lists: npt.NDArray[np.intp]
    probes: int


@dataclass(frozen=True, eq=False)
class Approximate:
    """Looks for `number` vectors in the lists nearest to a query."""

    distinct: Distinct
    number: int
    seed: int
    threads: int

    block = 2048
    """How many queries to ask for at a time."""

    def near(self, queries: Ints32) -> NearVectors:
        """For each query its best vectors, itself among them, as far as they are found."""
        vectors = self.distinct.vectors[queries]
        sample = vectors @ self._guessed_on.T
        lowest = level(sample, self.number, self.distinct.number) - step(sample)
        values = np.full((len(queries), ROOM * self.number), -np.inf, sample.dtype)
        found = np.full(values.shape, -1, np.int32)
        kept = values, found, np.zeros(len(queries), np.int32)
        asking, bounds = self._asking(vectors)
        for one, (start, end) in enumerate(pairwise(self._starts)):
            mine = asking[bounds[one] : bounds[one + 1]]
            similar = vectors[mine] @ self._sorted[start:end].T
            gather(similar, mine, self._order[start:end], lowest, kept, self.number)
        return self._best(found, values)

    def _best(self, found: Ints32, values: Similarities) -> NearVectors:
        """The best `number` of each row."""
        first = np.argpartition(-values, self.number - 1, axis=1)[:, : self.number]
        values = rounded(np.take_along_axis(values, first, axis=1))
        order = np.argsort(-values, axis=1, kind="stable")
        values = np.take_along_axis(values, order, axis=1)
        found = np.take_along_axis(np.take_along_axis(found, first, axis=1), order, axis=1)
        there = found >= 0
        ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
        return NearVectors(ends, found[there], values[there])

    def knowing(self, lists: KnownLists) -> Approximate:
        """The same search, with lists that another process made of the same vectors."""
        self.__dict__.update(_centres=lists.centres, _lists=lists.lists, probes=lists.probes)
        return self

    @property
    def known_lists(self) -> KnownLists:
        """What takes long to make, for other processes."""
        return KnownLists(self._centres, self._lists, self.probes)

    def prepare(self) -> None:
        """Make everything that is made once: threads that need it at once would each make it."""
        _ = self.probes, self._sorted, self._guessed_on, self._starts

    @cached_property
    def probes(self) -> int:
        """How many lists a query looks at, from a sample and its true neighbours."""
        size = min(TUNED_ON, self.distinct.number)
        sample = self._sample("how many lists", size)
        exact = Exact(self.distinct)
        to_lists = self.distinct.vectors[sample] @ self._centres.T
        ranks = np.argsort(np.argsort(-to_lists, axis=1), axis=1)
        needed = []
        for start in range(0, size, exact.block):
            part = sample[start : start + exact.block]
            near = exact.near(part, np.full(len(part), self.number))
            for place, (first, end) in enumerate(pairwise(near.ends), start):
                true = near.vectors[first : min(end, first + self.number)]
                needed.append(ranks[place, self._lists[true]])
        return int(np.quantile(np.concatenate(needed), TARGET, method="higher")) + 1

    def _asking(self, vectors: Similarities) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """The queries that look at the first list, at the second, ..., and where each begins."""
        to_lists = vectors @ self._centres.T
        near = np.argpartition(-to_lists, self.probes - 1, axis=1)[:, : self.probes].ravel()
        order = np.argsort(near, kind="stable")
        bounds = np.searchsorted(near[order], np.arange(len(self._centres) + 1))
        return order // self.probes, bounds

    def _sample(self, what: str, size: int) -> Ints32:
        rng = seeds.rng(self.seed, "neighbours", what)
        chosen = rng.choice(self.distinct.number, size=size, replace=False)
        return np.sort(chosen).astype(np.int32)

    @cached_property
    def _guessed_on(self) -> Similarities:
        chosen = self._sample("levels", min(GUESSED_ON, self.distinct.number))
        sample: Similarities = self.distinct.vectors[chosen]
        return sample

    @cached_property
    def _centres(self) -> Similarities:
        """The lists' centres, about the square root of the number of vectors."""
        faiss = need("faiss", "text", "approximate search for neighbours")
        faiss.omp_set_num_threads(self.threads)
        number, size = self.distinct.vectors.shape
        kmeans = faiss.Kmeans(
            size, max(1, int(number**0.5)), niter=ROUNDS, spherical=True,
            seed=seeds.number(self.seed, "lists") % (1 << 31),
            max_points_per_centroid=64, min_points_per_centroid=1,
        )  # fmt: skip
        kmeans.train(self.distinct.vectors.astype(np.float32, copy=False))
        centres: Similarities = kmeans.centroids.astype(self.distinct.vectors.dtype)
        return centres

    @cached_property
    def _lists(self) -> npt.NDArray[np.intp]:
        """The list that each vector is in."""
        vectors = self.distinct.vectors
        parts = [
            np.argmax(vectors[start : start + self.block] @ self._centres.T, axis=1)
            for start in range(0, len(vectors), self.block)
        ]
        return np.concatenate(parts)

    @cached_property
    def _order(self) -> Ints32:
        """The vectors, list after list."""
        return np.argsort(self._lists, kind="stable").astype(np.int32)

    @cached_property
    def _starts(self) -> npt.NDArray[np.intp]:
        return np.searchsorted(self._lists[self._order], np.arange(len(self._centres) + 1))

    @cached_property
    def _sorted(self) -> Similarities:
        """The vectors in that order, so that a list is one piece of memory."""
        return np.ascontiguousarray(self.distinct.vectors[self._order])


@kernel
def gather(similar: Any, asking: Any, places: Any, lowest: Any, kept: Any, keep: int) -> None:
    """Note similarities [asking, places] above a query's lowest, with their places.

    `kept` is (values [queries, room], found [queries, room], counts [queries]). When a query's
    room is full its best `keep` stay, and its lowest is raised to the last of them.
    """
    # A heap of the best would cost log(room) for each that is noted. Noting is one comparison, and
    # as the limit rises with each shrinking, most similarities are passed over by that alone.
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
def shrink(values: Any, found: Any, keep: int) -> float:
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
    values[count:], found[count:] = -np.inf, -1  # else what moved to the front stays twice
    return limit

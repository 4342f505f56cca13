"""Which captions can be options together, and how near they are.

Two captions are joined if each may be a decoy of the other's image: a Score above 0 in both
directions (Ding et al. 2016, Equation 1) and no guard against either. The weight of the edge is the
mean of both Scores. In a set of captions that are all joined, every caption is false of the images
of all others, as far as captions can tell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tellapart.mine.mcic.decoys import DecoyMine
from tellapart.mine.mcic.score import ChosenDecoys, may_be_decoys, scores
from tellapart.text._numba import in_threads, kernel
from tellapart.types import Bools, Floats, Floats32, Ints, Ints32, Progress, silent

PARTNERS = 160
"""How many of a caption's best decoys can be its partners; more give hardly more sets."""
WIDTH = 64
"""A set is grown from this many captions, the nearest that are free..."""
STARTS = 3
"""... starting from each of this many; the best result is used."""


@dataclass(frozen=True, eq=False)
class OptionGraph:
    """Captions with their partners, as concatenated lists.

    The partners of caption k are `partners[starts[k]:starts[k + 1]]`, sorted by number, with the
    `scores` of the edges. `image_of` is each caption's image.
    """

    image_of: Ints32
    starts: Ints
    partners: Ints32
    scores: Floats32

    @classmethod
    def of(cls, mine: DecoyMine, progress: Progress = silent) -> OptionGraph:
        """Join captions that are among each other's best decoys.

        Only lists of `PARTNERS` captions are held in memory, whatever the neighbourhood's size.
        """
        number = len(mine.captions)
        choice = replace(mine.choice, decoys=min(PARTNERS, mine.choice.neighbours))
        # Lengths give nothing away if each caption is the truth in turn.
        guards = replace(mine.guards, length=False)
        many = mine.choosing(choice, guards)
        partners = np.full((number, choice.decoys), -1, np.int32)
        weights = np.zeros(partners.shape, np.float32)
        every = np.arange(number, dtype=np.int32)
        done = 0
        for block in many.blocks(every, progress):
            rows = slice(done, done + len(block.captions))
            partners[rows], weights[rows] = _mutual_decoys(many, every[rows], block)
            done = rows.stop
        degrees = np.zeros(number, np.int64)
        count_partners(partners, degrees)
        starts = np.concatenate([[0], np.cumsum(degrees)])
        flat, values = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
        fill_partners(partners, weights, starts, flat, values)
        return cls(mine.captions.image_of, starts, flat, values)

    def best_sets(self, seeds: Ints32, size: int, taken: Bools) -> tuple[Ints32, Floats]:
        """For each caption, the best set of `size` that contains it, and the mean of its edges.

        The search is greedy: a set starts with the caption and one of its nearest, and repeatedly
        adds the caption nearest to all members. `taken` marks images that no set may use. If no set
        is found, the mean is -1.
        """
        sets, means = np.full((len(seeds), size), -1, np.int32), np.full(len(seeds), -1.0)
        graph = (self.starts, self.partners, self.scores, self.image_of)
        in_threads(
            lambda a, b: grow_sets(seeds, graph, taken, WIDTH, STARTS, sets, means, a, b),
            len(seeds),
            64,
        )
        return sets, means

    def part(self, one: int, other: int) -> None:
        """Remove the edge between two captions."""
        for a, b in ((one, other), (other, one)):
            row = slice(self.starts[a], self.starts[a + 1])
            self.scores[row][self.partners[row] == b] = -1

    def leave_out(self, caption: int) -> None:
        """Remove all edges of a caption."""
        for partner in self.partners[self.starts[caption] : self.starts[caption + 1]].tolist():
            self.part(caption, partner)


def _mutual_decoys(
    mine: DecoyMine, targets: Ints32, block: ChosenDecoys
) -> tuple[Ints32, Floats32]:
    """Which decoys are mutual (-1 for others), and the mean of both Scores."""
    row, place = np.nonzero(block.captions >= 0)
    one, other = targets[row], block.captions[row, place]
    choice = mine.choice
    back = scores(
        block.cosines[row, place], mine.bleu.scores(one, other), choice.weight, choice.limit
    )
    images = mine.captions.image_of[other]
    both = (back > 0) & may_be_decoys(one, images, mine.silence, mine.guards)
    partners = np.full(block.captions.shape, -1, np.int32)
    weights = np.zeros(partners.shape, np.float32)
    where = row[both], place[both]
    partners[where] = other[both]
    weights[where] = (block.scores[where] + back[both]) / 2
    return partners, weights


# Kernels, all in this file, because numba's cache is invalidated by file


@kernel
def lists(partners: Any, one: int, other: int) -> bool:
    """Whether a caption has another on its own list."""
    found = False
    for place in range(partners.shape[1]):
        found |= partners[one, place] == other
    return found


@kernel
def count_partners(partners: Any, degrees: Any) -> None:
    """How many captions each caption is joined with, by its own list or by theirs."""
    for one in range(len(partners)):
        for place in range(partners.shape[1]):
            other = partners[one, place]
            if other >= 0:
                degrees[one] += 1
                degrees[other] += not lists(partners, other, one)


@kernel
def fill_partners(partners: Any, weights: Any, starts: Any, flat: Any, values: Any) -> None:
    """Write each caption's partners, sorted by number."""
    ends = starts[:-1].copy()
    # In the order of captions, so entries from other lists arrive sorted; a caption's own do not.
    for one in range(len(partners)):
        for place in range(partners.shape[1]):
            other = partners[one, place]
            if other >= 0:
                flat[ends[one]], values[ends[one]] = other, weights[one, place]
                ends[one] += 1
                if not lists(partners, other, one):
                    flat[ends[other]], values[ends[other]] = one, weights[one, place]
                    ends[other] += 1
    for one in range(len(partners)):
        row = slice(starts[one], starts[one + 1])
        order = np.argsort(flat[row])
        flat[row], values[row] = flat[row][order], values[row][order]


@kernel
def edge(graph: Any, one: int, other: int) -> float:
    """The weight of the edge between two captions, -1 if there is none."""
    starts, partners, weights, _ = graph
    low, end = starts[one], starts[one + 1]
    high = end
    while low < high:
        middle = (low + high) // 2
        if partners[middle] < other:
            low = middle + 1
        else:
            high = middle
    return weights[low] if low < end and partners[low] == other else -1.0


@kernel
def grow(near: Any, weights: Any, first: int, graph: Any, members: Any) -> float:
    """Grow a set from the seed (already the first member) and the candidate `first`.

    `near` are candidates, `weights` their edges with the seed. Returns the sum of the edges, or -1
    if no set is found.
    """
    size, number = len(members), len(near)
    sums, open_ = weights.copy(), np.ones(number, np.bool_)
    total, chosen = 0.0, first
    for count in range(1, size):
        members[count] = near[chosen]
        total += sums[chosen]
        open_[chosen] = False
        best = -1
        for k in range(number if count + 1 < size else 0):
            weight = edge(graph, near[chosen], near[k]) if open_[k] else -1.0
            open_[k] &= weight >= 0
            sums[k] += weight
            if open_[k] and (best < 0 or sums[k] > sums[best]):
                best = k
        if best < 0 and count + 1 < size:
            return -1.0
        chosen = best
    return total


@kernel
def grow_sets(
    seeds: Any, graph: Any, taken: Any, width: int, attempts: int, sets: Any, means: Any,
    begin: int, end: int,
) -> None:  # fmt: skip
    """The best set of each seed; see `OptionGraph.best_sets`."""
    starts, partners, weights, image_of = graph
    size = sets.shape[1]
    members = np.empty(size, np.int32)
    for row in range(begin, end):
        seed = seeds[row]
        own = slice(starts[seed], starts[seed + 1])
        near, edges = partners[own], weights[own].astype(np.float64)
        for k in range(len(near)):
            if taken[image_of[near[k]]]:
                edges[k] = -1.0
        order = np.argsort(-edges, kind="mergesort")[:width]
        order = order[edges[order] > 0]
        near, edges = near[order], edges[order]
        best = -1.0
        members[0] = seed
        for first in range(min(attempts, len(near)) if not taken[image_of[seed]] else 0):
            total = grow(near, edges, first, graph, members)
            if total > best:
                best = total
                sets[row] = members
        if best >= 0:
            means[row] = best / (size * (size - 1) / 2)

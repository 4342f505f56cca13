"""Kernels of MCIC: the best neighbours of a caption that no guard refuses."""

from __future__ import annotations

from typing import Any

import numpy as np

from tellapart.text._numba import kernel

Array = Any
TOO_ALIKE, SAME_WORDS, NO_NEW_WORDS, TWICE = range(4)


@kernel
def holds(starts: Array, values: Array, which: int, value: int) -> bool:
    """Whether a value is in list `which`."""
    found = False
    for k in range(starts[which], starts[which + 1]):
        found |= values[k] == value
    return found


@kernel
def new_values(
    starts: Array, values: Array, which: int, known_starts: Array, known: Array, other: int
) -> int:
    """How many values of list `which` are not in list `other` of known ones; both are sorted."""
    i, last = starts[which], starts[which + 1]
    j, stop = known_starts[other], known_starts[other + 1]
    new = 0
    while i < last:
        if j == stop or values[i] < known[j]:
            new += 1
            i += 1
        elif values[i] > known[j]:
            j += 1
        else:
            i += 1
            j += 1
    return new


@kernel
def refusal(candidate: int, image: int, said: Array, guards: Array) -> int:
    """The reason why a caption may not be a decoy of an image, -1 where there is none."""
    bag_of, bag_starts, bags, tell_starts, telling, known_starts, known = said
    same_words, new_words, _ = guards
    if same_words and holds(bag_starts, bags, image, bag_of[candidate]):
        return SAME_WORDS
    if new_words > 0:
        new = new_values(tell_starts, telling, candidate, known_starts, known, image)
        if new < new_words:
            return NO_NEW_WORDS
    return -1


@kernel
def pick_rows(
    images: Array, near: Array, scores: Array, alike: Array, said: Array, guards: Array,
    places: Array, refused: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """For each row the places in `near` of the best candidates; -1 where there are too few.

    Candidates go by score, of equal ones the first goes first; scores of 0 and less are none.
    """
    bag_of = said[0]
    most = places.shape[1]
    for row in range(begin, end):
        taken = 0
        for p in range(near.shape[1]):
            if near[row, p] >= 0 and alike[row, p]:
                refused[row, TOO_ALIKE] += 1
        for p in np.argsort(-scores[row], kind="mergesort"):
            if taken == most or scores[row, p] <= 0:
                break
            candidate = near[row, p]
            if candidate < 0:
                continue
            reason = refusal(candidate, images[row], said, guards)
            if guards[2]:
                for t in range(taken):
                    if bag_of[near[row, places[row, t]]] == bag_of[candidate]:
                        reason = TWICE
            if reason >= 0:
                refused[row, reason] += 1
                continue
            places[row, taken] = p
            taken += 1

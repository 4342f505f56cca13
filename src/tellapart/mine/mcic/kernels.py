"""Kernels of MCIC: the best neighbours of a caption that no guard refuses."""

from __future__ import annotations

from typing import Any

import numpy as np

from tellapart.text._numba import kernel

Array = Any
TOO_ALIKE, SAME_WORDS, DOUBTFUL, TWICE = range(4)


@kernel
def holds(starts: Array, values: Array, which: int, value: int) -> bool:
    """Whether a value is in list `which`."""
    found = False
    for k in range(starts[which], starts[which + 1]):
        found |= values[k] == value
    return found


@kernel
def most_telling(
    starts: Array, values: Array, which: int, known_starts: Array, known: Array, image: int,
    agreement: Array,
) -> float:  # fmt: skip
    """The highest agreement on a value of list `which` that is not known; both lists are sorted."""
    i, last = starts[which], starts[which + 1]
    j, stop = known_starts[image], known_starts[image + 1]
    most = 0.0
    while i < last:
        if j == stop or values[i] < known[j]:
            most = max(most, agreement[values[i]])
            i += 1
        elif values[i] > known[j]:
            j += 1
        else:
            i += 1
            j += 1
    return most


@kernel
def refusal(candidate: int, image: int, said: Array, guards: Array) -> int:
    """The reason why a caption may not be a decoy of an image, -1 where there is none."""
    bag_of, bag_starts, bags, starts, words, known_starts, known, agreement, per_image = said
    same_words, doubt, _ = guards
    if same_words and holds(bag_starts, bags, image, bag_of[candidate]):
        return SAME_WORDS
    if doubt < 1:
        most = most_telling(starts, words, candidate, known_starts, known, image, agreement)
        if (1 - most) ** per_image[image] > doubt:
            return DOUBTFUL
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

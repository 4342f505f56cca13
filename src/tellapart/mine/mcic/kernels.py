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
    bag_of, bag_starts, bags, starts, words, known_starts, known, agreement, per_image, _ = said
    same_words, doubt, _ = guards
    if same_words and holds(bag_starts, bags, image, bag_of[candidate]):
        return SAME_WORDS
    if doubt < 1:
        most = most_telling(starts, words, candidate, known_starts, known, image, agreement)
        if (1 - most) ** per_image[image] > doubt:
            return DOUBTFUL
    return -1


@kernel
def fits(room: Array, difference: int) -> bool:
    """Whether there is room for a shorter (0) or longer (1) decoy; takes it."""
    side = int(difference > 0 or (difference == 0 and room[1] > 0))
    if room[side] == 0:
        return False
    room[side] -= 1
    return True


@kernel
def pick_rows(
    targets: Array, longer: Array, near: Array, scores: Array, alike: Array, images: Array,
    said: Array, guards: Array, places: Array, refused: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """For each row the places in `near` of the best candidates; -1 where there are too few.

    Candidates go by score, of equal ones the first goes first; scores of 0 and less are none. Where
    `longer` is not -1, so many are longer than the target and the others shorter (of its length
    counts as either), as far as there are any.
    """
    bag_of, lengths = said[0], said[9]
    most, number = places.shape[1], near.shape[1]
    for row in range(begin, end):
        order = np.argsort(-scores[row], kind="mergesort")
        room = np.array([most - longer[row], longer[row]])
        taken, closed = np.zeros(number, np.bool_), near[row] < 0
        count = 0
        for p in range(number):
            refused[row, TOO_ALIKE] += alike[row, p] and not closed[p]
        for attempt in range(1 if longer[row] < 0 else 2):
            for p in order:
                if count == most or scores[row, p] <= 0:
                    break
                if closed[p]:
                    continue
                candidate = near[row, p]
                reason = refusal(candidate, images[targets[row]], said, guards)
                for t in range(number if guards[2] and reason < 0 else 0):
                    if taken[t] and bag_of[near[row, t]] == bag_of[candidate]:
                        reason = TWICE
                if reason >= 0:
                    refused[row, reason] += 1
                    closed[p] = True
                    continue
                difference = lengths[candidate] - lengths[targets[row]]
                if attempt == 0 and longer[row] >= 0 and not fits(room, difference):
                    continue
                taken[p] = closed[p] = True
                count += 1
        count = 0
        for p in order:
            if taken[p]:
                places[row, count] = p
                count += 1

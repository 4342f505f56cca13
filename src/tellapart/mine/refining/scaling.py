"""Scores between 0 and 1, so that two of them can be added and their gaps be put into bins."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from tellapart.errors import BadInput
from tellapart.mine.refining.scored import SCORES, Floats, Ints, Scored

SCALES = ("rank", "given")


def scaled(scores: Scored, scale: str) -> Floats:
    """The scores between 0 and 1, in the same shape.

    `rank` takes a caption's place among all captions of its kind, originals and negatives alike
    (equal scores share their middle place): the unit of a score does not matter, and a classifier
    that says 0.999 to nearly everything still fills all bins. `given` leaves probabilities as they
    are.
    """
    if scale == "given":
        _check_range(scores)
        return scores.scores
    placed = np.empty_like(scores.scores)
    for rows in rows_by_kind(scores.kind, len(scores.kinds)):
        for own, values in zip(placed, scores.scores, strict=True):
            ranks = rankdata(values[rows].ravel())
            own[rows] = ((ranks - 0.5) / len(ranks)).reshape(-1, 2)
    return placed


def rows_by_kind(kind: Ints, kinds: int) -> list[Ints]:
    """The rows of each kind, in their order."""
    order = np.argsort(kind, kind="stable")
    return np.split(order, np.cumsum(np.bincount(kind, minlength=kinds))[:-1])


def _check_range(scores: Scored) -> None:
    for name, values in zip(SCORES, scores.scores, strict=True):
        low, high = float(values.min()), float(values.max())
        if low < 0 or high > 1:
            raise BadInput(
                f"scores of {name} lie between {low:g} and {high:g}",
                allowed="numbers between 0 and 1 where the scale is the given one",
                todo="scale by rank instead: --scale rank (scale='rank')",
            )

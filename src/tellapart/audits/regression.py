"""A regression on cues: logistic, on differences between options, cross-fitted over groups.

For a choice between two options with features a and b, P(a is taken) = 1 / (1 + exp(-w(a - b)))
(Bradley & Terry 1952 with features). Weights are fitted on other groups of images than those
that they are applied to; a small ridge keeps them finite where a cue decides everything.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tellapart.audits.sheet import FOLDS, GuessSheet
from tellapart.items import Item
from tellapart.types import Floats, Ints

RIDGE = 1.0
STEPS = 25


@dataclass(frozen=True, slots=True)
class OptionPairs:
    """Options to be told apart, as places of cells: the right (or original) one and another."""

    right: Ints
    wrong: Ints

    def __len__(self) -> int:
        return len(self.right)


def caption_pairs(sheet: GuessSheet) -> OptionPairs:
    """Right and wrong captions of one image; in larger grids the original and the others."""
    return _pairs(
        (sheet.cell(k, image, a), sheet.cell(k, image, b))
        for k, item in enumerate(sheet.items)
        for image in [item.original[0] if item.original else 0]
        for a, b in caption_options(item)
    )


def image_pairs(sheet: GuessSheet) -> OptionPairs:
    """Right and wrong images of one caption; in larger grids the original and the others."""
    return _pairs(
        (sheet.cell(k, a, caption), sheet.cell(k, b, caption))
        for k, item in enumerate(sheet.items)
        for caption in [item.original[1] if item.original else 0]
        for a, b in image_options(item)
    )


def _pairs(found: Iterable[tuple[int, int]]) -> OptionPairs:
    table = np.array(list(found), dtype=np.int64).reshape(-1, 2)
    return OptionPairs(table[:, 0], table[:, 1])


def caption_options(item: Item) -> list[tuple[int, int]]:
    """Captions to be told apart: (right, wrong), in larger grids (original, other)."""
    return _told_apart(item, 1)


def image_options(item: Item) -> list[tuple[int, int]]:
    """Images to be told apart: (right, wrong), in larger grids (original, other)."""
    return _told_apart(item, 0)


def _told_apart(item: Item, side: int) -> list[tuple[int, int]]:
    """(right, wrong) among the captions (side 1) or the images (side 0) of an item."""
    shown = len(item.images if side else item.captions)
    options = range(len(item.captions if side else item.images))
    if shown == 1:
        right = {cell[side] for cell in item.true}
    elif item.original is not None:
        right = {item.original[side]}
    else:
        return []
    return [(a, b) for a in sorted(right) for b in options if b not in right]


def crossfitted(features: Floats, pairs: OptionPairs, fold: Ints) -> Floats:
    """A score for each row of `features`; 0 is the mean row of those that were fitted on."""
    scale = features.std(axis=0)
    scaled = features / np.where(scale > 0, scale, 1.0)
    scores = np.zeros(len(features))
    for k in range(FOLDS):
        here, train = fold == k, fold[pairs.right] != k
        if not here.any() or not train.any():
            continue
        weights = fit(scaled[pairs.right[train]] - scaled[pairs.wrong[train]])
        fitted_on = np.concatenate([pairs.right[train], pairs.wrong[train]])
        scores[here] = (scaled[here] - scaled[fitted_on].mean(axis=0)) @ weights
    return np.round(scores, 9)  # equal features must tie, whatever the order of additions


def fit(differences: Floats) -> Floats:
    """Weights of the penalised likelihood's maximum, by Newton's method (a convex problem)."""
    weights = np.zeros(differences.shape[1])
    for _ in range(STEPS):
        taken = 1 / (1 + np.exp(-np.clip(differences @ weights, -30, 30)))
        slope = differences.T @ (1 - taken) - RIDGE * weights
        curve = (differences * (taken * (1 - taken))[:, None]).T @ differences
        step = np.linalg.solve(curve + RIDGE * np.eye(len(weights)), slope)
        weights = weights + step
        if np.abs(step).max() < 1e-8:
            break
    return weights

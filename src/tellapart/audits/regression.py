"""A regression on cues: logistic, on differences between options, cross-fitted over groups.

For a choice between two options with features a and b, P(a is chosen) = 1 / (1 + exp(-w(a - b)))
(Bradley & Terry 1952 with features). Weights are applied to groups of images other than those they
were fitted on; a small ridge keeps them finite when a cue decides everything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tellapart.attack.choices import CAPTIONS, right_options
from tellapart.audits.sheet import FOLDS, GuessSheet
from tellapart.benchmark.table import Pattern
from tellapart.types import Floats, Ints

RIDGE = 1.0
STEPS = 25


@dataclass(frozen=True, slots=True)
class OptionPairs:
    """Options to tell apart, as positions of cells: the right (or original) one and another."""

    right: Ints
    wrong: Ints

    def __len__(self) -> int:
        return len(self.right)


def option_pairs(sheet: GuessSheet, side: int) -> OptionPairs:
    """Right and wrong options of each question; in larger grids the original and the others."""
    tables: list[Ints] = [np.zeros((0, 2), np.int64)]
    for pattern in sheet.items.patterns:
        shown = pattern.original[1 - side] if pattern.original else 0
        for pair in contrasts(pattern, side):
            cells = [(shown, place) if side == CAPTIONS else (place, shown) for place in pair]
            begins = sheet.cells.begins[pattern.rows]
            tables.append(np.stack([begins + pattern.column(*cell) for cell in cells], axis=1))
    right, wrong = np.concatenate(tables).T
    order = np.lexsort((wrong, right))  # in the order of the items
    return OptionPairs(right[order], wrong[order])


def contrasts(pattern: Pattern, side: int) -> list[tuple[int, int]]:
    """Options to tell apart: (right, wrong), in larger grids (original, other)."""
    right = right_options(pattern, side)
    size = (pattern.images, pattern.captions)[side]
    return [(a, b) for a in sorted(right) for b in range(size) if b not in right]


def crossfitted(features: Floats, pairs: OptionPairs, fold: Ints) -> Floats:
    """A score for each row of `features`; 0 is the score of the mean row of the fitting folds."""
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
    """Weights that maximise the penalised likelihood, by Newton's method (a convex problem)."""
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

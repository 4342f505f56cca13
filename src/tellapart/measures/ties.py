"""Ties: which outcomes they leave open, and the four rules for them.

A question is answered rightly if the best of its right options scores higher than the best of its
wrong ones. The papers require a strict inequality: a tie is wrong. `half` is the expected value
with tied cells in random order, also when several questions that share cells must be right
together; `right` counts a tie as right, `drop` leaves the unit out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import Literal, get_args

import numpy as np

from tellapart.errors import UnknownName
from tellapart.types import Bools, Floats

TieRule = Literal["wrong", "half", "right", "drop"]
TIE_VALUES = {"wrong": 0.0, "half": 0.5, "right": 1.0, "drop": 0.0}
"""The value of a tie between one right and one wrong option."""
MAX_CELLS = 7
"""Up to this many cells, all orders are enumerated for questions that share cells."""


@dataclass(frozen=True, slots=True)
class OptionCells:
    """One question as columns of a score matrix: the right options and the wrong ones."""

    right: tuple[int, ...]
    wrong: tuple[int, ...]


def check_rule(rule: str) -> TieRule:
    """The tie rule of that name; raises if there is none."""
    if rule not in get_args(TieRule):
        raise UnknownName("rule for ties", rule, get_args(TieRule))
    return rule  # type: ignore[return-value]


def all_right(
    scores: Floats, choices: Sequence[OptionCells], rule: TieRule
) -> tuple[Floats, Bools]:
    """For each row: the value of all choices together (0 to 1), and whether a tie decides it.

    `scores` has one row per unit and one column per cell. A tie in one question does not count if
    another question is wrong anyway.
    """
    strict = np.ones(len(scores), dtype=bool)
    lenient = np.ones(len(scores), dtype=bool)
    for choice in choices:
        best_right = scores[:, choice.right].max(axis=1)
        best_wrong = scores[:, choice.wrong].max(axis=1)
        strict &= best_right > best_wrong
        lenient &= best_right >= best_wrong
    tied = strict != lenient
    value = (lenient if rule == "right" else strict).astype(float)
    if rule == "half" and tied.any():
        value[tied] = expectation(scores[tied], choices)
    return value, tied


def expectation(scores: Floats, choices: Sequence[OptionCells]) -> Floats:
    """The probability that all choices are right if tied cells are put into a random order."""
    if len(choices) == 1:
        return _single_expectation(scores, choices[0])
    used = sorted({cell for choice in choices for cell in (*choice.right, *choice.wrong)})
    if sum(len(c.right) + len(c.wrong) for c in choices) == len(used):  # no shared cells
        singles = [_single_expectation(scores, choice) for choice in choices]
        return np.asarray(np.prod(singles, axis=0), dtype=float)
    if len(used) > MAX_CELLS:
        raise NotImplementedError(f"joint ties over {len(used)} shared cells")
    total = np.zeros(len(scores))
    orders = list(permutations(range(len(used))))
    for order in orders:
        place = dict(zip(used, order, strict=True))
        total += np.logical_and.reduce([_wins(scores, choice, place) for choice in choices])
    return total / len(orders)


def _single_expectation(scores: Floats, choice: OptionCells) -> Floats:
    best = scores[:, [*choice.right, *choice.wrong]].max(axis=1, keepdims=True)
    right = (scores[:, choice.right] == best).sum(axis=1)
    wrong = (scores[:, choice.wrong] == best).sum(axis=1)
    return np.asarray(right / (right + wrong), dtype=float)


def _wins(scores: Floats, choice: OptionCells, place: dict[int, int]) -> Bools:
    """Whether a right option comes first when ties are broken by `place`."""
    options = [*choice.right, *choice.wrong]
    by_place = sorted(range(len(options)), key=lambda k: -place[options[k]])
    ordered = scores[:, [options[k] for k in by_place]]
    first_best = ordered.argmax(axis=1)  # the first of equal ones: the highest place
    is_right = np.array([k < len(choice.right) for k in by_place])
    return np.asarray(is_right[first_best], dtype=bool)


@cache
def chance_for_scorer(choices: tuple[OptionCells, ...]) -> float:
    """The probability that random scores make all choices right (2 x 2 Group: 1/6)."""
    if not choices:
        return 1.0
    cells = 1 + max(cell for choice in choices for cell in (*choice.right, *choice.wrong))
    return float(expectation(np.zeros((1, cells)), choices)[0])


def chance_for_chooser(choices: tuple[OptionCells, ...]) -> float:
    """The probability that independent random picks are all right (2 x 2 Group: 1/16)."""
    shares = [len(choice.right) / (len(choice.right) + len(choice.wrong)) for choice in choices]
    return float(np.prod(shares))

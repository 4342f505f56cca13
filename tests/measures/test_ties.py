"""Ties: what they are worth by each rule, and what chance is, worked out by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from tellapart.errors import UnknownName
from tellapart.measures.ties import (
    MAX_CELLS,
    TIE_VALUES,
    OptionCells,
    all_right,
    chance_for_chooser,
    chance_for_scorer,
    check_rule,
    expectation,
)

PAIR = (OptionCells((0,), (1,)),)
FIVE = (OptionCells((0,), (1, 2, 3, 4)),)
TWO_RIGHT = (OptionCells((0, 1), (2,)),)
# cells of a 2 x 2 grid by rows; both images, then both captions
IMAGES = (OptionCells((0,), (1,)), OptionCells((3,), (2,)))
GROUP = (*IMAGES, OptionCells((0,), (2,)), OptionCells((3,), (1,)))


@pytest.mark.parametrize(
    ("choices", "scorer", "chooser"),
    [
        ((), 1, 1),
        (PAIR, Fraction(1, 2), Fraction(1, 2)),
        (FIVE, Fraction(1, 5), Fraction(1, 5)),
        (TWO_RIGHT, Fraction(2, 3), Fraction(2, 3)),
        (IMAGES, Fraction(1, 4), Fraction(1, 4)),
        (GROUP, Fraction(1, 6), Fraction(1, 16)),
    ],
)
def test_chance_is_what_all_orders_and_all_picks_give(choices, scorer, chooser):
    assert chance_for_scorer(choices) == pytest.approx(float(scorer))
    assert chance_for_chooser(choices) == pytest.approx(float(chooser))


@pytest.mark.parametrize("choices", [PAIR, FIVE, TWO_RIGHT, IMAGES, GROUP])
def test_half_is_the_share_of_orders_of_tied_cells_that_are_right(choices):
    cells = 1 + max(cell for one in choices for cell in (*one.right, *one.wrong))
    for row in product((0.0, 1.0), repeat=cells):
        right = orders = 0
        for order in permutations(range(cells)):  # ties broken by a random order
            key = [(row[k], order[k]) for k in range(cells)]
            orders += 1
            right += all(
                max(key[k] for k in one.right) > max(key[k] for k in one.wrong) for one in choices
            )
        found = expectation(np.array([row]), choices)
        assert found.tolist() == pytest.approx([right / orders]), row


@pytest.mark.parametrize("choices", [PAIR, FIVE, TWO_RIGHT, IMAGES, GROUP])
def test_rows_are_worth_what_each_is_alone(choices):
    cells = 1 + max(cell for one in choices for cell in (*one.right, *one.wrong))
    rows = np.array(list(product((0.0, 1.0), repeat=cells)))
    alone = [float(expectation(row[None], choices)[0]) for row in rows]
    assert expectation(rows, choices).tolist() == alone and len(set(alone)) > 2


@pytest.mark.parametrize(
    ("rule", "values"),
    [("wrong", [1, 0, 0]), ("half", [1, 0.5, 0]), ("right", [1, 1, 0]), ("drop", [1, 0, 0])],
)
def test_a_tie_is_worth_what_its_rule_says(rule, values):
    scores = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    value, tied = all_right(scores, PAIR, rule)
    assert TIE_VALUES[rule] == values[1]
    assert value.tolist() == values and tied.tolist() == [False, True, False]


def test_a_tie_beside_an_error_decides_nothing():
    scores = np.array([[1.0, 1.0, 5.0, 0.0], [1.0, 1.0, 0.0, 5.0]])
    value, tied = all_right(scores, IMAGES, "half")
    assert value.tolist() == [0.0, 0.5] and tied.tolist() == [False, True]


def test_shared_cells_are_gone_through_up_to_a_number():
    def chain(cells):
        return tuple(OptionCells((k,), (k + 1,)) for k in range(cells - 1))

    assert expectation(np.zeros((1, MAX_CELLS)), chain(MAX_CELLS))[0] == pytest.approx(1 / 5040)
    with pytest.raises(NotImplementedError, match="8 shared cells"):
        expectation(np.zeros((1, 8)), chain(8))
    apart = tuple(OptionCells((2 * k,), (2 * k + 1,)) for k in range(5))
    assert expectation(np.zeros((2, 10)), apart).tolist() == pytest.approx([1 / 32] * 2)


def test_a_rule_that_nobody_knows_is_named():
    assert check_rule("half") == "half"
    with pytest.raises(UnknownName, match="rule for ties"):
        check_rule("most")

"""Shares of groups drawn towards their mean."""

from __future__ import annotations

import numpy as np
import pytest
from soak.analyses import coverage, groups

from tellapart.stats.shrinkage import shrunk_shares


def test_one_right_answer_does_not_beat_ninety_five_of_a_hundred():
    right = np.array([1.0, 95.0, 40.0, 10.0, 60.0])
    asked = np.array([1.0, 100.0, 100.0, 100.0, 100.0])
    found = shrunk_shares(right, asked)
    assert found.value[0] < found.value[1] and found.p < 1e-6
    assert found.value[1:] == pytest.approx(right[1:] / asked[1:], abs=0.03)
    assert found.low[0] < 0.3 and found.high[0] > 0.9, "one answer leaves almost everything open"


def test_groups_that_do_not_differ_are_said_to_be_alike():
    rng = np.random.default_rng(0)
    asked = np.full(40, 25.0)
    found = [shrunk_shares(rng.binomial(25, 0.6, 40).astype(float), asked) for _ in range(40)]
    assert sum(one.p < 0.05 for one in found) <= 5
    assert all(abs(one.mean - 0.6) < 0.06 for one in found)


def test_intervals_hold_the_true_shares_of_groups():
    assert coverage(groups, range(10))["by, shrunk shares"] > 0.9


def test_all_right_is_no_certainty():
    found = shrunk_shares(np.array([3.0, 2.0]), np.array([3.0, 2.0]))
    assert (found.value > 0.8).all() and (found.low < 0.85).all() and found.p == 1.0

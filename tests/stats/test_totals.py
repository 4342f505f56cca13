"""Statistics of totals: resampled and swapped sums against obvious slow versions."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tellapart.seeds import rng
from tellapart.stats.differences import EXACT_CLUSTERS, sign_flip_p
from tellapart.stats.intervals import expanded_tail
from tellapart.stats.totals import Swapped, interval_of, resampled_totals


def ratio(totals):
    """A score that is no mean: a ratio of sums."""
    return totals[..., 0] / totals[..., 1]


def test_resampled_totals_are_sums_of_whole_units():
    features = np.array([[1.0, 10.0], [2.0, 20.0], [4.0, 40.0]])
    totals = resampled_totals(features, rng(0), 500)
    assert totals.shape == (500, 2)
    assert (totals[:, 1] == 10 * totals[:, 0]).all()  # columns share the units drawn
    possible = {sum(drawn) for drawn in product([1.0, 2.0, 4.0], repeat=3)}
    assert set(totals[:, 0]) <= possible and len(set(totals[:, 0])) > 8
    assert totals[:, 0].mean() == pytest.approx(7, abs=0.3)


def test_an_interval_of_a_mean_is_near_the_normal_one():
    values = rng(1).normal(5, 2, size=400)
    features = np.stack([values, np.ones(400)], axis=1)
    low, high = interval_of(ratio(resampled_totals(features, rng(2), 4_000)), 400)
    half = 1.96 * values.std(ddof=1) / 20
    assert low == pytest.approx(values.mean() - half, abs=0.03)
    assert high == pytest.approx(values.mean() + half, abs=0.03)


def after(first, second, swapped):
    total = first.sum(axis=0), second.sum(axis=0)
    return ratio(total[1] + swapped.gaps) - ratio(total[0] - swapped.gaps)


def test_few_units_are_swapped_in_all_ways():
    draw = rng(3)
    first = np.stack([draw.integers(0, 5, 8), draw.integers(5, 9, 8)], axis=1).astype(float)
    second = np.stack([draw.integers(0, 5, 8), draw.integers(5, 9, 8)], axis=1).astype(float)
    first[2] = second[2]  # a unit that is the same may be swapped or not: it counts once
    seen = ratio(first.sum(axis=0)) - ratio(second.sum(axis=0))
    beyond = []
    for keep in product([True, False], repeat=8):
        kept = np.array(keep)[:, None]
        one, other = np.where(kept, first, second), np.where(kept, second, first)
        gap = ratio(one.sum(axis=0)) - ratio(other.sum(axis=0))
        beyond.append(abs(gap) >= abs(seen) - 1e-12)
    swapped = Swapped.of(first - second, rng(0), 50)
    assert swapped.exact and len(swapped.gaps) == 2**7
    assert swapped.p(after(first, second, swapped), seen) == pytest.approx(np.mean(beyond))


def test_swapping_means_is_flipping_signs():
    draw = rng(4)
    first, second = draw.normal(0.1, 1, size=(2, 300))
    gaps = first - second
    features = [np.stack([x, np.ones(300)], axis=1) for x in (first, second)]
    swapped = Swapped.of(features[0] - features[1], rng(5), 20_000)
    p = swapped.p(after(*features, swapped), float(gaps.mean()))
    assert not swapped.exact
    assert p == pytest.approx(float(sign_flip_p(gaps[:, None], rng(6), 20_000)[0]), abs=0.02)


def test_the_same_on_every_unit_is_no_difference():
    features = np.ones((40, 2))
    swapped = Swapped.of(features - features, rng(0), 100)
    assert swapped.p(after(features, features, swapped), 0.0) == 1.0


def test_both_ends_of_an_interval_are_widened_for_few_units():
    drawn = np.arange(1_001.0)
    tail = expanded_tail(8)
    assert interval_of(drawn, 8) == pytest.approx((1_000 * tail, 1_000 * (1 - tail)))


def test_fourteen_units_that_differ_are_swapped_in_all_ways_and_fifteen_are_drawn():
    exact = Swapped.of(np.ones((EXACT_CLUSTERS, 2)), rng(0), 60)
    drawn = Swapped.of(np.ones((EXACT_CLUSTERS + 1, 2)), rng(0), 60)
    assert exact.exact and exact.gaps.shape == (2**14, 2)
    assert not drawn.exact and drawn.gaps.shape == (60, 2)
    # a unit counts where any of its features differs, upwards or downwards
    assert len(Swapped.of(np.array([[0.0, -1], [1, 0], [0, 0]]), rng(0), 9).gaps) == 4


def test_a_share_of_drawn_swaps_is_never_zero():
    swapped = Swapped(np.zeros((4, 1)), exact=False)
    assert swapped.p(np.array([0.1, -0.5, 0.5, 0.2]), -0.5) == 3 / 5
    assert Swapped(np.zeros((4, 1)), exact=True).p(np.array([0.1, -0.5, 0.5, 0.2]), -0.5) == 2 / 4
    assert swapped.p(np.zeros(4), 1.0) == 1 / 5

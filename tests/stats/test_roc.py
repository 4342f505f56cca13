"""Areas under the ROC curve: against slow versions, and their test's level in simulation."""

from __future__ import annotations

import numpy as np
import pytest

from tellapart import seeds
from tellapart.stats.roc import auc_difference


def test_auc_difference_equals_the_slow_areas_and_the_bootstrap_error():
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(120), 4)
    true = np.tile([True, True, False, False], 120)
    shift = rng.normal(size=120)[clusters]
    first = rng.normal(size=480) + shift + 1.0 * true
    second = rng.normal(size=480) + shift + 0.6 * true

    def area(score, where):
        yes, no = score[where][true[where]], score[where][~true[where]]
        return np.mean(yes[:, None] > no[None, :])

    found = auc_difference(first, second, true, clusters)
    everything = np.arange(480)
    assert found.first == pytest.approx(area(first, everything))
    assert found.second == pytest.approx(area(second, everything))
    drawn = []
    for _ in range(600):
        where = (rng.integers(120, size=120)[:, None] * 4 + np.arange(4)).ravel()
        drawn.append(area(first, where) - area(second, where))
    assert found.error == pytest.approx(np.std(drawn), rel=0.12)
    low, high = found.interval()
    assert low < found.difference < high and 0 < found.p < 0.05


def test_auc_test_keeps_its_level_with_clusters():
    rng = seeds.rng(0, "auc null")
    clusters = np.repeat(np.arange(80), 4)
    true = np.tile([True, True, False, False], 80)
    rejected = 0
    for _ in range(600):
        easy = rng.normal(size=(80, 2)) * 1.2
        scores = [rng.normal(size=320) + (0.7 + easy[clusters, k]) * true for k in range(2)]
        rejected += auc_difference(*scores, true, clusters).p < 0.05
    assert 0.03 <= rejected / 600 <= 0.075


def test_two_perfect_models_are_the_same_but_not_for_sure():
    true = np.tile([True, False], 10)
    score = true.astype(float)
    found = auc_difference(score, score, true, np.arange(20) // 2)
    assert (found.difference, found.error, found.p) == (0.0, 0.0, 1.0)
    low, high = found.interval()
    assert low == -high and high > 0.1

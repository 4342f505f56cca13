"""Areas under the ROC curve: against slow versions, and their test's level in simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from tellapart import seeds
from tellapart.stats.intervals import (
    effective_size,
    logit_interval,
    unchanging_interval,
    wilson,
)
from tellapart.stats.roc import (
    Area,
    AucDifference,
    auc,
    auc_difference,
    placements,
    untied_placements,
)


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


YES, NO = np.array([3.0, 1, 2, 2]), np.array([2.0, 0, 3, 5, 2])


def worth(a: float, b: float, tie: float) -> float:
    return tie if a == b else float(a > b)


@pytest.mark.parametrize("tie", [0.0, 0.5, 1.0])
def test_areas_with_ties_pair_by_pair(tie):
    table = np.array([[worth(a, b, tie) for b in NO] for a in YES])
    assert placements(YES, NO, tie) == pytest.approx(table.mean(axis=1))
    found = Area.of(YES, NO, tie)
    assert found.value == pytest.approx(table.mean())
    assert found.positive == pytest.approx(table.mean(axis=1))
    assert found.negative == pytest.approx(table.mean(axis=0))


def test_areas_without_the_pairs_that_tie():
    own = [1 - 3 / 4, 1 / 5, 1 / 3, 1 / 3]  # 3 ties with one of five, 2 with two
    own[0] = 3 / 4
    assert untied_placements(YES, NO) == pytest.approx(own)
    found = Area.of(YES, NO, None)
    assert found.value == pytest.approx(np.mean(own))
    assert found.positive == pytest.approx(own)
    # how the area moves with the weight of one negative, by a small step
    for k in range(5):

        def area(weight, k=k):
            weights = np.ones(5)
            weights[k] = weight
            return np.mean([weights[a > NO].sum() / weights[a != NO].sum() for a in YES])

        slope = (area(1 + 1e-6) - area(1 - 1e-6)) / 2e-6
        assert found.negative[k] - found.value == pytest.approx(5 * slope, abs=1e-6)


def test_a_positive_that_ties_with_all_is_left_out_and_if_all_do_nothing_is_known():
    found = Area.of(np.array([1.0, 1, 2]), np.array([1.0, 1]), None)
    assert found.value == 1.0 and found.positive.mean() == pytest.approx(1.0)
    half = Area.of(np.array([1.0, 0, 2]), np.array([1.0, 1]), None)
    assert half.value == 0.5 and half.positive == pytest.approx([0.5, -0.25, 1.25])
    nothing = Area.of(np.ones(3), np.ones(2), None)
    assert (nothing.value, nothing.positive.tolist(), nothing.negative.tolist()) == (
        0.0, [0.0] * 3, [0.0] * 2,
    )  # fmt: skip
    assert np.isnan(untied_placements(np.ones(1), np.ones(2))).all()


def slow_variance(yes, no, groups, other_groups) -> float:
    """Obuchowski 1997, with sums over clusters written out."""
    table = np.array([[worth(a, b, 0.5) for b in no] for a in yes])
    names, area = sorted({*groups, *other_groups}), table.mean()
    k, m, n = len(names), len(yes), len(no)
    x = [sum(table[i].mean() - area for i in range(m) if groups[i] == one) for one in names]
    y = [sum(table[:, j].mean() - area for j in range(n) if other_groups[j] == one)
         for one in names]  # fmt: skip
    return k / (k - 1) * sum((a / m + b / n) ** 2 for a, b in zip(x, y, strict=True))


def test_the_interval_of_an_area_by_hand():
    groups, others = np.array([7, 7, 8, 9]), np.array([8, 8, 9, 4, 7])
    area, interval = auc(YES, NO, groups, others)
    error = slow_variance(YES, NO, groups, others) ** 0.5
    assert (interval.low, interval.high) == pytest.approx(logit_interval(area, error, 3))
    assert interval.method == "Obuchowski 1997, t on the logit scale"


@pytest.mark.parametrize(
    ("yes", "groups"), [((3.0, 4), (0, 1)), ((3.0, 0), (5, 5)), ((0.0, 0.5), (0, 1))]
)
def test_an_area_at_the_end_or_in_one_cluster_has_wilsons_interval(yes, groups):
    area, interval = auc(np.array(yes), np.array([1.0, 2, 2]), np.array(groups),
                         np.array([groups[0]] * 3))  # fmt: skip
    size = effective_size(np.bincount([0] * 4 + [groups[1] - groups[0]]))
    assert (interval.low, interval.high) == pytest.approx(wilson(area, size))
    assert interval.method == "Wilson, clusters as units"


def test_a_difference_of_areas_by_hand():
    true = np.array([True, True, False, False, True, False])
    clusters = np.array([3, 3, 3, 5, 5, 9])
    first, second = np.array([3.0, 1, 2, 0, 2, 2]), np.array([1.0, 2, 2, 0, 3, 0])
    shares = np.zeros(6)
    for sign, score in ((1, first), (-1, second)):
        table = np.array([[worth(a, b, 0.5) for b in score[~true]] for a in score[true]])
        shares[true] += sign * (table.mean(axis=1) - table.mean()) / 3
        shares[~true] += sign * (table.mean(axis=0) - table.mean()) / 3
    sums = np.array([shares[:3].sum(), shares[3:5].sum(), shares[5]])
    found = auc_difference(first, second, true, clusters)
    assert found.error == pytest.approx((3 / 2 * (sums**2).sum()) ** 0.5)
    assert (found.freedom, found.size) == (2, pytest.approx(36 / 14))
    one_cluster = auc_difference(first, second, true, np.zeros(6, int))
    assert (one_cluster.error, one_cluster.freedom) == (1.0, 1)
    # the second model's ties may count otherwise
    other = auc_difference(first, second, true, clusters, 0.0, 1.0)
    assert other.first == pytest.approx(np.mean(first[true][:, None] > first[~true]))
    assert other.second == pytest.approx(np.mean(second[true][:, None] >= second[~true]))


def test_the_interval_and_the_test_of_a_difference_are_students():
    found = AucDifference(0.8, 0.7, 0.05, 30, 29)
    for level in (0.95, 0.8):
        step = student.ppf((1 + level) / 2, 29) * 0.05
        assert found.interval(level) == pytest.approx((0.1 - step, 0.1 + step))
    assert found.interval() == found.interval(0.95)
    assert (
        found.p == AucDifference(0.7, 0.8, 0.05, 30, 29).p == pytest.approx(2 * student.sf(2, 29))
    )
    assert AucDifference(1, 0, 0.5, 30, 29).interval()[1] == 1.0
    assert AucDifference(0, 1, 0.5, 30, 29).interval()[0] == -1.0


def test_a_difference_that_nothing_varies_is_judged_by_its_clusters():
    still = AucDifference(1.0, 0.5, 0.0, 4, 3)
    assert still.interval(0.9) == unchanging_interval(0.5, 4, 0.9)
    assert still.p == AucDifference(0.5, 1.0, 0.0, 4, 3).p == 2 * 0.5**4
    assert AucDifference(0.5, 0.5, 0.0, 4, 3).p == 1.0
    assert AucDifference(1.0, 0.5, 0.0, 0.5, 1).p == 1.0

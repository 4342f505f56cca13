"""Intervals: equality with the plain version, and coverage of the truth in simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from scipy.stats import t as student

from tellapart import seeds
from tellapart.stats.intervals import (
    MANY_CLUSTERS,
    RESAMPLES,
    bootstrap_totals,
    cluster_sums,
    effective_size,
    expanded_tail,
    logit_interval,
    mean_interval,
    percentile_interval,
    resampled_interval,
    resampled_values,
    strata_interval,
    student_interval,
    unchanging_interval,
    wilson,
)  # fmt: skip


def plain_bootstrap(values, clusters, rng, resamples):
    """Draw clusters one by one: the definition."""
    names = np.unique(clusters)
    means = []
    for _ in range(resamples):
        drawn = rng.choice(names, size=len(names))
        picked = np.concatenate([values[clusters == name] for name in drawn])
        means.append(picked.mean())
    return np.quantile(means, [0.025, 0.975])


def test_drawing_sorts_of_clusters_gives_the_interval_of_drawing_clusters():
    rng = np.random.default_rng(1)
    clusters = rng.integers(60, size=300)
    values = (rng.random(300) < 0.3 + 0.5 * (clusters % 2)).astype(float)
    fast = mean_interval(values, clusters, np.random.default_rng(2), 8_000)
    slow = plain_bootstrap(values, clusters, np.random.default_rng(3), 3_000)
    assert fast.low == pytest.approx(slow[0], abs=0.012)
    assert fast.high == pytest.approx(slow[1], abs=0.012)


def test_every_resample_has_as_many_clusters_as_the_sample():
    sums, counts = np.array([[1.0], [0.0], [2.0]]), np.array([[1.0], [1.0], [2.0]])
    _, drawn = bootstrap_totals(sums, counts, np.random.default_rng(0), 500)
    assert drawn.min() >= 3 and drawn.max() <= 6


def test_clusters_widen_the_interval():
    values = np.repeat([1.0, 0.0] * 20, 5)
    alone = mean_interval(values, np.arange(200), np.random.default_rng(0))
    clustered = mean_interval(values, np.repeat(np.arange(40), 5), np.random.default_rng(0))
    assert clustered.high - clustered.low > 1.8 * (alone.high - alone.low)


def test_wilson_equals_scipy():
    expected = binomtest(37, 50).proportion_ci(method="wilson")
    assert wilson(0.74, 50) == pytest.approx((expected.low, expected.high))


def test_at_100_percent_the_interval_counts_clusters_not_items():
    values = np.ones(100)
    items = mean_interval(values, np.arange(100), np.random.default_rng(0))
    clusters = mean_interval(values, np.arange(100) // 10, np.random.default_rng(0))
    assert items.high == clusters.high == 1.0
    assert items.low == pytest.approx(wilson(1.0, 100)[0])
    assert clusters.low == pytest.approx(wilson(1.0, 10)[0])
    assert effective_size(np.array([1, 1, 8])) == pytest.approx(100 / 66)


def test_macro_interval_gives_each_stratum_the_same_weight():
    strata = np.array([0] * 90 + [1] * 10)
    values = np.array([1.0] * 90 + [0.0, 1.0] * 5)
    interval = strata_interval(values, strata, np.arange(100), np.random.default_rng(0))
    assert interval.low < 0.75 < interval.high < 1


def test_cluster_sums_by_hand():
    sums, counts = cluster_sums(
        np.array([1.0, 0.5, 0.0]), np.array([0, 1, 0]), np.array([0, 0, 1]), 2
    )
    assert sums.tolist() == [[1.0, 0.5], [0.0, 0.0]]
    assert counts.tolist() == [[1.0, 1.0], [1.0, 0.0]]


@pytest.mark.parametrize("spread", [0.0, 1.2])
def test_intervals_cover_the_truth_as_often_as_they_say(spread):
    """400 samples of 80 clusters with 1 to 6 items that hang together."""
    rng = seeds.rng(0, "coverage", spread)
    population = rng.normal(size=200_000) * spread
    truth = float((1 / (1 + np.exp(-(0.4 + population)))).mean())
    covered = 0
    for _ in range(400):
        sizes = rng.integers(1, 7, size=80)
        clusters = np.repeat(np.arange(80), sizes)
        shift = (rng.normal(size=80) * spread)[clusters]
        values = (rng.random(len(clusters)) < 1 / (1 + np.exp(-(0.4 + shift)))).astype(float)
        interval = mean_interval(values, clusters, rng, 500)
        covered += interval.low <= truth <= interval.high
    assert 0.92 <= covered / 400 <= 0.98


def covered(clusters: int, accuracy: float, alike: float, rng, samples: int) -> float:
    """How often the interval holds the truth: groups of 1 to 7 items, correlated by `alike`."""
    held = 0
    for _ in range(samples):
        sizes = rng.integers(1, 8, size=clusters)
        own = rng.beta(
            accuracy * (1 - alike) / alike, (1 - accuracy) * (1 - alike) / alike, clusters
        )
        group = np.repeat(np.arange(clusters), sizes)
        values = (rng.random(len(group)) < own[group]).astype(float)
        interval = mean_interval(values, group, rng, 500)
        held += interval.low <= accuracy <= interval.high
    return held / samples


@pytest.mark.parametrize("clusters", [2, 3, 5, 10, 30])
def test_intervals_over_few_groups_cover_the_truth(clusters):
    """A percentile bootstrap holds it in 57, 74 and 85 of 100 with 2, 3 and 5 groups."""
    rng = seeds.rng(0, "few groups", clusters)
    for accuracy in (0.6, 0.75, 0.9):
        for alike in (0.01, 0.1, 0.4):
            assert covered(clusters, accuracy, alike, rng, 200) >= 0.9
    # 0.9 of 200 is what 95% may give by accident nine times over; together they must keep it
    assert np.mean([covered(clusters, a, 0.1, rng, 300) for a in (0.6, 0.75, 0.9)]) >= 0.93


def test_a_macro_average_over_strata_with_few_groups_covers_the_truth():
    """One kind has 3 groups, the other 40: the few decide how wide the interval is."""
    rng, held = seeds.rng(0, "few in a stratum"), 0
    for _ in range(400):
        strata = np.repeat([0, 1], [12, 40])
        clusters = np.concatenate([np.repeat(np.arange(3), 4), 3 + np.arange(40)])
        right = np.where(strata == 0, 0.6, 0.8)
        values = (rng.random(52) < right).astype(float)
        interval = strata_interval(values, strata, clusters, rng, 300)
        held += interval.low <= 0.7 <= interval.high
    assert held / 400 >= 0.92


def test_groups_that_are_all_alike_still_leave_doubt():
    values, clusters = np.array([1.0, 0, 1, 0]), np.array([0, 0, 1, 1])
    interval = mean_interval(values, clusters, np.random.default_rng(0))
    assert interval.low < 0.05 and interval.high > 0.95


def test_with_many_groups_the_interval_is_the_plain_bootstrap():
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(MANY_CLUSTERS), 3)
    values = (rng.random(len(clusters)) < 0.7).astype(float)
    sums, counts = cluster_sums(values, np.zeros(len(values), int), clusters, 1)
    totals, sizes = bootstrap_totals(sums, counts, np.random.default_rng(2), 1_000)
    expected = np.quantile(totals[:, 0] / sizes[:, 0], [0.025, 0.975])
    found = mean_interval(values, clusters, np.random.default_rng(2), 1_000)
    assert (found.low, found.high) == pytest.approx(tuple(expected))
    # one group less has the other interval, and nobody sees where the change is
    fewer = clusters < MANY_CLUSTERS - 1
    near = mean_interval(values[fewer], clusters[fewer], np.random.default_rng(2), 1_000)
    assert near.method != found.method
    assert near.high - near.low == pytest.approx(found.high - found.low, rel=0.1)


def test_a_statistic_that_is_no_mean_is_widened_over_few_groups():
    rng, held, narrow = seeds.rng(0, "no mean"), 0, 0
    for _ in range(200):
        group = np.repeat(np.arange(3), 4)
        values = (rng.random(12) < 0.7).astype(float)
        interval = resampled_interval(lambda rows, v=values: float(v[rows].mean()), group, rng, 200)
        drawn = plain_bootstrap(values, group, rng, 100)
        held += interval.low <= 0.7 <= interval.high
        narrow += drawn[0] <= 0.7 <= drawn[1]
    assert held / 200 >= 0.9 > narrow / 200 + 0.05


def test_percentiles_leave_the_same_share_at_both_ends():
    values = np.arange(1_001.0)
    assert percentile_interval(values) == pytest.approx((25, 975))
    assert percentile_interval(values, 0.9) == pytest.approx((50, 950))


@pytest.mark.parametrize(("level", "clusters"), [(0.95, 5), (0.9, 20)])
def test_the_expanded_tail_by_hand(level, clusters):
    tail = (1 - level) / 2
    wider = (clusters / (clusters - 1)) ** 0.5 * student.ppf(tail, clusters - 1)
    assert expanded_tail(clusters, level) == pytest.approx(norm.cdf(wider))


@pytest.mark.parametrize(("right", "level"), [(3, 0.95), (3, 0.8), (0, 0.9), (10, 0.9)])
def test_wilson_at_every_level_and_at_both_ends(right, level):
    expected = binomtest(right, 10).proportion_ci(level, method="wilson")
    low, high = wilson(right / 10, 10, level)
    assert (low, high) == pytest.approx((expected.low, expected.high))
    assert (low == 0) == (right == 0) and (high == 1) == (right == 10)


def test_a_difference_that_never_varied_by_hand():
    share = wilson(1.0, 10, 0.9)[0]
    assert unchanging_interval(0.25, 10, 0.9) == pytest.approx(
        (0.25 * share - (1 - share), 0.25 * share + (1 - share))
    )
    assert unchanging_interval(1.0, 10, 0.9) == pytest.approx((2 * share - 1, 1.0))
    assert unchanging_interval(-1.0, 10, 0.9) == pytest.approx((-1.0, 1 - 2 * share))


def test_a_step_on_the_logit_scale_by_hand():
    step = student.ppf(0.975, 7) * 0.05 / (0.8 * 0.2)
    ends = [1 / (1 + (0.2 / 0.8) * np.exp(sign * step)) for sign in (1, -1)]
    assert logit_interval(0.8, 0.05, 7) == pytest.approx(ends)


def by_hand(means, errors, freedoms, common=0.0):
    """Student's t for the mean of strata: errors added up, degrees after Satterthwaite."""
    own = np.square(errors) / len(means) ** 2
    freedom = own.sum() ** 2 / (own**2 / freedoms).sum()
    return logit_interval(float(np.mean(means)), (own.sum() + common) ** 0.5, freedom)


def test_few_clusters_of_one_stratum_by_hand():
    # clusters of 2, 2, 4: sums 2, 0, 3 of 8 units, mean 5/8
    values, clusters = np.array([1.0, 1, 0, 0, 1, 1, 1, 0]), np.array([5, 5, 7, 7, 9, 9, 9, 9])
    left = np.array([2 - 2 * 5 / 8, 0 - 2 * 5 / 8, 3 - 4 * 5 / 8]) / 8
    error = (3 / 2 * (left**2).sum()) ** 0.5
    found = mean_interval(values, clusters, np.random.default_rng(0))
    assert (found.low, found.high) == pytest.approx(by_hand([5 / 8], [error], [2]))
    same = student_interval(np.array([2.0, 0, 3]), np.array([2.0, 2, 4]))
    assert (same.low, same.high) == pytest.approx((found.low, found.high))
    assert found.method == same.method == "Student's t over clusters, logit scale"


def test_clusters_that_are_alike_by_accident_have_the_error_of_single_units():
    # every cluster has one of two right: no spread between clusters, so p (1 - p) / n
    values, clusters = np.tile([1.0, 0.0], 4), np.repeat(np.arange(4), 2)
    error = (0.5 * 0.5 / 8) ** 0.5
    found = mean_interval(values, clusters, np.random.default_rng(0))
    assert (found.low, found.high) == pytest.approx(by_hand([0.5], [error], [3]))


def test_strata_that_share_clusters_count_what_they_have_in_common():
    # two strata, three clusters with one unit of each: (1, 1), (1, 0), (0, 0)
    values = np.array([1.0, 1, 1, 0, 0, 0])
    strata, clusters = np.tile([0, 1], 3), np.repeat(np.arange(3), 2)
    left = (np.array([[1, 1], [1, 0], [0, 0]]) - [2 / 3, 1 / 3]) / 3
    errors = (3 / 2 * (left**2).sum(axis=0)) ** 0.5
    common = ((left.sum(axis=1) ** 2).sum() - (left**2).sum()) / 4
    found = strata_interval(values, strata, clusters, np.random.default_rng(0))
    expected = by_hand([2 / 3, 1 / 3], errors, [2, 2], common)
    assert (found.low, found.high) == pytest.approx(expected)


def test_a_stratum_of_one_cluster_or_without_a_mistake_has_wilsons_error():
    # stratum 0: four clusters, all right; stratum 1: one cluster of ten, half of them right
    values = np.array([1.0] * 9 + [0.0] * 5)
    strata, clusters = np.array([0] * 4 + [1] * 10), np.array([0, 1, 2, 3, *[4] * 10])
    z = norm.ppf(0.975)
    errors = [(np.diff(wilson(1.0, 4))[0]) / 2 / z, (np.diff(wilson(0.5, 1))[0]) / 2 / z]
    found = strata_interval(values, strata, clusters, np.random.default_rng(0))
    expected = by_hand([1, 0.5], errors, [3, 1])
    assert (found.low, found.high) == pytest.approx(expected)


def test_units_that_all_have_the_same_value_have_no_width():
    found = mean_interval(np.full(6, 0.5), np.arange(6), np.random.default_rng(0))
    assert (found.low, found.high, found.method) == (0.5, 0.5, "all units have the same value")


def test_one_cluster_has_wilsons_interval_with_one_unit():
    for found in (
        mean_interval(np.array([1.0, 0, 1, 1]), np.zeros(4, int), np.random.default_rng(0)),
        student_interval(np.array([3.0]), np.array([4.0])),
    ):
        assert (found.low, found.high) == pytest.approx(wilson(0.75, 1))
        assert found.method == "Wilson, clusters as units"
    perfect = student_interval(np.array([4.0, 4]), np.array([4.0, 4]))
    assert (perfect.low, perfect.high) == pytest.approx(wilson(1.0, 2))


def test_a_macro_average_of_many_clusters_is_resampled_as_a_whole():
    values = np.tile([1.0, 0.0, 0.5], MANY_CLUSTERS)
    strata = np.tile([0, 1, 1], MANY_CLUSTERS)
    clusters = np.repeat(np.arange(MANY_CLUSTERS), 3)
    values[:40] = 1 - values[:40]
    sums, counts = cluster_sums(values, strata, clusters, 2)
    totals, sizes = bootstrap_totals(sums, counts, np.random.default_rng(2), RESAMPLES)
    expected = percentile_interval((totals / sizes).mean(axis=1))
    found = strata_interval(values, strata, clusters, np.random.default_rng(2))
    assert (found.low, found.high) == pytest.approx(expected)
    assert found.method == "bootstrap over clusters, 2,000 resamples"


def test_resampled_units_come_in_whole_clusters():
    clusters = np.array([3, 1, 3, 8, 1, 1])
    drawn: list[list[int]] = []

    def noted(rows):
        drawn.append(sorted(rows.tolist()))
        return float(len(rows))

    sizes = resampled_values(noted, clusters, np.random.default_rng(0), 200)
    parts = ([1, 4, 5], [0, 2], [3])
    every = {tuple(sorted(a + b + c)) for a in parts for b in parts for c in parts}
    assert {tuple(rows) for rows in drawn} == every
    assert sizes.tolist() == [len(rows) for rows in drawn]


def test_the_interval_of_any_statistic_by_hand():
    clusters, rng = np.repeat(np.arange(4), 2), np.random.default_rng
    values = np.array([0.9, 0.7, 0.4, 0.4, 0.6, 0.2, 0.5, 0.5])

    def mean(rows):
        return float(values[rows].mean())

    found = resampled_interval(mean, clusters, rng(3), 400)
    low, high = percentile_interval(resampled_values(mean, clusters, rng(3), 400))
    wider = (4 / 3) ** 0.5 * student.ppf(0.975, 3) / norm.ppf(0.975)
    centre = values.mean()
    assert found.low == pytest.approx(max(0.0, centre - wider * (centre - low)))
    assert found.high == pytest.approx(min(1.0, centre + wider * (high - centre)))
    assert found.method == "bootstrap over clusters, 400 resamples"
    alone = resampled_interval(mean, np.zeros(8, int), rng(3), 50)
    assert (alone.low, alone.high) == (0, 1) and "one cluster" in alone.method
    certain = resampled_interval(lambda rows: float((rows % 2 == 0).mean()), clusters, rng(3))
    assert (certain.low, certain.high) == (0.5, 0.5) and "2,000" in certain.method

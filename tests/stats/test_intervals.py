"""Intervals: equality with the plain version, and coverage of the truth in simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from tellapart import seeds
from tellapart.stats.intervals import (
    MANY_CLUSTERS,
    bootstrap_totals,
    cluster_sums,
    effective_size,
    mean_interval,
    resampled_interval,
    strata_interval,
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

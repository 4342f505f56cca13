"""Rank correlations against an obvious slow version, SciPy, and what intervals promise."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

from tellapart.stats import rank_correlation
from tellapart.stats.rank_correlation import rank_correlations


def slow(x, y) -> tuple[float, float]:
    """Tau-b and tau-c pair by pair."""
    agree = ties_x = ties_y = pairs = 0
    for (a, b), (c, d) in combinations(zip(x, y, strict=True), 2):
        agree += np.sign(a - c) * np.sign(b - d)
        ties_x += a == c
        ties_y += b == d
        pairs += 1
    values = min(len(set(x)), len(set(y)))
    tau_c = 2 * agree * values / (len(x) ** 2 * (values - 1))
    return agree / ((pairs - ties_x) * (pairs - ties_y)) ** 0.5, tau_c


def drawn(seed: int, clusters: int = 20, size: int = 6, levels: int = 4):
    """Ratings that agree somewhat, the rows of a cluster more than others."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(clusters), size)
    shared = rng.normal(size=clusters)[cluster]
    x = np.round(shared + rng.normal(size=len(cluster)), 1)
    y = np.clip(np.round(shared + rng.normal(size=len(cluster)) + 1.5), 1, levels)
    return x, y, cluster


@pytest.mark.parametrize("seed", range(4))
def test_they_equal_the_slow_version_and_scipy(seed):
    x, y, cluster = drawn(seed)
    found = rank_correlations(x, y, cluster, np.random.default_rng(0))
    assert (found.tau_b.value, found.tau_c.value) == pytest.approx(slow(x, y), abs=1e-12)
    assert found.tau_b.value == pytest.approx(kendalltau(x, y, variant="b").statistic)
    assert found.tau_c.value == pytest.approx(kendalltau(x, y, variant="c").statistic)
    assert found.spearman.value == pytest.approx(spearmanr(x, y).statistic)


def test_the_jackknife_leaves_out_whole_clusters():
    x, y, cluster = drawn(7, clusters=9)
    levels = min(len(set(x)), len(set(y)))
    without = []
    for k in range(9):
        kept = cluster != k
        rows = kept.sum()
        signs = np.sign(x[kept][:, None] - x[kept]) * np.sign(y[kept][:, None] - y[kept])
        without.append(signs.sum() * levels / (rows**2 * (levels - 1)))
    error = np.sqrt(8 / 9 * ((without - np.mean(without)) ** 2).sum())
    found = rank_correlations(x, y, cluster, np.random.default_rng(0)).tau_c
    assert found.high - found.value == pytest.approx(2.306004 * error, rel=1e-6)
    assert found.value - found.low == pytest.approx(2.306004 * error, rel=1e-6)
    alone = rank_correlations(x, y, np.arange(len(x)), np.random.default_rng(0)).tau_c
    assert alone.high - alone.low < 0.8 * (found.high - found.low), "clusters count"


def test_intervals_cover_what_they_should():
    """Kendall's tau of two normals with correlation r is 2 asin(r) / pi; here r is 1/2."""
    hits, trials = 0, 200
    for seed in range(trials):
        x, y, cluster = drawn(seed, clusters=30, size=4, levels=99)
        rng = np.random.default_rng(1000 + seed)
        shared = rng.normal(size=30)[cluster]
        x, y = (shared + rng.normal(size=len(cluster)) for _ in range(2))
        found = rank_correlations(x, y, cluster, rng).tau_b
        # Pairs within a cluster share no difference: of 119 partners 3 are such.
        truth = (2 / np.pi * np.arcsin(0.5)) * 116 / 119
        hits += found.low <= truth <= found.high
    assert 0.91 <= hits / trials <= 0.99


def test_what_is_constant_correlates_with_nothing_and_one_cluster_has_no_interval():
    rng, rising = np.random.default_rng(0), np.arange(5.0)
    same = rank_correlations(np.ones(5), rising, np.arange(5), rng)
    assert same.tau_b.value == same.tau_c.value == same.spearman.value == 0
    one = rank_correlations(
        np.arange(5.0), np.arange(5.0), np.zeros(5, int), np.random.default_rng(0)
    )
    assert one.tau_b.value == one.spearman.value == 1 and one.tau_b.low is None


def test_very_many_clusters_are_put_together(monkeypatch):
    x, y, cluster = drawn(3, clusters=200)
    whole = rank_correlations(x, y, cluster, np.random.default_rng(0)).tau_b
    monkeypatch.setattr(rank_correlation, "MOST", 50)
    fewer = rank_correlations(x, y, cluster, np.random.default_rng(0)).tau_b
    assert fewer.value == whole.value and fewer.low != whole.low
    assert fewer.high - fewer.low == pytest.approx(whole.high - whole.low, rel=0.3)


def test_every_correlation_without_each_cluster_is_that_of_the_other_rows():
    x, y, cluster = drawn(11, clusters=5, size=4)
    columns = rank_correlation._Columns(*map(rank_correlation._codes, (x, y)), cluster)
    tau_b, _ = columns.kendall()
    rho = columns.spearman()
    for k in range(5):
        kept = cluster != k
        assert tau_b[1 + k] == pytest.approx(kendalltau(x[kept], y[kept]).statistic)
        assert rho[1 + k] == pytest.approx(spearmanr(x[kept], y[kept]).statistic)


def test_an_interval_stays_between_its_ends():
    x = np.array([1.0, 2, 3, 4, 5, 7, 6])
    up = rank_correlations(x, np.arange(7.0), np.arange(7), np.random.default_rng(0)).tau_b
    down = rank_correlations(-x, np.arange(7.0), np.arange(7), np.random.default_rng(0)).tau_b
    assert up.high == 1.0 and down.low == -1.0 and up.low == pytest.approx(-down.high)
    two = rank_correlations(x[:4], np.array([1.0, 3, 2, 4]), np.array([0, 0, 1, 1]),
                            np.random.default_rng(0)).tau_b  # fmt: skip
    assert (two.low, two.high) != (None, None)


def test_as_many_clusters_as_fit_are_left_alone():
    cluster = np.arange(4).repeat(2)
    assert (rank_correlation._grouped(cluster, np.random.default_rng(0)) == cluster).all()
    many = np.arange(rank_correlation.MOST)
    assert (rank_correlation._grouped(many, np.random.default_rng(0)) == many).all()
    more = rank_correlation._grouped(np.arange(2 * len(many)), np.random.default_rng(0))
    assert np.bincount(more).tolist() == [2] * len(many)

"""Paired tests: against slow versions, and their promises kept in simulation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, permutation_test

from tellapart import seeds
from tellapart.stats.differences import (
    coin_chunks,
    holm,
    mcnemar_p,
    paired_intervals,
    sign_flip_p,
    weight_chunks,
)  # fmt: skip
from tellapart.stats.intervals import expanded_tail


def slow_flip_p(sums) -> float:
    """Every way to turn signs, one by one."""
    seen = abs(sum(sums))
    totals = [abs(sum(s * x for s, x in zip(signs, sums, strict=True)))
              for signs in product([1, -1], repeat=len(sums))]  # fmt: skip
    return float(np.mean([total >= seen - 1e-9 for total in totals]))


@given(st.lists(st.sampled_from([-2, -1, -0.5, -1 / 3, 0, 1 / 6, 0.5, 1, 3]), max_size=9))
def test_exact_flips_equal_the_slow_version(sums):
    column = np.array(sums, dtype=float).reshape(-1, 1)
    assert sign_flip_p(column, np.random.default_rng(0), 10)[0] == pytest.approx(slow_flip_p(sums))


def test_drawn_flips_come_near_the_exact_p_and_scipy_says_the_same(monkeypatch):
    rng = np.random.default_rng(3)
    sums = rng.integers(1, 5, size=(12, 1)) * rng.choice([-0.5, 1, 1], size=(12, 1))
    exact = sign_flip_p(sums, rng, 1)[0]
    other = permutation_test(
        (sums[:, 0], np.zeros(12)), lambda x, y, axis: np.sum(x - y, axis=axis),
        permutation_type="samples", vectorized=True, n_resamples=np.inf,
    )  # fmt: skip
    assert exact == pytest.approx(other.pvalue)
    monkeypatch.setattr("tellapart.stats.differences.EXACT_CLUSTERS", 0)
    assert sign_flip_p(sums, rng, 100_000)[0] == pytest.approx(exact, abs=0.006)


def test_a_drawn_p_is_never_zero():
    sums = np.ones((400, 1))
    assert sign_flip_p(sums, np.random.default_rng(0), 999)[0] == 1 / 1000


def test_models_that_never_differ_have_p_one():
    assert sign_flip_p(np.zeros((30, 2)), np.random.default_rng(0), 99).tolist() == [1.0, 1.0]


def test_many_pairs_at_once_are_the_same_as_one_by_one_in_the_exact_case():
    sums = np.random.default_rng(2).integers(-2, 3, size=(10, 5)).astype(float)
    together = sign_flip_p(sums, np.random.default_rng(0), 9)
    alone = [sign_flip_p(sums[:, [k]], np.random.default_rng(0), 9)[0] for k in range(5)]
    assert together.tolist() == alone


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_equals_the_binomial_test(won, lost):
    expected = binomtest(won, won + lost).pvalue if won + lost else 1.0
    assert mcnemar_p(np.array(won), np.array(lost)) == pytest.approx(expected)


def test_weights_draw_as_many_clusters_as_there_are_whatever_the_chunks(monkeypatch):
    monkeypatch.setattr("tellapart.stats.differences._CHUNK", 50)
    parts = list(weight_chunks(20, 7, np.random.default_rng(0)))
    assert [part.start for part, _ in parts] == [0, 2, 4, 6]
    weights = np.concatenate([chunk for _, chunk in parts])
    assert weights.shape == (7, 20) and set(weights.sum(axis=1)) == {20}


def test_coins_fall_alike_whatever_the_chunks_and_one_draw_is_the_least(monkeypatch):
    whole = [part for _, part in coin_chunks(20, 5, np.random.default_rng(0))]
    assert [part.shape for part in whole] == [(5, 20)] and set(np.unique(whole[0])) == {0, 1}
    monkeypatch.setattr("tellapart.stats.differences._CHUNK", 7)
    parts = list(coin_chunks(20, 5, np.random.default_rng(0)))
    assert [(part.start, part.stop) for part, _ in parts] == [(k, k + 1) for k in range(5)]
    assert [(p.start, p.stop) for p, _ in weight_chunks(9, 3, np.random.default_rng(0))] == [
        (0, 1), (1, 2), (2, 3),
    ]  # fmt: skip


def plain_intervals(values, strata, clusters, rng, resamples):
    """Draw clusters one by one and average their units: the definition."""
    names = np.unique(clusters)
    means = []
    for _ in range(resamples):
        picked = rng.choice(names, len(names))
        drawn = np.concatenate([np.flatnonzero(clusters == name) for name in picked])
        kinds = np.unique(strata[drawn])
        means.append(np.mean([values[drawn][strata[drawn] == k].mean() for k in kinds]))
    tail = expanded_tail(len(names))
    return np.quantile(means, [tail, 1 - tail])


@pytest.mark.parametrize("n_strata", [1, 3])
def test_the_bootstrap_equals_the_plain_one(n_strata):
    rng = np.random.default_rng(5)
    clusters = rng.integers(40, size=240)
    strata = rng.integers(n_strata, size=240)
    values = rng.choice([-1.0, 0.0, 0.5, 1.0], size=240) + 0.2 * (clusters % 3 - 1)
    sums, counts = np.zeros((40, n_strata, 1)), np.zeros((40, n_strata, 1))
    np.add.at(sums, (clusters, strata, 0), values)
    np.add.at(counts, (clusters, strata, 0), 1)
    fast = paired_intervals(sums, counts, np.random.default_rng(0), 8_000)[0]
    slow = plain_intervals(values, strata, clusters, np.random.default_rng(1), 3_000)
    assert fast == pytest.approx(slow, abs=0.015)


def test_where_nothing_varies_the_interval_still_has_a_width():
    one = np.ones((50, 1, 1))
    low, high = paired_intervals(0 * one, one, np.random.default_rng(0), 100)[0]
    assert low == -high and 0.03 < high < 0.15
    low, high = paired_intervals(one, one, np.random.default_rng(0), 100)[0]
    assert high == 1.0 and 0.8 < low < 0.95
    low, high = paired_intervals(one[:1], one[:1], np.random.default_rng(0), 100)[0]
    assert low < 0 < high == 1.0


def answers(rng, clusters, spread, skill=(0.5, 0.5)):
    """Two models on clusters of 1 to 8 units; what is easy for one is so for a whole cluster."""
    sizes = rng.integers(1, 9, size=clusters)
    where = np.repeat(np.arange(clusters), sizes)
    right = []
    for level in skill:
        shift = (rng.normal(size=clusters) * spread)[where]
        right.append((rng.random(len(where)) < 1 / (1 + np.exp(-(level + shift)))).astype(float))
    return right[0] - right[1], where


def truth(skill, spread):
    normal = np.random.default_rng(0).normal(size=400_000) * spread
    means = [(1 / (1 + np.exp(-(level + normal)))).mean() for level in skill]
    return means[0] - means[1]


@pytest.mark.parametrize(("spread", "clusters"), [(0.0, 80), (1.5, 80), (1.5, 15)])
def test_paired_intervals_cover_the_true_difference(spread, clusters):
    """95% intervals cover in 93 to 97 of 100 samples, with clusters and with few of them."""
    rng, skill = seeds.rng(0, "paired coverage", spread, clusters), (0.8, 0.3)
    real, covered, samples = truth(skill, spread), 0, 1_000
    for _ in range(samples):
        gap, where = answers(rng, clusters, spread, skill)
        sums = np.bincount(where, gap).reshape(-1, 1, 1)
        counts = np.bincount(where).astype(float).reshape(-1, 1, 1)
        low, high = paired_intervals(sums, counts, rng, 1_000)[0]
        covered += low <= real <= high
    assert 0.93 <= covered / samples <= 0.97


def test_pitfall_16_sign_flips_keep_their_level_where_mcnemar_does_not():
    """Two models of equal skill, items that share images: 5% are called different, not 20%."""
    rng, samples = seeds.rng(0, "null"), 1_000
    flips, naive = [], []
    for _ in range(samples):
        gap, where = answers(rng, 60, 1.5)
        flips.append(sign_flip_p(np.bincount(where, gap)[:, None], rng, 499)[0])
        naive.append(float(mcnemar_p(np.array((gap > 0).sum()), np.array((gap < 0).sum()))))
    assert 0.035 <= np.mean(np.array(flips) < 0.05) <= 0.065
    assert np.mean(np.array(naive) < 0.05) > 0.12


def test_without_clusters_both_tests_keep_their_level():
    rng = seeds.rng(0, "null, single units")
    gaps = [rng.choice([-1.0, 0.0, 1.0], size=150, p=[0.15, 0.7, 0.15]) for _ in range(600)]
    flips = [sign_flip_p(gap[:, None], rng, 499)[0] for gap in gaps]
    naive = [float(mcnemar_p(np.array((g > 0).sum()), np.array((g < 0).sum()))) for g in gaps]
    assert np.mean(np.array(flips) < 0.05) <= 0.07
    assert np.mean(np.array(naive) < 0.05) <= 0.06


def rejected_step_by_step(p: list[float], alpha: float) -> set[int]:
    """Holm 1979: test the smallest at alpha/m, the next at alpha/(m-1), ... until one fails."""
    rejected: set[int] = set()
    for step, k in enumerate(sorted(range(len(p)), key=lambda k: p[k])):
        if p[k] > alpha / (len(p) - step):
            break
        rejected.add(k)
    return rejected


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=12),
    st.sampled_from([0.01, 0.05, 0.2]),
)
def test_adjusted_values_reject_what_the_procedure_rejects(p, alpha):
    adjusted = holm(np.array(p))
    clear = np.abs(adjusted - alpha) > 1e-12  # on the line itself rounding decides
    expected = rejected_step_by_step(p, alpha)
    got = {k for k in range(len(p)) if adjusted[k] <= alpha}
    assert {k for k in got if clear[k]} == {k for k in expected if clear[k]}


def test_by_hand_and_against_statsmodels():
    p = np.array([0.01, 0.02, 0.03, 0.005, 0.9])
    assert holm(p) == pytest.approx([0.04, 0.06, 0.06, 0.025, 0.9])
    statsmodels = pytest.importorskip("statsmodels.stats.multitest")
    assert holm(p) == pytest.approx(statsmodels.multipletests(p, method="holm")[1])


def test_one_test_needs_no_correction_and_none_makes_no_trouble():
    assert holm(np.array([0.03])).tolist() == [0.03]
    assert holm(np.zeros(0)).tolist() == []


def test_holm_never_ranks_a_larger_p_before_a_smaller_one():
    # 4 x 0.01 = 0.04, then 3 x 0.02 = 0.06, then 2 x 0.02 = 0.04: without the running maximum the
    # third would come out below the second.
    p = np.array([0.02, 0.9, 0.01, 0.02])
    assert holm(p) == pytest.approx([0.06, 0.9, 0.04, 0.06])
    rng = np.random.default_rng(0)
    for _ in range(50):
        drawn = rng.random(6) ** 3
        adjusted = holm(drawn)[np.argsort(drawn)]
        slow = [max((6 - k) * sorted(drawn)[k] for k in range(j + 1)) for j in range(6)]
        assert adjusted == pytest.approx(np.minimum(slow, 1.0))
        assert (np.diff(adjusted) >= 0).all()

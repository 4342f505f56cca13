"""Agreement: against definitions written out, other libraries, and the coverage of intervals."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellapart.errors import BadInput
from tellapart.stats.agreement import (
    bootstrap_statistic,
    cohen_kappa,
    error_overlap,
    fleiss_kappa,
    krippendorff_alpha,
    ordinal_alpha,
    raw_agreement,
)
from tellapart.stats.differences import weight_chunks
from tellapart.stats.intervals import expanded_tail


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def value_of(coefficient, ratings) -> float:
    ratings = np.asarray(ratings)
    return coefficient(ratings, np.arange(len(ratings)), rng(), 50).value


def slow_alpha(ratings) -> float:
    """Krippendorff's alpha by all pairs of ratings: 1 - observed / expected disagreement."""
    units = [[r for r in row if r >= 0] for row in ratings]
    units = [row for row in units if len(row) > 1]
    n = sum(map(len, units))
    observed = sum(
        2 * sum(a != b for a, b in combinations(row, 2)) / (len(row) - 1) for row in units
    )
    flat = [r for row in units for r in row]
    expected = 2 * sum(a != b for a, b in combinations(flat, 2)) / (n - 1)
    return 1 - observed / expected


def slow_cohen(ratings) -> float:
    seen = np.mean([a == b for a, b in ratings])
    one, other = ([row[k] for row in ratings] for k in (0, 1))
    by_chance = sum(one.count(c) * other.count(c) for c in set(one)) / len(ratings) ** 2
    return (seen - by_chance) / (1 - by_chance)


TABLE = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.integers(0, 2), min_size=raters, max_size=raters), min_size=3, max_size=12
    )
)


@given(TABLE, st.randoms(use_true_random=False))
def test_alpha_equals_the_count_of_pairs_also_where_ratings_are_missing(ratings, random):
    ratings = [[-1 if random.random() < 0.2 else r for r in row] for row in ratings]
    used = {r for row in ratings if sum(r >= 0 for r in row) > 1 for r in row if r >= 0}
    if len(used) < 2:
        with pytest.raises(BadInput):
            value_of(krippendorff_alpha, ratings)
    else:
        assert value_of(krippendorff_alpha, ratings) == pytest.approx(slow_alpha(ratings))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=2, max_size=15))
def test_cohen_equals_its_definition(ratings):
    if len({r for row in ratings for r in row}) < 2:
        with pytest.raises(BadInput):
            value_of(cohen_kappa, ratings)
    else:
        assert value_of(cohen_kappa, ratings) == pytest.approx(slow_cohen(ratings))


# Fleiss 1971, as in many textbooks: 10 subjects, 14 raters, 5 categories; kappa = 0.210
FLEISS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip


def test_fleiss_gives_the_known_example():
    ratings = [[c for c, k in enumerate(row) for _ in range(k)] for row in FLEISS]
    assert value_of(fleiss_kappa, ratings) == pytest.approx(0.210, abs=0.0005)


# Krippendorff 2011, section C: four observers, twelve units, 0 for missing
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
    [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
]


def test_krippendorff_gives_the_known_examples_by_name_and_by_order():
    ratings = np.array(OBSERVERS).T - 1
    assert value_of(krippendorff_alpha, ratings) == pytest.approx(0.743, abs=0.0005)
    assert value_of(ordinal_alpha, ratings) == pytest.approx(0.815, abs=0.0005)


def test_units_with_one_rating_have_nothing_to_say():
    some = [[0, 1], [1, 1], [2, 2], [0, 0]]
    more = [*some, [2, -1], [-1, 0], [-1, -1]]
    for coefficient in (krippendorff_alpha, ordinal_alpha, raw_agreement, cohen_kappa):
        found = coefficient(np.array(more), np.arange(7), rng(), 50)
        alone = coefficient(np.array(some), np.arange(4), rng(), 50)
        assert found == alone and found.n == 4


def test_an_interval_is_that_of_totals_over_drawn_clusters():
    features = np.array([[1.0, 2], [0, 2], [2, 3], [0, 1], [0, 1]])
    clusters, draws = np.array([4, 4, 6, 9, 9]), 300

    def share(totals):
        return np.asarray(totals[..., 0] / totals[..., 1])

    sums = np.array([[1.0, 4], [2, 3], [0, 2]])
    drawn = np.concatenate([share(w @ sums) for _, w in weight_chunks(3, draws, rng())])
    for level in (0.95, 0.8):
        tail = expanded_tail(3, level)
        found = bootstrap_statistic(features, clusters, share, rng(), draws, level)
        assert found == pytest.approx(tuple(np.quantile(drawn, [tail, 1 - tail])))
    usual = bootstrap_statistic(features, clusters, share, rng(), draws)
    assert usual == bootstrap_statistic(features, clusters, share, rng(), draws, 0.95)
    alone = bootstrap_statistic(features, np.zeros(5, int), share, rng(), draws)
    assert alone == pytest.approx((3 / 9, 3 / 9))


def test_resamples_in_which_nothing_can_be_said_are_left_out():
    # without the unit that differs, agreement beyond chance is not defined: one in four draws
    found = cohen_kappa(np.array([[0, 0], [1, 1]]), np.arange(2), rng(), 200)
    assert (found.value, found.low, found.high) == (1, 1, 1)


@pytest.mark.parametrize(
    "coefficient", [raw_agreement, cohen_kappa, fleiss_kappa, krippendorff_alpha, ordinal_alpha]
)
def test_two_thousand_resamples_unless_told(coefficient):
    ratings = rng().integers(0, 3, size=(12, 2))
    assert coefficient(ratings, np.arange(12), rng()) == coefficient(
        ratings, np.arange(12), rng(), 2_000
    )


def test_raw_agreement_is_the_share_of_like_pairs():
    assert value_of(raw_agreement, [[0, 0, 1], [2, 2, 2], [1, -1, -1]]) == pytest.approx(4 / 6)


def test_other_libraries_say_the_same():
    ratings = rng().integers(0, 3, size=(40, 4))
    ratings[:, 1] = np.where(rng().random(40) < 0.6, ratings[:, 0], ratings[:, 1])
    irr = pytest.importorskip("statsmodels.stats.inter_rater")
    counts, _ = irr.aggregate_raters(ratings)
    assert value_of(fleiss_kappa, ratings) == pytest.approx(irr.fleiss_kappa(counts))
    table = np.zeros((3, 3))
    np.add.at(table, (ratings[:, 0], ratings[:, 1]), 1)
    assert value_of(cohen_kappa, ratings[:, :2]) == pytest.approx(irr.cohens_kappa(table).kappa)
    krippendorff = pytest.importorskip("krippendorff")
    gaps = np.where(rng().random(ratings.shape) < 0.2, np.nan, ratings)
    expected = krippendorff.alpha(reliability_data=gaps.T, level_of_measurement="nominal")
    ours = np.where(np.isnan(gaps), -1, gaps).astype(int)
    assert value_of(krippendorff_alpha, ours) == pytest.approx(expected)
    expected = krippendorff.alpha(reliability_data=gaps.T, level_of_measurement="ordinal")
    assert value_of(ordinal_alpha, ours) == pytest.approx(expected)


def test_fleiss_refuses_missing_ratings_and_cohen_three_raters():
    with pytest.raises(BadInput, match="Fleiss"):
        value_of(fleiss_kappa, [[0, -1], [1, 1]])
    with pytest.raises(BadInput, match="2 raters"):
        value_of(cohen_kappa, [[0, 0, 1]])
    with pytest.raises(BadInput, match="two ratings"):
        value_of(raw_agreement, [[0, -1], [-1, -1]])


@pytest.mark.parametrize("coefficient", [cohen_kappa, fleiss_kappa, krippendorff_alpha])
def test_intervals_over_clusters_cover_the_truth(coefficient):
    """Two raters who agree by 0.6 beyond chance; whole clusters are easy or hard."""
    draw = np.random.default_rng(7)

    def sample(clusters: int) -> tuple[np.ndarray, np.ndarray]:
        which = np.repeat(np.arange(clusters), 4)
        same = draw.random(len(which)) < np.where(draw.random(clusters) < 0.5, 0.95, 0.25)[which]
        first = draw.integers(0, 3, size=len(which))
        second = np.where(same, first, draw.integers(0, 3, size=len(which)))
        return np.stack([first, second], axis=1), which

    hits = 0
    for _ in range(300):
        ratings, which = sample(60)
        found = coefficient(ratings, which, draw, 300)
        hits += found.low <= 0.6 <= found.high
    assert 0.92 <= hits / 300 <= 0.98


def test_errors_in_common_and_by_chance():
    first = np.array([0.0, 0, 0, 1, 1, 1, 1, 1])
    second = np.array([0.0, 0, 1, 0, 1, 1, 1, 1])
    found = error_overlap(first, second, np.arange(8), rng(), 500)
    assert (found.first, found.second, found.both) == (3 / 8, 3 / 8, 2 / 8)
    assert found.expected == pytest.approx(9 / 64)
    assert found.excess.value == pytest.approx(2 / 8 - 9 / 64)
    assert found.of_errors == pytest.approx(2 / 4)
    assert found.excess.low <= found.excess.value <= found.excess.high


def test_models_that_never_err_have_no_errors_in_common():
    found = error_overlap(np.ones(5), np.ones(5), np.arange(5), rng(), 50)
    assert (found.both, found.of_errors, found.excess.value) == (0, 0, 0)


def test_errors_count_by_how_much_they_are_wrong_and_two_thousand_times():
    first, second = np.array([0.5, 1, 0, 0.25]), np.array([0.0, 1, 0.5, 1])
    found = error_overlap(first, second, np.arange(4), rng())
    assert (found.first, found.second, found.both) == (2.25 / 4, 1.5 / 4, 1 / 4)
    assert found.of_errors == 1 / (2.25 + 1.5 - 1)
    assert found == error_overlap(first, second, np.arange(4), rng(), 2_000)

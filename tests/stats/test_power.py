"""Sample sizes: against simulation, by hand, and against the scale of what is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from tellapart.errors import BadInput
from tellapart.stats.power import Needed, detectable, difference_error, needed, needed_before


def test_connor_by_hand():
    # (1.96 * sqrt(0.2) + 0.8416 * sqrt(0.2 - 0.0004))^2 / 0.0004
    z_alpha, z_beta = norm.ppf(0.975), norm.ppf(0.8)
    by_hand = (z_alpha * 0.2**0.5 + z_beta * (0.2 - 0.02**2) ** 0.5) ** 2 / 0.02**2
    assert needed_before(0.02, 0.2).units == int(np.ceil(by_hand)) == 3_923


def test_clusters_that_hang_together_make_more_units_needed():
    alone = needed_before(0.05, 0.3)
    clustered = needed_before(0.05, 0.3, cluster_size=5, correlation=0.25)
    assert clustered.units == pytest.approx(2 * alone.units, abs=2)
    assert clustered.clusters == pytest.approx(clustered.units / 5, abs=1)


def test_the_promised_power_is_there():
    """With the units that were called needed, the paired test finds the difference in 80%."""
    difference, discordance = 0.08, 0.3
    n = needed_before(difference, discordance).units
    rng = np.random.default_rng(4)
    better, worse = (discordance + difference) / 2, (discordance - difference) / 2
    won, lost, _ = rng.multinomial(n, [better, worse, 1 - discordance], size=4_000).T
    found = np.abs(won - lost) / np.sqrt(np.maximum(won + lost, 1)) > norm.ppf(0.975)
    assert 0.78 <= found.mean() <= 0.82


def test_needed_from_what_was_seen_scales_with_the_error():
    z = norm.ppf(0.975) + norm.ppf(0.8)
    # an error just right for the difference: what is there is enough
    assert needed(0.1, 0.1 / z, 500, 100) == Needed(500, 100)
    assert needed(0.1, 0.2 / z, 500, 100) == Needed(2_000, 400)
    assert needed(-0.05, 0.1 / z, 500, 100) == Needed(2_000, 400)
    assert detectable(0.1 / z) == pytest.approx(0.1)


def test_pitfall_16_the_error_counts_clusters_and_agrees_with_simulation():
    rng = np.random.default_rng(1)

    def sample() -> tuple[np.ndarray, np.ndarray]:
        sizes = rng.integers(1, 8, size=60)
        shift = rng.normal(0, 0.3, size=60)
        sums = np.array(
            [(rng.normal(0.1 + s, 0.5, size=k)).sum() for s, k in zip(shift, sizes, strict=True)]
        )
        return sums, sizes.astype(float)

    samples = [sample() for _ in range(1_500)]
    means = [sums.sum() / sizes.sum() for sums, sizes in samples]
    errors = [difference_error(*one) for one in samples]
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(np.std(means), rel=0.06)


def test_the_error_of_single_units_is_the_textbook_one():
    values = np.array([1.0, 0.0, -1.0, 1.0, 1.0, 0.0])
    expected = values.std(ddof=1) / np.sqrt(len(values))
    assert difference_error(values, np.ones(6)) == pytest.approx(expected)


def test_the_error_of_a_macro_average_by_hand():
    # two strata in clusters of their own: variances of the two means add up, halved twice
    a, b = np.array([1.0, 0.0, 0.0, 1.0, 1.0]), np.array([0.0, -1.0, 1.0])
    sums = np.zeros((8, 2))
    sums[:5, 0], sums[5:, 1] = a, b
    counts = np.zeros((8, 2))
    counts[:5, 0], counts[5:, 1] = 1, 1
    variance = (a.var() / 5 + b.var() / 3) / 4 * 8 / 7
    assert difference_error(sums, counts) == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: needed(0.0, 0.1, 10, 10),
        lambda: needed_before(0.3, 0.2),
        lambda: needed_before(-0.3, 0.2),
        lambda: needed_before(0.3, 1.01),
        lambda: needed_before(0.1, 0.2, power=1.0),
        lambda: needed_before(0.1, 0.2, power=0.0),
        lambda: needed_before(0.1, 0.2, alpha=1.0),
        lambda: needed(0.1, 0.2, 10, 10, alpha=0.0),
        lambda: needed(0.1, 0.2, 10, 10, alpha=1.5),
        lambda: difference_error(np.ones(1), np.ones(1)),
    ],
)
def test_what_cannot_be_asked_is_said(wrong):
    with pytest.raises(BadInput):
        wrong()


def test_what_can_just_be_asked_is_answered():
    # every unit that differs goes one way: discordance equal to the difference, or 1
    z_alpha, z_beta = norm.ppf(0.975), norm.ppf(0.8)
    for difference, discordance in ((0.2, 0.2), (-0.2, 0.2), (0.5, 1.0)):
        spread = (discordance - difference**2) ** 0.5
        by_hand = ((z_alpha * discordance**0.5 + z_beta * spread) / difference) ** 2
        assert needed_before(difference, discordance).units == int(np.ceil(by_hand))
    two = difference_error(np.array([1.0, 0.0]), np.array([2.0, 2.0]))
    assert two == pytest.approx((2 * 2 * 0.125**2) ** 0.5)


def test_another_level_and_another_power_by_hand():
    z_alpha, z_beta = norm.ppf(0.95), norm.ppf(0.9)
    assert detectable(0.05, alpha=0.1, power=0.9) == pytest.approx(0.05 * (z_alpha + z_beta))
    factor = ((z_alpha + z_beta) * 0.05 / 0.1) ** 2
    assert needed(0.1, 0.05, 100, 30, alpha=0.1, power=0.9) == Needed(
        int(np.ceil(100 * factor)), int(np.ceil(30 * factor))
    )
    by_hand = ((z_alpha * 0.3**0.5 + z_beta * (0.3 - 0.01) ** 0.5) / 0.1) ** 2
    found = needed_before(0.1, 0.3, cluster_size=3, correlation=0.2, alpha=0.1, power=0.9)
    assert found == Needed(int(np.ceil(1.4 * by_hand)), int(np.ceil(1.4 * by_hand / 3)))

"""The mixed regression against lme4 and against matrices that are written out."""

from __future__ import annotations

import numpy as np
import pytest
from soak.analyses import EFFECTS, ours, planted

from tellapart.errors import BadInput
from tellapart.stats.mixed_logit import _Problem, fit_mixed_logit, rescaled

LME4 = (0.2927261, -0.5167654, -0.05004649, 0.2963747, 0.5328009, 0.1321029)
"""glmer of lme4 1.1-31 on the data below: intercept, three effects, spreads of pair, category."""


@pytest.fixture(scope="module")
def fit():
    return fit_mixed_logit(*planted(0, 500, 25))


def test_effects_and_spreads_are_those_of_lme4(fit):
    assert ours(fit) == pytest.approx(LME4, abs=2e-3)


def test_intervals_hold_what_was_planted(fit):
    for term, truth in zip(fit.terms[1:], EFFECTS[1:], strict=True):
        assert term.low < truth < term.high
    assert fit.terms[2].p > 0.2, "no effect was planted in the second fact"
    assert fit.spreads[0].low < 0.7 < fit.spreads[0].high
    assert fit.spreads[1].low == 0 < fit.spreads[1].high


def test_facts_of_levels_have_as_many_degrees_of_freedom_as_there_are_levels(fit):
    assert [one.freedom for one in fit.terms] == [3, 21, 21, 496]


def test_without_random_effects_it_is_a_plain_regression():
    right, facts, _ = planted(3, 400)
    place = np.zeros(4)
    for _ in range(20):
        share = 1 / (1 + np.exp(-(facts @ place)))
        curve = (facts * (share * (1 - share))[:, None]).T @ facts
        place += np.linalg.solve(curve, facts.T @ (right - share))
    found = fit_mixed_logit(right, facts, [])
    assert [one.value for one in found.terms] == pytest.approx(place, abs=1e-3)
    errors = np.sqrt(np.diag(np.linalg.inv(curve)))
    assert [one.error for one in found.terms] == pytest.approx(errors, rel=0.02)
    assert found.spreads == ()


def test_the_curvature_is_that_of_the_loss():
    """The sums level by level, against the whole matrix written out."""
    right, facts, factors = planted(1, 60, 5)
    problem = _Problem(right, facts, (factors[1], factors[0]))
    rng = np.random.default_rng(0)
    size = facts.shape[1] + sum(problem.levels)
    place, penalty = rng.normal(size=size), rng.uniform(0.5, 2, size=size)
    dummies = [np.eye(n)[codes] for codes, n in zip(problem.factors, problem.levels, strict=True)]
    whole = np.concatenate([facts, *dummies], axis=1)
    share = 1 / (1 + np.exp(-(whole @ place)))
    curve = (whole * (share * (1 - share))[:, None]).T @ whole + np.diag(penalty)
    slope = whole.T @ (right - share) - penalty * place
    logit = problem._loss(place, penalty)[1]
    found_slope, found = problem._shape(logit, place, penalty)
    assert found_slope == pytest.approx(slope)
    assert found.solve(slope) == pytest.approx(np.linalg.solve(curve, slope))
    p = facts.shape[1]
    assert found.log_det(p) == pytest.approx(np.linalg.slogdet(curve[p:, p:])[1])


def test_other_units_of_a_fact_change_its_effect_alike(fit):
    other = rescaled(fit.terms[1], -2.0)
    assert other.value == pytest.approx(-2 * fit.terms[1].value)
    assert other.low < other.value < other.high and other.p == fit.terms[1].p


@pytest.mark.parametrize(
    ("right", "facts", "told"),
    [
        (np.ones(30), np.ones((30, 1)), "every answer is right"),
        (np.full(30, 0.5), np.ones((30, 1)), "every answer is worth the same"),
        (np.arange(30) % 2, np.ones((30, 2)), "the same for all rows"),
    ],
)
def test_what_cannot_be_fitted_is_said(right, facts, told):
    with pytest.raises(BadInput, match=told):
        fit_mixed_logit(right.astype(float), facts, [])

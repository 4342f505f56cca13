"""Holm's correction against its definition, step by step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellapart.stats.multiple import holm


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

"""The campaign of self-critical training, small."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

from soak.self_critical import Campaign, gain
from tests.models.small import one_thread

SMALL = Campaign(
    scenes=60, held_out=20, system="showtell",
    first=("width=32", "epochs=5", "least=1", "rate=0.02", "batch=20"),
    second=("epochs=4", "rate=0.005", "batch=20"),
)  # fmt: skip


def test_the_second_stage_is_judged_against_the_first(tmp_path):
    with one_thread():
        pair = gain(SMALL, 0, tmp_path)
    assert (pair.first, pair.second) == ("second", "first") and pair.images == 20
    assert pair.difference == pytest.approx(pair.first_value - pair.second_value)
    assert pair.second_value > 0 and pair.won + pair.lost > 0, "both write, and differently"
    assert pair.low <= pair.difference <= pair.high

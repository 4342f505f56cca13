"""The campaign on order of words, in small: it runs, and ConvNet+BoW ties by construction."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

from soak.bison_systems import means
from soak.systems import OTHER, SWAPPED, WorldPlan, figures, runs_of, same_words, table_text
from tests.models.small import one_thread


def test_words_in_another_order_tie_for_a_bag_of_words_and_not_for_a_reader(tmp_path):
    plan = WorldPlan(
        scenes=60,
        items=28,
        seeds=1,
        systems=("convnet-bow", "convnet-bigru"),
        changes=("least=1", "epochs=1", "batch=64", "joint=16", "hidden=16"),
        others=6,
    )
    with one_thread():
        bench, runs = runs_of(plan, tmp_path)
        found = figures(bench, runs)
    assert len(bench) == len(same_words(bench)) + 6
    assert found["convnet-bow"][SWAPPED].ties == 1
    assert found["convnet-bow"][SWAPPED].mean == 50
    assert found["convnet-bow"][OTHER].ties < 1
    assert found["convnet-bigru"][SWAPPED].ties == 0
    assert "convnet-bigru" in table_text(found)
    lines = means(tmp_path, "I2T")
    assert [line.partition(":")[0] for line in lines] == ["convnet-bigru", "convnet-bow"]
    assert all("validation rsum" in line for line in lines)

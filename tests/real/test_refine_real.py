"""Refining SugarCrepe itself, by n-gram models of its own captions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tellapart as ta
from tellapart.mine.refine import TABLE, RefineOptions, refine
from tellapart.mine.refining.report import SHORTER, Refinement
from tellapart.mine.refining.scored import scored
from tellapart.mine.refining.steps import KEPT, Recipe


@pytest.fixture(scope="module")
def told(real_data, tmp_path_factory) -> tuple[Refinement, pl.DataFrame]:
    folder = tmp_path_factory.mktemp("sugarcrepe")
    whole = ta.get("sugarcrepe", sorted((real_data / "sugarcrepe").glob("*.json")), folder / "all")
    options = RefineOptions("blind", "blind?order=2", Recipe(keep=1, bins=10))
    made = refine(whole, folder / "refined", options)
    assert len(ta.load_benchmark(folder / "refined").items) == made.line("all", "refined").items
    return made, pl.read_parquet(folder / "refined" / TABLE)


def test_every_row_of_sugarcrepe_is_accounted_for(told):
    made, rows = told
    assert made.line("all", "given").items == 7_511 == rows.height
    refined = made.line("all", "refined").items
    assert refined + sum(made.left_out.values()) == 7_511
    assert refined > 4_000 and made.left_out["duplicate"] >= 6


def test_the_fitted_part_tells_exactly_nothing_and_the_other_nothing_beyond_chance(told):
    made, rows = told
    kept = rows.filter((pl.col("outcome") == KEPT) & ~pl.col("held_out"))
    fitted = scored(kept, Path(TABLE))
    for code, kind in enumerate(fitted.kinds):
        gaps = fitted.scores[:, fitted.kind == code, 0] - fitted.scores[:, fitted.kind == code, 1]
        assert (np.sign(gaps).sum(axis=1) == 0).all(), kind
    before, after = made.line("all", "given"), made.line("all", "refined")
    for score in ("plausibility", "grammar"):
        assert before.guesses[score] > 0.5 + 3 * before.by_chance
        assert abs(after.guesses[score] - 0.5) < 1.5 * after.by_chance


def test_additions_stay_guessable_by_length(told):
    made, _ = told
    assert made.line("add-object", "refined").guesses[SHORTER] > 0.95
    assert abs(made.line("replace-object", "given").guesses[SHORTER] - 0.5) < 0.05

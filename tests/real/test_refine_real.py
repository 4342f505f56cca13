"""Refining SugarCrepe itself, by n-gram models of its own captions."""

from __future__ import annotations

import polars as pl
import pytest

import tellapart as ta
from tellapart.mine.negative_scores import SCORES
from tellapart.mine.refinement import SHORTER, Refinement
from tellapart.verbs.benchmarks.refine import TABLE, RefineOptions, refine


@pytest.fixture(scope="module")
def told(sugarcrepe, tmp_path_factory) -> tuple[Refinement, pl.DataFrame]:
    folder = tmp_path_factory.mktemp("refined")
    options = RefineOptions(plausibility="blind", grammar="blind?order=2", keep=1, bins=10)
    made = refine(sugarcrepe, folder / "refined", options)
    assert len(ta.load_benchmark(folder / "refined").items) == made.kept
    assert isinstance(made.report, Refinement)
    return made.report, pl.read_parquet(folder / "refined" / TABLE)


def test_every_row_of_sugarcrepe_is_accounted_for(told):
    made, rows = told
    assert made.line("all", "given").items == 7_511 == rows.height
    refined = made.line("all", "refined").items
    assert refined + sum(made.left_out.values()) == 7_511
    assert refined > 4_000 and made.left_out["duplicate"] >= 6


def test_the_scores_tell_a_lot_before_and_nothing_beyond_chance_after(told):
    made, _ = told
    before, after = made.line("all", "given"), made.line("all", "refined")
    for score in ("plausibility", "grammar"):
        assert before.guesses[score] > 0.5 + 3 * before.by_chance
        assert abs(after.guesses[score] - 0.5) < 0.01
    for line in made.lines:
        if line.step == "refined":
            assert all(abs(line.guesses[s] - 0.5) < line.by_chance for s in SCORES), line


def test_additions_stay_guessable_by_length(told):
    made, _ = told
    assert made.line("add-object", "refined").guesses[SHORTER] > 0.95
    assert abs(made.line("replace-object", "given").guesses[SHORTER] - 0.5) < 0.05

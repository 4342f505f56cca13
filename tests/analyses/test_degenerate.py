"""Inputs of which nothing can be said: an error that says what is needed, or a sentence that does.

Every analysis of runs gets every such input; whatever comes out has no NaN and claims nothing.
"""

from __future__ import annotations

import re

import pytest

pytest.importorskip("fastapi", reason="the extra 'study' is not installed")
import tellapart as ta
from tellapart.benchmark.benchmark import save_benchmark
from tellapart.errors import TellapartError
from tests.analyses.foils import answered, foil_bench, foil_item
from tests.conftest import benchmark_of

OF_RUNS = ("by", "regression", "position", "agreement", "rankings", "learning", "scores")


def few():
    """Two items."""
    bench = foil_bench(2)
    return [answered(bench, lambda item: 9.0, "a"), answered(bench, lambda item: -9.0, "b")]


def one_group():
    """Items of one pair, at one place, of one length."""
    bench = benchmark_of([foil_item(f"{k}", 0, 6) for k in range(30)], ("accuracy",))
    return [answered(bench, lambda item: 0.0, name, seed) for seed, name in enumerate("ab")]


def constant():
    """Runs that are right throughout, and wrong throughout."""
    bench = foil_bench(40)
    return [answered(bench, lambda item: 99.0, "a"), answered(bench, lambda item: -99.0, "b")]


def two_benchmarks():
    """A run each of two benchmarks."""
    return [answered(foil_bench(40, seed), lambda item: 0.0, "ab"[seed]) for seed in (0, 1)]


@pytest.mark.parametrize("what", OF_RUNS)
@pytest.mark.parametrize("runs", [few, one_group, constant, two_benchmarks])
def test_nothing_is_claimed_where_nothing_can_be_said(what, runs, capsys):
    try:
        found = ta.analyse(what, runs())
    except TellapartError as error:
        assert error.allowed or error.todo, f"{error.what}: what would do?"
        return
    told = str(found)
    assert found.sentences and not re.search(r"\bnan\b|\binf\b|None", told)
    if runs is two_benchmarks:
        assert what == "rankings", "answers to different questions are not put together"
    if runs is one_group:  # the pair and the place are the same for all, and runs are chance
        assert not re.search(r"harder|easier|rises|falls", " ".join(found.sentences))


def test_studies_without_judgements_say_so(tmp_path):
    bench = save_benchmark(foil_bench(6), tmp_path / "bench")
    ta.create_study(bench, tmp_path / "study", ta.CreateStudyOptions(ask="foil", training=False))
    ta.export_study(tmp_path / "study", tmp_path / "results")
    with pytest.raises(TellapartError, match="agreement cannot be computed"):
        ta.analyse("raters", [tmp_path / "results"])


def test_captions_that_nobody_rated_say_so(tmp_path):
    (tmp_path / "mine.json").write_text('[{"image_id": "1.jpg", "caption": "a dog"}]')
    (tmp_path / "people.csv").write_text("image,caption\n1.jpg,a cat\n")
    how = ta.CreateStudyOptions(ask="rate-correctness", training=False)
    ta.create_study(tmp_path / "mine.json", tmp_path / "study", how)
    ta.export_study(tmp_path / "study", tmp_path / "results")
    options = ta.RatingOptions(references=tmp_path / "people.csv")
    with pytest.raises(TellapartError, match=r"ratings\.csv"):
        ta.analyse("ratings", [tmp_path / "results" / "ratings.csv"], options)

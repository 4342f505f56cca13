"""Simulated people over real HTTP: their errors, their agreement, what they leave behind."""

from __future__ import annotations

import polars as pl
import pytest

pytest.importorskip("fastapi", reason="the extra 'study' is not installed")

from tests.study.crowd import HOUR, Hands

import tellapart as ta
from tellapart.errors import BadInput
from tellapart.study.assignment import expire
from tellapart.study.effort import Crowd, expected_kappa
from tellapart.study.export import judgement_table, write_results
from tellapart.study.folder import StudySetup, write_study
from tellapart.study.plan import Stage
from tellapart.study.server.app import served
from tellapart.study.server.crowd import simulate
from tellapart.study.study import opened_study
from tellapart.types import silent
from tellapart.verbs.demo import people_part


def table_of(study):
    return study.database.read(lambda conn: judgement_table(conn, study)).result()


def test_people_err_as_often_as_told_and_agree_as_theory_says(benchmarks, tmp_path):
    stage = Stage("verify", "which-image", judgements=3)
    write_study(benchmarks["bison"], tmp_path / "study", StudySetup((stage,), training=False))
    with opened_study(tmp_path / "study") as study:
        with served(study) as url:
            done = simulate(study, url, Crowd(people=3, at_once=4, error=0.2, seed=4))
        found = write_results(study, tmp_path / "out")
    assert done.answers["verify"] == 3 * len(benchmarks["bison"].items)
    each = next(one for one in found.figures if one.how == "each answer")
    assert each.low < 0.8 < each.high
    alpha = next(row for row in found.agreement if row.measure == "Krippendorff's alpha")
    assert alpha.low < expected_kappa(0.2, 4) < alpha.high
    scores = ta.measure([tmp_path / "out" / "people"])
    assert scores.rows[0].value == pytest.approx(each.value)


def test_bison_in_three_steps_ends_in_a_verified_benchmark(world, tmp_path):
    made = people_part(world, tmp_path, 0, silent)
    benchmark = ta.load_benchmark(made.benchmark)
    assert 0 < made.verified <= made.picked <= made.pairs
    assert len(benchmark.items) == made.verified and benchmark.card.verified.startswith("by ")
    (run,) = ta.evaluate(["oracle"], on=benchmark, out=tmp_path / "runs")
    assert ta.measure(run).rows[0].value == 1.0  # what people kept is true of the target alone
    assert made.low < made.expected < made.high


def test_a_liking_for_the_first_option_shows_in_the_places(benchmarks, tmp_path):
    stage = Stage("ask", "best-of-five", judgements=1)
    write_study(benchmarks["mcic"], tmp_path / "study", StudySetup((stage,), training=False))
    with opened_study(tmp_path / "study") as study, served(study) as url:
        simulate(study, url, Crowd(people=1, error=0.0, bias=1.0))
        table = table_of(study)
    first = table["choice"].cast(pl.Int32) == table["order"].list.first()
    assert table.height == len(benchmarks["mcic"].items) and first.all()


def test_what_people_who_walk_away_held_goes_to_others(benchmarks, tmp_path):
    clock = Hands()
    stage = Stage("verify", "which-image", judgements=1)
    write_study(benchmarks["bison"], tmp_path / "study", StudySetup((stage,), training=False))
    with opened_study(tmp_path / "study", clock=clock) as study, served(study) as url:
        gone = simulate(study, url, Crowd(people=3, at_once=4, leaving=0.2))
        assert gone.left == 3 and gone.answers.total() < len(benchmarks["bison"].items)
        clock.now += HOUR
        study.database.submit(lambda conn: expire(conn, study)).result()  # the server's own round
        simulate(study, url, Crowd(people=1, seed=1))
        items = table_of(study)["item"]
    assert items.len() == items.n_unique() == len(benchmarks["bison"].items)


def test_foils_are_pointed_at(benchmarks, tmp_path):
    stage = Stage("ask", "foil", judgements=1)
    write_study(benchmarks["foil"], tmp_path / "study", StudySetup((stage,), training=False))
    with opened_study(tmp_path / "study") as study, served(study) as url:
        simulate(study, url, Crowd(people=2, error=0.0))
        table = table_of(study)
    assert table["right"].all()
    wrong = table.filter(pl.col("choice") == "wrong")
    assert wrong.height and wrong["word"].null_count() == 0


def test_habits_that_are_no_shares_are_refused():
    with pytest.raises(BadInput, match="error = 2"):
        Crowd(error=2)

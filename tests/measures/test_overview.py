"""The overview: contestants by benchmarks, and the lines that they are held against."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.conftest import benchmark_of, grid_item, run_of
from tests.measures.test_foil import foil_run
from typer.testing import CliRunner

import tellapart as ta
from tellapart.benchmark.benchmark import Benchmark, save_benchmark
from tellapart.cli.main import app
from tellapart.measures.contestants import is_reference
from tellapart.measures.overview import Column, ReferenceLine, chance_lines, telling_lines
from tellapart.measures.scores import measure_runs, side_by_side
from tellapart.score.run import save_run

RIGHT, WRONG, TIED = [[1.0], [0.0]], [[0.0], [1.0]], [[1.0], [1.0]]


def bench(name: str, n: int = 12, **made: object) -> Benchmark:
    made_of = benchmark_of([grid_item(f"{name}{k}", 2, 1, {(0, 0)}) for k in range(n)])
    return replace(made_of, card=replace(made_of.card, name=name, made=made))


def run(benchmark: Benchmark, model: str, right: int, tied: int = 0):
    """A run with so many right answers, then so many ties, the others wrong."""
    names = [item.id.removeprefix("test:") for item in benchmark.items]
    grids = {n: RIGHT if k < right else TIED if k < right + tied else WRONG
             for k, n in enumerate(names)}  # fmt: skip
    made = run_of(benchmark, grids)
    return replace(made, card=replace(made.card, model=model))


def two_benchmarks():
    one, two = bench("one"), bench("two")
    return [
        run(one, "good", 9), run(one, "bad", 6), run(one, "constant", 0, 12), run(one, "blind", 12),
        run(two, "good", 8), run(two, "chance?seed=1", 12),
    ]  # fmt: skip


def test_models_by_benchmarks_with_lines_below():
    overview = ta.measure(two_benchmarks()).overview
    assert overview.columns == (Column("one", "accuracy"), Column("two", "accuracy"))
    assert overview.models == ("good", "bad")
    values = [overview.estimate(m, c) for m in overview.models for c in overview.columns]
    assert [one and one.value for one in values] == [9 / 12, 8 / 12, 6 / 12, None]
    assert overview.line_labels[0] == "chance"
    assert set(overview.line_labels) == {"chance", "constant", "blind", "chance?seed=1"}


def test_a_line_is_never_the_highest():
    overview = ta.measure(two_benchmarks()).overview
    assert overview.best(overview.columns[0]) == 9 / 12  # blind has 12 of 12
    assert overview.best(overview.columns[1]) is None  # one contestant alone is not the highest
    assert not any(is_reference(row.model) for row in overview.rows)


def test_ties_of_a_line_are_halved_whatever_the_rule():
    for rule in ("wrong", "half", "right"):
        overview = ta.measure(two_benchmarks(), ties=rule).overview
        assert overview.line("constant", overview.columns[0]).value == 0.5


def test_measure_begins_with_the_overview_and_lists_lines_last():
    text = str(ta.measure(two_benchmarks()))
    first, _, details = text.partition("\n\n")
    assert first.splitlines()[0].split("  ")[0] == "model"
    assert [line.split()[0] for line in first.splitlines()[1:3]] == ["good", "bad"]
    assert "- chance" in first and "- blind" in first and "ties halved" in first
    models = [line.split()[3:5] for line in details.splitlines()[1:5]]
    assert [m[0] for m in models] == ["good", "bad", "-", "-"]
    assert "highest" not in text


def test_many_ties_are_counted_beside_the_score():
    text = str(ta.measure([run(bench("one"), "m", 6, 4)]).overview)
    assert "50.00 [4 ties]" in text


def test_the_card_may_bring_a_line_for_the_text_alone():
    known = {"value": 82.0, "low": 80.5, "high": 83.5, "chance": 50.0,
             "attacker": "boosted trees", "source": "40,000 captions"}  # fmt: skip
    overview = ta.measure([run(bench("one", text_alone=known), "m", 9)]).overview
    line = overview.line("text alone", overview.columns[0])
    assert (line.value, line.low, line.high) == pytest.approx((0.82, 0.805, 0.835))
    assert "boosted trees; 40,000 captions" in str(overview)
    none = ta.measure([run(bench("one", text_alone="unknown"), "m", 9)]).overview
    assert "text alone" not in none.line_labels
    other = {**known, "items_sha256": "of other items"}
    stale = ta.measure([run(bench("one", text_alone=other), "m", 9)]).overview
    assert "text alone" not in stale.line_labels, "a part of a benchmark has not the whole's figure"


def test_two_versions_of_a_benchmark_are_two_columns():
    one, other = bench("one"), bench("one", 8)
    overview = ta.measure([run(one, "m", 9), run(other, "m", 4)]).overview
    assert [c.benchmark for c in overview.columns] == [
        f"one ({b.sha256[:8]})" for b in (one, other)
    ]


def test_what_can_be_guessed_from_captions_is_a_line_too(tmp_path):
    """The shorter of two captions is always right: a model at 75% is below that."""
    items = [
        replace(grid_item(str(k), 1, 2, {(0, 0)}), captions=(f"Cat {k}.", f"A large catfish {k}."))
        for k in range(40)
    ]  # fmt: skip
    made = save_benchmark(benchmark_of(items), tmp_path / "bench")
    grids = {str(k): [[1.0, 0.0]] if k < 30 else [[0.0, 1.0]] for k in range(40)}
    run = run_of(made, grids)
    save_run(run, tmp_path / "run")
    told = CliRunner().invoke(app, ["measure", str(tmp_path / "run")])
    assert told.exit_code == 0, told.output
    (line,) = [one for one in told.output.splitlines() if one.startswith("- best cue")]
    assert "100.00" in line
    page = ta.report(run, tmp_path / "p.html", ta.ReportOptions(gallery=0)).read_text("utf-8")
    assert "is below best cue" in page and "is above these" not in page


def test_the_card_goes_before_a_cue():
    known = {"value": 82.0, "low": 80.5, "high": 83.5, "chance": 50.0, "attacker": "trees"}
    overview = ta.measure([run(bench("one", text_alone=known), "m", 9)]).overview
    guess = ReferenceLine("best cue", "one", "accuracy", 0.6)
    assert overview.with_guesses([guess]).line_labels == ("chance", "text alone")
    plain = ta.measure([run(bench("two"), "m", 9)]).overview
    guess = ReferenceLine("best cue", "two", "accuracy", 0.6)
    assert plain.with_guesses([guess]).line_labels == ("chance", "best cue")


def test_the_chance_of_answers_one_by_one_is_named_beside_that_of_scorers():
    (made, *_) = measure_runs([run(bench("one"), "good", 9)]).rows
    rows = [replace(made, measure="Group", chance=level) for level in (1 / 16, 1 / 6)]
    lines = chance_lines(rows)
    levels = {line.label: line.value for line in lines}
    assert levels == pytest.approx({"chance, answers one by one": 1 / 16, "chance": 1 / 6})
    assert [line.label for line in chance_lines(rows[:1])] == ["chance"]


def test_a_line_within_noise_of_chance_is_not_told_as_a_hurdle():
    chance = ReferenceLine("chance", "b", "accuracy", 0.5)
    noise = ReferenceLine("blind", "b", "accuracy", 0.53, 0.49, 0.57)
    clear = ReferenceLine("text alone", "b", "accuracy", 0.52, 0.51, 0.53)
    assert telling_lines([chance, noise]) == [chance]
    assert telling_lines([chance, clear]) == [chance, clear]


def test_the_closing_table_of_the_demo_has_contestants_as_columns_and_lines_in_one():
    one = bench("one", 40)
    runs = [
        run(one, "good", 30), run(one, "bad", 10, 20), run(one, "constant", 0, 40),
        run(one, "blind", 39), run(one, "chance?seed=1", 21),
    ]  # fmt: skip
    text = side_by_side(ta.measure(runs), ta.measure(runs, ties="half"))
    heads, row, *_, legend, ties = text.splitlines()
    assert heads.split() == ["benchmark", "measure", "good", "bad", "chance", "without", "looking"]
    assert row.endswith("75.0  25.0 ~50.0 (20 tie)    50.0       blind 97.5")
    assert legend.startswith("without looking: the best of constant, blind, chance?seed=1")
    assert ties.startswith("~: the score with ties halved")
    nothing = [r for r in runs if not r.model.startswith("blind")]
    text = side_by_side(ta.measure(nothing), ta.measure(nothing, ties="half"))
    assert text.splitlines()[1].endswith("50.0                -"), "21 of 40 is within chance"
    read = [ReferenceLine("text alone", "one", "accuracy", 0.7, 0.6, 0.8, "logit; 9 captions")]
    text = side_by_side(ta.measure(nothing), ta.measure(nothing, ties="half"), read)
    assert text.splitlines()[1].endswith("50.0  text alone 70.0")
    assert "constant, chance?seed=1, text alone (ties halved)" in text
    weak = [replace(read[0], low=0.45)]
    text = side_by_side(ta.measure(nothing), ta.measure(nothing, ties="half"), weak)
    assert text.splitlines()[1].endswith("50.0                -")


def test_a_note_says_which_benchmarks_it_is_about():
    runs = [run(bench(name), "m", 9) for name in ("one", "two", "three")]
    guesses = [
        ReferenceLine("text alone", "one", "accuracy", 0.7, 0.6, 0.8, "logit; 291 captions"),
        ReferenceLine("text alone", "two", "accuracy", 0.6, 0.5, 0.7, "logit; 280 captions"),
        ReferenceLine("text alone", "three", "accuracy", 0.6, 0.5, 0.7, "logit; 280 captions"),
    ]
    told = str(ta.measure(runs).overview.with_guesses(guesses)).splitlines()
    assert "  text alone (one): logit; 291 captions" in told
    assert "  text alone (two, three): logit; 280 captions" in told


def test_t1_says_whose_threshold_decided_wherever_it_is_told():
    fitted = foil_run({"a": (5.0, 2.0), "b": (4.0, 3.0)}, {})
    own = replace(fitted, card=replace(fitted.card, model="classifier", threshold=1.0))
    overview = ta.measure(fitted, measures=["T1"]).overview
    assert overview.shown(overview.columns[0]) == "T1@fitted"
    assert str(overview).splitlines()[0].endswith(", T1@fitted")
    mixed = [fitted, own]
    overview = ta.measure(mixed, measures=["T1"]).overview
    assert overview.shown(overview.columns[0]) == "T1"
    assert "@own" in str(overview) and "@fitted" in str(overview)
    table = side_by_side(ta.measure(mixed), ta.measure(mixed, ties="half"))
    (line,) = [line for line in table.splitlines() if line.split()[1] == "T1"]
    assert "@own" in line and "@fitted" in line

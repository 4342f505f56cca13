"""Units of measures: trials, grids of other shapes, one side of a grid, one class of captions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.conftest import benchmark_of, grid_item, run_of
from tests.measures.test_foil import foil_run, spread_run

from tellapart.measures.choice import (
    ACCURACY,
    CONSISTENCY,
    GROUP,
    I2T,
    IPOS2T,
    T2I,
)
from tellapart.measures.foil import (
    T1,
    T1_AUC,
    T1_CORRECT,
    T1_FITTED,
    T1_FOIL,
    T1_OWN,
    T2_NOUNS,
    T2_NOUNS_CHANGE,
)
from tellapart.measures.item_columns import Breakdown
from tellapart.measures.measure import Outcomes, Resampling, was_asked
from tellapart.measures.scores import asks_of, estimates, measures_of
from tellapart.questions import Ask
from tellapart.score.run import Run, RunCard, answers_frame, scores_frame
from tellapart.stats.intervals import mean_interval
from tellapart.verbs.runs.measure import measure

PAIR = {(0, 0), (1, 1)}
BOTH = frozenset({Ask.CAPTION, Ask.IMAGE})


def asked(benchmark, rows: list[tuple[str, str, int, int | None]]) -> Run:
    """A chooser's answers: (item, question, trial, choice), with two options each."""
    table = [
        (f"test:{item}", question, trial, [0, 1], choice,
         "answered" if choice is not None else "failed", "")
        for item, question, trial, choice in rows
    ]  # fmt: skip
    card = RunCard("by-hand", "chooser", benchmark.name, benchmark.sha256,
                   asks=("caption", "image"))  # fmt: skip
    return Run(card, benchmark, scores_frame([]), answers_frame(table))


def items(*names: str):
    return benchmark_of([grid_item(name, 2, 2, PAIR, original=(0, 0)) for name in names])


EVERY = ("caption@0", "caption@1", "image@0", "image@1")


def test_together_trials_count_one_by_one_and_those_that_lack_a_question_do_not():
    right = [0, 1, 0, 1]
    bench = items("x", "y", "z")
    rows = [("x", q, t, c) for q, c in zip(EVERY, right, strict=True) for t in (0, 1)]
    rows += [("x", q, 2, 0) for q in EVERY]  # the third trial is right in two of four
    rows += [("y", q, 0, c) for q, c in zip(EVERY[:3], right, strict=False)]  # one is missing
    rows += [("z", q, 0, c) for q, c in zip(EVERY[:3], right, strict=False)]
    rows.append(("z", EVERY[3], 0, None))
    found = GROUP.outcomes(asked(bench, rows), "wrong")
    assert found.value.tolist() == pytest.approx([2 / 3, 0, 0])
    assert found.failed.tolist() == [False, True, True]
    assert found.chance.tolist() == [1 / 16] * 3
    assert not found.tied.any() and not found.left_out.any()
    alone = ACCURACY.outcomes(asked(bench, rows), "wrong")
    assert alone.item.tolist()[:4] == [0] * 4 and alone.value.tolist()[:4] == pytest.approx(
        [1, 2 / 3, 1, 2 / 3]
    )


def test_questions_answered_alike_in_every_trial():
    bench = items("x", "y")
    rows = [("x", "caption@0", t, 1) for t in range(3)]  # always the same, and wrong
    rows += [("x", "caption@1", 0, 1), ("x", "caption@1", 1, 0)]
    rows += [("x", "image@0", 0, 1)]  # asked once: says nothing
    rows += [("y", "image@1", 0, 1), ("y", "image@1", 1, None)]
    found = CONSISTENCY.outcomes(asked(bench, rows), "wrong")
    assert found.value.tolist() == [1, 0, 0] and found.failed.tolist() == [False, False, True]
    assert found.chance.tolist() == [1 / 4, 1 / 2, 1 / 2] and found.item.tolist() == [0, 0, 1]
    assert not found.tied.any() and not found.left_out.any()
    scorer = run_of(bench, {"x": [[1, 0], [0, 1]]})
    assert len(CONSISTENCY.outcomes(scorer, "wrong").item) == 0


def test_whole_grids_are_read_of_their_shape_alone():
    bench = benchmark_of([
        grid_item("w", 1, 2, {(0, 0)}), grid_item("x", 2, 2, PAIR, original=(0, 0)),
        grid_item("v", 2, 2, PAIR),
    ], ("Group",))  # fmt: skip
    run = run_of(bench, {"w": [[1, 0]], "x": [[1, 0], [0, 1]], "v": [[1, 0], [2, 1]]})
    ids = bench.items.ids.to_list()

    def read(one) -> dict[str, list[float]]:
        found = one.outcomes(run, "wrong")
        return {ids[k][5:]: found.value[found.item == k].tolist() for k in set(found.item.tolist())}

    assert read(GROUP) == {"x": [1], "v": [0]}
    assert read(I2T) == {"x": [1], "v": [0]} and read(T2I) == {"x": [1], "v": [0]}
    assert read(IPOS2T) == {"x": [1]}, "without an original pair there is no side"
    assert read(ACCURACY) == {"w": [1], "x": [1, 1, 1, 1], "v": [1, 0, 0, 1]}


def test_a_missing_cell_fails_what_reads_it():
    bench = items("x")
    run = run_of(bench, {"x": [[1, 0], [0]]})
    for rule in ("wrong", "half", "right", "drop"):
        found = GROUP.outcomes(run, rule)
        assert found.failed.tolist() == [True] and found.value.tolist() == [0]
        assert not found.tied.any() and not found.left_out.any()
    tied = GROUP.outcomes(run_of(bench, {"x": [[1, 1], [0, 2]]}), "drop")
    assert tied.tied.tolist() == tied.left_out.tolist() == [True] and tied.value.tolist() == [0]


def test_a_measure_can_be_asked_of_one_side():
    assert GROUP.about_side("both") is GROUP and ACCURACY.about_side("both") is None
    assert I2T.about_side("caption") is I2T and I2T.about_side("image") is None
    assert GROUP.about_side("caption") is None, "its questions belong together"
    assert ACCURACY.about_side("image") == replace(ACCURACY, asks=frozenset({Ask.IMAGE}))
    assert T1.about_side("caption") is T1 and T1.about_side("image") is None
    assert T1_FOIL.about_side("caption") is None and T1_CORRECT.one_sided and not T1.one_sided
    assert T1_AUC.about_side("caption") is T1_AUC and T1_AUC.about_side("image") is None
    assert T2_NOUNS.about_side("caption") is None


def test_true_captions_and_foils_are_told_apart_in_grids_of_any_shape():
    bench = benchmark_of([
        grid_item("a", 1, 2, {(0, 1)}), grid_item("b", 2, 1, {(1, 0)}),
        grid_item("c", 1, 2, {(0, 0)}),
    ], ("T1",))  # fmt: skip
    run = run_of(bench, {"a": [[9, 2]], "b": [[8], [7]], "c": [[6, 1]]})
    run = replace(run, card=replace(run.card, threshold=5.0))
    true, false = T1_CORRECT.outcomes(run, "wrong"), T1_FOIL.outcomes(run, "wrong")
    ids = bench.items.ids.to_list()
    assert {ids[k]: v for k, v in zip(true.item, true.value, strict=True)} == {
        "test:a": 0, "test:b": 1, "test:c": 1,
    }  # fmt: skip
    assert {ids[k]: v for k, v in zip(false.item, false.value, strict=True)} == {
        "test:a": 0, "test:b": 0, "test:c": 1,
    }  # fmt: skip


def test_who_decides_is_the_model_where_it_can_and_a_fit_where_not():
    fitted = foil_run({"a": (5.0, 2.0), "b": (4.0, 3.0)}, {})
    own = replace(fitted, card=replace(fitted.card, threshold=3.5))
    chooser = replace(fitted, card=replace(fitted.card, kind="chooser"))
    assert [T1.decided_by(run) for run in (fitted, own, chooser)] == ["fitted", "own", "own"]
    assert [T1_OWN.decided_by(run) for run in (fitted, own, chooser)] == [None, "own", "own"]
    assert [T1_FITTED.decided_by(run) for run in (fitted, own, chooser)] == [
        "fitted", "fitted", None,
    ]  # fmt: skip
    assert len(T1_OWN.outcomes(fitted, "wrong").item) == 0
    assert len(T1_OWN.outcomes(own, "wrong").item) == 4
    assert T2_NOUNS.decided_by(chooser) == "asked" and T2_NOUNS_CHANGE.decided_by(own) == "change"
    assert len(T2_NOUNS_CHANGE.outcomes(chooser, "wrong").item) == 0
    assert len(T1_AUC.outcomes(chooser, "wrong").item) == 0


def test_an_area_of_one_kind_has_the_interval_of_a_mean():
    run = spread_run()
    found = T1_AUC.outcomes(run, "wrong")
    clusters = np.arange(len(found.item))

    def interval(**more):
        drawing = Resampling(clusters, np.random.default_rng(0), 50, **more)
        return T1_AUC.interval(run, "wrong", found, drawing)

    assert interval() == interval(whole=True)
    assert interval().method.startswith("Obuchowski")
    plain = mean_interval(found.value, clusters, np.random.default_rng(0), 50)
    assert interval(whole=False) == plain != interval()


def test_an_area_needs_captions_of_both_kinds_that_have_a_score():
    run = foil_run({"a": (5.0, 2.0), "b": (4.0, 4.0), "c": (4.0, 4.0)}, {})
    table = run.scores
    for caption in (0, 1):
        some = replace(run, scores=table.filter(pl.col("caption") == caption))
        assert len(T1_AUC.outcomes(some, "wrong").item) == 0
    found = T1_AUC.outcomes(run, "half")
    assert found.value.tolist() == pytest.approx([1, 2 / 3, 2 / 3])
    assert found.tied.tolist() == [False, True, True] and found.chance.tolist() == [0.5] * 3
    flat = foil_run({"a": (1.0, 1.0), "b": (1.0, 1.0)}, {})
    dropped = T1_AUC.outcomes(flat, "drop")
    assert dropped.left_out.all() and dropped.value.tolist() == [0, 0]


def outcomes(item: list[int], value: list[float], left_out: list[bool]) -> Outcomes:
    no = np.zeros(len(item), bool)
    return Outcomes(np.array(item), np.array(value), np.array(left_out), no,
                    np.full(len(item), 0.5), np.array(left_out))  # fmt: skip


def test_units_are_joined_in_the_order_of_items_and_those_of_one_item_as_they_came():
    one = outcomes([2, 0], [0.1, 0.2], [True, False])
    two = outcomes([1, 2, 0], [0.3, 0.4, 0.5], [False] * 3)
    found = Outcomes.joined([one, two])
    assert found.item.tolist() == [0, 0, 1, 2, 2]
    assert found.value.tolist() == [0.2, 0.5, 0.3, 0.1, 0.4]
    assert found.kept("wrong") is found
    assert found.kept("drop").value.tolist() == [0.2, 0.5, 0.3, 0.4]
    assert len(Outcomes.joined([]).item) == 0 and Outcomes.joined([]).failed.dtype == bool


def test_a_scorer_has_answers_to_the_whole_grid_and_a_chooser_to_what_it_was_asked():
    bench = items("x")
    scorer = run_of(bench, {"x": [[1, 0], [0, 1]]})

    def run(kind: str, *asks: str) -> Run:
        return replace(scorer, card=replace(scorer.card, kind=kind, asks=asks))

    judge, noun, word = (frozenset({ask}) for ask in (Ask.JUDGE, Ask.NOUN, Ask.WORD))
    assert was_asked(run("chooser"), BOTH), "an imported run that does not say"
    assert was_asked(run("scorer", "caption"), BOTH | judge)
    assert not was_asked(run("chooser", "caption"), BOTH)
    assert was_asked(run("scorer", "word"), noun) and not was_asked(run("chooser", "word"), noun)
    assert not was_asked(run("scorer", "noun"), word)
    assert not was_asked(run("scorer", "word"), BOTH)
    assert asks_of(["accuracy", "T3"]) == BOTH | {Ask.MEND}
    assert [one.name for one in measures_of(scorer, ["I2T"])] == ["I2T"]
    assert [one.name for one in measures_of(scorer, None)] == ["accuracy"]


def test_values_set_apart_have_a_row_and_no_part_in_the_macro_average():
    bench = benchmark_of([grid_item(str(k), 2, 1, {(0, 0)}) for k in range(4)])
    run = run_of(bench, {str(k): [[1], [k % 2 * 2]] for k in range(4)})
    places = {name[5:]: k for k, name in enumerate(bench.items.ids.to_list())}
    code = np.zeros(4, np.int64)
    for name, number in (("0", 0), ("1", 1), ("2", 2), ("3", 2)):
        code[places[name]] = number
    whole = Breakdown("size", ("a", "b", "c"), code)
    got = {row.kind: row.value for row in estimates(run, ACCURACY, by=whole)}
    assert got == {"micro": 0.5, "macro": 0.5, "a": 1, "b": 0, "c": 0.5}
    rows = estimates(run, ACCURACY, by=replace(whole, apart=frozenset({"b"})), label="me")
    assert {row.kind: row.value for row in rows} == {**got, "macro": 0.75}
    assert {(row.by, row.model) for row in rows} == {("size", "me")}
    alone = estimates(run, ACCURACY, by=replace(whole, apart=frozenset("abc")))
    assert [row.kind for row in alone] == ["micro", "a", "b", "c"]
    assert [row.kind for row in estimates(run, ACCURACY, by=whole, by_kind=False)] == ["micro"]
    assert [row.n for row in rows] == [4, 3, 1, 1, 2]


def test_what_was_never_asked_has_no_row_and_what_failed_has_one():
    bench = items("x")
    nothing = asked(bench, [("x", "caption@0", 0, None)])
    assert estimates(nothing, ACCURACY)[0].failed > 0
    unasked = replace(nothing, card=replace(nothing.card, asks=("caption",)))
    assert estimates(unasked, ACCURACY) == []
    (row,) = measure(run_of(items("y"), {"y": [[1, 1], [1, 1]]}), measures=["Group"], ties="drop")
    assert (row.low, row.high, row.n, row.clusters, row.ties) == (0, 1, 0, 0, 1)
    assert row.method == "every unit is a tie and is left out"

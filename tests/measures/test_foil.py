"""FOIL's T1, T2 and T3 against tables computed by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import t as student
from tests.conftest import benchmark_of
from typer.testing import CliRunner

from tellapart.benchmark.benchmark import save_benchmark
from tellapart.benchmark.table import ItemTable
from tellapart.cli.main import app
from tellapart.items import Item, Origin, Slot, Word
from tellapart.measures.scores import asks_of
from tellapart.score.answers import JudgedCells, crossfitted_thresholds, fitted_threshold
from tellapart.score.cells import CellTable
from tellapart.score.run import Run, RunCard, answers_frame, load_run, scores_frame
from tellapart.stats.roc import auc
from tellapart.verbs.runs.compare import compare
from tellapart.verbs.runs.evaluate import evaluate
from tellapart.verbs.runs.measure import measure

FOIL = ("T1", "T1-correct", "T1-foil", "T1-AUC", "T2-nouns", "T2-content", "T3", "accuracy")
CAPTION = "A red cat sees a ball."
WORDS = (Word(2, 5, False), Word(6, 9, True), Word(10, 14, False), Word(17, 21, True))


def foil_item(name: str) -> Item:
    slot = Slot(1, 6, 9, "dog", "cat", words=WORDS, candidates=("dog", "cow", "owl"))
    return Item.imported(
        "test", name, images=(name,), captions=("A red dog sees a ball.", CAPTION),
        true=frozenset({(0, 0)}), original=(0, 0), kind="animal", slot=slot, origin=Origin("test"),
    )  # fmt: skip


def foil_run(grids: dict[str, tuple[float, float]], edits: dict[str, dict[str, float]]) -> Run:
    benchmark = benchmark_of([foil_item(name) for name in grids], FOIL)
    rows = [(f"test:{n}", 0, j, "", s) for n, grid in grids.items() for j, s in enumerate(grid)]
    rows += [(f"test:{n}", 0, 1, edit, s) for n, by in edits.items() for edit, s in by.items()]
    card = RunCard("by-hand", "scorer", benchmark.name, benchmark.sha256)
    return Run(card, benchmark, scores_frame(rows), answers_frame([]))


def values(run: Run, rule: str = "wrong") -> dict[str, float]:
    return {row.measure: row.value for row in measure(run, ties=rule).rows}


def test_captions_for_t2_and_t3_are_expanded_only_when_scored():
    item = foil_item("x")
    cells = CellTable.of(ItemTable.of([item]), asks_of(FOIL))
    made = dict(zip(cells.edit, cells.texts(np.arange(len(cells))), strict=True))
    assert made == {
        "": CAPTION,  # the last of the two plain cells
        "-0": "A cat sees a ball.",
        "-1": "A red sees a ball.",
        "-2": "A red cat a ball.",
        "-3": "A red cat sees a.",
        "=dog": "A red dog sees a ball.",
        "=cow": "A red cow sees a ball.",
        "=owl": "A red owl sees a ball.",
    }
    assert "owl" not in " ".join(item.captions)


def test_t1_t2_t3_by_hand():
    # T1: scores of true captions 5 6 7 1, of foils 2 3 0 4: a threshold between 3 and 4 or so.
    grids = {"a": (5.0, 2.0), "b": (6.0, 3.0), "c": (7.0, 0.0), "d": (1.0, 4.0)}
    edits = {
        "a": {"-0": 1, "-1": 9, "-2": 2, "-3": 3, "=dog": 5, "=cow": 4, "=owl": 1},  # all right
        "b": {"-0": 8, "-1": 7, "-2": 2, "-3": 3, "=dog": 5, "=cow": 6, "=owl": 1},
        "c": {"-0": 1, "-1": 7, "-2": 2, "-3": 7, "=dog": 5, "=cow": 5, "=owl": 5},  # ties
        "d": {"-0": 1, "-1": 2, "-2": 0, "-3": 9, "=dog": 3, "=cow": 1, "=owl": 2},
    }
    run = foil_run(grids, {n: {k: float(v) for k, v in by.items()} for n, by in edits.items()})
    got = values(run)
    assert got["T2-nouns"] == 0.5  # a and b (7 against 3); c ties, d is wrong
    assert got["T2-content"] == 0.25  # b is beaten by the adjective
    assert got["T3"] == 0.5  # a and d
    assert got["accuracy"] == 0.75
    assert got["T1-AUC"] == pytest.approx((4 + 4 + 4 + 1) / 16)
    half = values(run, "half")
    assert half["T2-nouns"] == pytest.approx((1 + 1 + 1 / 2 + 0) / 4)
    assert half["T2-content"] == pytest.approx((1 + 0 + 1 / 2 + 0) / 4)
    assert half["T3"] == pytest.approx((1 + 0 + 1 / 3 + 1) / 4)
    assert values(run, "right")["T3"] == 0.75
    chances = {row.measure: row.chance for row in measure(run).rows}
    assert (chances["T2-nouns"], chances["T2-content"], chances["T3"]) == (1 / 2, 1 / 4, 1 / 3)


def test_t1_counts_true_captions_and_foils_apart():
    grids = {str(k): (10.0 + k, float(k)) for k in range(5)} | {"x": (0.5, 12.5)}
    got = values(foil_run(grids, {}))
    assert (got["T1"], got["T1-correct"], got["T1-foil"]) == (10 / 12, 5 / 6, 5 / 6)


WORD_WAYS = (
    "T2-nouns@occlusion", "T2-nouns@change", "T2-nouns@replacement", "T2-content@change",
    "T2-content@replacement", "T3@substitution", "T3@linear",
)  # fmt: skip


def test_every_procedure_of_t2_and_t3_has_its_own_name_and_cells():
    """One foil caption, of which every procedure says something else."""
    edits = {
        # The caption's log-odds are 0.5: without the ball the answer changes most, and falls.
        "-0": 0.6, "-1": 3.0, "-2": 0.4, "-3": -4.0,
        "~0": -8.0, "~1": -5.0, "~2": -3.0, "~3": -6.0,
        "=dog": 1.0, "=cow": 2.0, "=owl": 0.0,
        "?dog": -1.0, "?cow": -2.0, "?owl": -3.0,
    }  # fmt: skip
    run = foil_run({"a": (1.0, 0.5)}, {"a": edits})
    assert set(by_name(run, *WORD_WAYS)) == {"T2-nouns@occlusion", "T3@substitution"}
    card = replace(run.card, threshold=0.0, ways=("mend", "replace"))
    run = replace(run, card=card)
    assert by_name(run, *WORD_WAYS) == {
        "T2-nouns@occlusion": 1.0,
        "T2-nouns@change": 0.0,
        "T2-nouns@replacement": 1.0,
        "T2-content@change": 0.0,
        "T2-content@replacement": 0.0,
        "T3@substitution": 0.0,
        "T3@linear": 1.0,
    }
    rows = {row.measure: row for row in measure(run).rows}
    assert rows["T2-nouns"].shown == "T2-nouns@replacement" and rows["T3"].shown == "T3@linear"
    plain = replace(run, card=replace(card, ways=()))
    assert {row.shown for row in measure(plain).rows} >= {"T2-nouns@change", "T3@substitution"}


def test_a_change_is_one_of_probabilities_and_not_of_log_odds():
    """From 6 to 3 log-odds fall by more than from 0.5 to -0.5, the probability by less."""
    sure = foil_run({"a": (1.0, 6.0)}, {"a": {"-0": 6.0, "-1": 5.0, "-2": 6.0, "-3": 3.0}})
    doubt = foil_run({"a": (1.0, 0.5)}, {"a": {"-0": 6.0, "-1": -0.5, "-2": 0.5, "-3": 0.5}})
    for run, right in ((sure, 0.0), (doubt, 0.0)):
        run = replace(run, card=replace(run.card, threshold=0.0))  # noqa: PLW2901
        assert by_name(run, "T2-content@change") == {"T2-content@change": right}
    nouns = replace(doubt, card=replace(doubt.card, threshold=0.0))
    assert by_name(nouns, "T2-nouns@change") == {"T2-nouns@change": 1.0}
    # The same numbers as probabilities: 6 to 3 is the largest step there is.
    odds = foil_run({"a": (1.0, 0.9)}, {"a": {"-0": 0.95, "-1": 0.5, "-2": 0.9, "-3": 0.8}})
    odds = replace(odds, card=replace(odds.card, threshold=0.5))
    assert by_name(odds, "T2-content@change") == {"T2-content@change": 1.0}


def test_a_model_that_judges_in_its_own_way_is_believed_and_not_its_scores():
    run = foil_run({"a": (1.0, 9.0), "b": (2.0, 8.0)}, {})
    said = [("test:a", 0, 0, "!", 0.1), ("test:a", 0, 1, "!", -0.1),
            ("test:b", 0, 0, "!", -0.1), ("test:b", 0, 1, "!", -0.2)]  # fmt: skip
    run = replace(
        run, scores=scores_frame([*run.scores.rows(), *said]),
        card=replace(run.card, ways=("judge",)),
    )  # fmt: skip
    names = ("T1@own", "T1-correct@own", "T1-foil@own", "T1-AUC")
    assert by_name(run, *names) == dict(zip(names, (0.75, 0.5, 1.0, 0.0), strict=True))


def test_one_that_calls_everything_correct_is_right_on_all_true_captions_and_on_no_foil():
    run = foil_run({str(k): (1.0 + k, 1.0 + k / 2) for k in range(5)}, {})
    run = replace(run, card=replace(run.card, threshold=0.0))
    assert by_name(run, "T1", "T1-correct", "T1-foil") == {
        "T1": 0.5, "T1-correct": 1.0, "T1-foil": 0.0,
    }  # fmt: skip


def classifier(threshold: float | None) -> Run:
    """Nine of ten captions score above 0.5; true ones a little more often than foils."""
    grids = {str(k): (0.9 - k / 1000, 0.8 - k / 1000) for k in range(8)}
    run = foil_run(grids | {"x": (0.7, 0.3), "y": (0.95, 0.2)}, {})
    return replace(run, card=replace(run.card, threshold=threshold))


def by_name(run: Run, *names: str) -> dict[str, float]:
    return {row.measure: row.value for row in measure(run, measures=names).rows}


def test_a_classifier_decides_by_its_own_threshold_and_its_leaning_shows():
    names = ("T1", "T1-correct", "T1-foil")
    own = tuple(f"{name}@own" for name in names)
    fitted = tuple(f"{name}@fitted" for name in names)
    run = classifier(0.5)
    assert by_name(run, *own) == dict(zip(own, (0.6, 1.0, 0.2), strict=True))
    found = by_name(run, *names, *fitted)
    assert [found[name] for name in names] == [0.6, 1.0, 0.2], "plain T1 is its own decision"
    assert min(found["T1-correct@fitted"], found["T1-foil@fitted"]) == 0.8, "the leaning is hidden"


def test_a_models_own_threshold_reaches_its_run(benchmarks, tmp_path):
    runs = evaluate(["oracle?error=0.2", "chance"], benchmarks["foil"], tmp_path)
    assert [load_run(run.folder).card.threshold for run in runs] == [0.5, None]
    rows = measure(runs, measures=["T1@own"]).rows
    assert [(row.model, row.ties) for row in rows] == [("oracle?error=0.2", 0)]


def test_a_scorer_without_a_threshold_has_the_fitted_one_and_the_area():
    run = classifier(None)
    found = by_name(run, "T1", "T1@own", "T1-correct@own", "T1@fitted", "T1-AUC")
    assert set(found) == {"T1", "T1@fitted", "T1-AUC"} and found["T1"] == found["T1@fitted"]
    assert "T1@fitted" in str(measure(run, measures=["T1"])), "the table says which it is"
    assert "T1@own" in str(measure(classifier(0.5), measures=["T1"]))


def test_two_ways_of_deciding_are_not_compared_without_a_word():
    names = ["first", "second"]
    runs = [classifier(0.5), classifier(None)]
    runs = [
        replace(run, card=replace(run.card, model=name))
        for run, name in zip(runs, names, strict=True)
    ]
    (remark,) = compare(runs, measures=["T1"]).remarks
    assert "first: own, second: fitted" in remark and "T1@fitted" in remark
    assert not compare(runs, measures=["T1@fitted"]).remarks


def test_scores_from_elsewhere_may_bring_a_threshold(tmp_path):
    run = classifier(None)
    bench = tmp_path / "bench"
    save_benchmark(run.benchmark, bench)
    table = tmp_path / "scores.csv"
    run.scores.drop("edit").write_csv(table)
    words = [
        "import",
        bench,
        table,
        "--name",
        "mine",
        "--out",
        tmp_path / "run",
        "--threshold",
        0.5,
    ]
    done = CliRunner().invoke(app, [*map(str, words), "--order", "shown"])
    assert done.exit_code == 0, done.output
    assert by_name(load_run(tmp_path / "run"), "T1-correct@own", "T1-foil@own") == {
        "T1-correct@own": 1.0,
        "T1-foil@own": 0.2,
    }


def test_a_threshold_says_true_as_often_as_captions_are_true():
    scores = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    true = np.array([False, False, True, False, True, False])
    assert fitted_threshold(scores, true) == 4.5
    assert fitted_threshold(np.zeros(6), true) == 0.0


def test_the_threshold_of_a_cell_never_saw_its_own_group():
    # Nine groups agree; in the tenth everything is 1000 higher. Had its own scores been used,
    # the threshold would have moved up there.
    groups = np.repeat(np.arange(10), 2)
    true = np.tile([True, False], 10)
    score = np.where(true, 1.0, 0.0) + 1000.0 * (groups == 9)
    thresholds = crossfitted_thresholds(JudgedCells(groups, groups, groups, score, true, groups))
    assert set(thresholds[groups == 9]) == {0.5}


def test_a_constant_scorer_ties_on_all_of_t1():
    run = foil_run({str(k): (1.0, 1.0) for k in range(6)}, {})
    rows = {row.measure: row for row in measure(run).rows}
    assert (rows["T1"].value, rows["T1"].ties, rows["T1"].n) == (0.0, 12, 12)
    assert values(run, "half")["T1"] == values(run, "half")["T1-AUC"] == 0.5


def test_questions_that_were_never_asked_are_not_failures():
    run = foil_run({"a": (5.0, 2.0)}, {})
    assert {row.measure for row in measure(run).rows} == set(FOIL) - {
        "T2-nouns",
        "T2-content",
        "T3",
    }


def test_missing_edits_are_failures():
    run = foil_run({"a": (5.0, 2.0)}, {"a": {"-0": 1.0, "-1": 2.0}})
    card = replace(run.card, asks=("judge", "noun", "word", "mend", "caption", "image"))
    run = replace(run, card=card)
    rows = {row.measure: row for row in measure(run, ties="right").rows}
    assert (rows["T2-nouns"].failed, rows["T2-nouns"].value) == (1, 0.0)
    assert (rows["T3"].failed, rows["T3"].value) == (1, 0.0)


def test_auc_equals_the_obvious_count_and_its_interval_the_bootstrap():
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(150), 2)
    shift = rng.normal(size=150)[groups]
    yes, no = rng.normal(size=300) + shift + 0.8, rng.normal(size=300) + shift
    area, interval = auc(yes, no, groups, groups)
    assert area == pytest.approx(np.mean(yes[:, None] > no[None, :]))
    drawn = []
    for _ in range(400):
        picked = rng.integers(150, size=150)
        places = np.concatenate([[2 * g, 2 * g + 1] for g in picked])
        drawn.append(np.mean(yes[places][:, None] > no[places][None, :]))
    low, high = np.quantile(drawn, [0.025, 0.975])
    assert interval.low == pytest.approx(low, abs=0.012)
    assert interval.high == pytest.approx(high, abs=0.012)


def spread_run(n: int = 40) -> Run:
    """Scores on few levels, so that true captions and foils tie often."""
    rng = np.random.default_rng(3)
    grids = {
        str(k): (float(rng.integers(1, 5)), float(rng.integers(0, 4))) for k in range(n)
    }  # fmt: skip
    return foil_run(grids, {})


def slow_area(run: Run, rule: str) -> float:
    """Every true caption against every foil, one by one."""
    table = run.scores
    true = table.filter(table["caption"] == 0)["score"].to_numpy()
    foil = table.filter(table["caption"] == 1)["score"].to_numpy()
    won, tied = true[:, None] > foil[None, :], true[:, None] == foil[None, :]
    if rule != "drop":
        return float((won + {"wrong": 0, "half": 0.5, "right": 1}[rule] * tied).mean())
    untied = (~tied).sum(axis=1)
    return float((won.sum(axis=1)[untied > 0] / untied[untied > 0]).mean())


@pytest.mark.parametrize("rule", ["wrong", "half", "right", "drop"])
def test_the_interval_of_an_area_counts_ties_as_the_area_does(rule):
    run = spread_run()
    (row,) = measure(run, measures=["T1-AUC"], ties=rule).rows
    assert row.value == pytest.approx(slow_area(run, rule))
    assert row.low < row.value < row.high
    # on the logit scale the value lies in the middle, under every rule
    logit = [np.log(x / (1 - x)) for x in (row.low, row.value, row.high)]
    assert logit[1] - logit[0] == pytest.approx(logit[2] - logit[1])


def test_the_interval_of_an_area_without_ties_is_that_of_the_jackknife():
    """Leaving out one group at a time gives the same error, without any formula for ties."""
    run = spread_run(80)
    (row,) = measure(run, measures=["T1-AUC"], ties="drop").rows
    table = run.scores
    left = [
        slow_area(replace(run, scores=table.filter(table["item"] != item)), "drop")
        for item in table["item"].unique(maintain_order=True)
    ]
    error = np.sqrt(79 / 80 * ((np.array(left) - np.mean(left)) ** 2).sum())
    width = np.log(row.high / (1 - row.high)) - np.log(row.low / (1 - row.low))
    expected = 2 * student.ppf(0.975, 79) * error / (row.value * (1 - row.value))
    assert width == pytest.approx(expected, rel=0.05)


def test_pitfall_23_a_missing_score_loses_in_the_area_on_either_side():
    grids = {"a": (5.0, 2.0), "b": (6.0, 3.0), "c": (7.0, 0.0)}
    whole = foil_run(grids, {})
    assert values(whole)["T1-AUC"] == 1.0
    table = whole.scores
    for caption in (0, 1):
        gone = (table["item"] == "test:b") & (table["caption"] == caption)
        run = replace(whole, scores=table.filter(~gone))
        # without b's true caption a third of the true ones beats nothing; without its foil every
        # true caption loses to one foil in three
        assert values(run)["T1-AUC"] == pytest.approx(2 / 3)
        (row,) = measure(run, measures=["T1-AUC"]).rows
        assert row.low < 2 / 3 < row.high


def test_chance_of_t1_follows_the_share_of_true_captions():
    """MCIC has one true caption in five: a threshold that fits says "true" that often."""
    items = [
        Item.imported("test", str(k), images=(str(k),), true=frozenset({(0, 0)}), kind="x",
                      captions=tuple(f"{k} {j}" for j in range(5)), origin=Origin("test"))
        for k in range(400)
    ]  # fmt: skip
    benchmark = benchmark_of(items, ("T1", "T1-correct", "T1-foil"))
    rng = np.random.default_rng(0)
    rows = [(i.id, 0, j, "", float(rng.random())) for i in items for j in range(5)]
    card = RunCard("random", "scorer", benchmark.name, benchmark.sha256)
    run = Run(card, benchmark, scores_frame(rows), answers_frame([]))
    found = {row.measure: row for row in measure(run).rows}
    chances = {name: row.chance for name, row in found.items()}
    assert chances == pytest.approx({"T1": 0.68, "T1-correct": 0.2, "T1-foil": 0.8})
    for row in found.values():
        assert row.low < row.chance < row.high  # random scores are at chance


def test_chance_of_t1_is_one_half_where_as_many_captions_are_true_as_false():
    found = measure(spread_run(), measures=["T1", "T1-correct", "T1-foil"]).rows
    assert {row.chance for row in found} == {0.5}

"""Outcomes as a table, and scores by any column of items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.conftest import benchmark_of, choices_of, grid_item, run_of
from tests.measures.test_foil import foil_run
from typer.testing import CliRunner

import tellapart as ta
from tellapart.benchmark.benchmark import save_benchmark
from tellapart.cli.main import app
from tellapart.errors import BadInput, UnknownName
from tellapart.files import read_table
from tellapart.items import Item, Origin
from tellapart.measures.item_columns import COLUMNS, Breakdown
from tellapart.score.run import save_run

RIGHT, WRONG, TIED = [[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 1.0]]


def caption_pair(name: str, kind: str, **notes: str) -> Item:
    """An image with a true caption and a false one."""
    return grid_item(name, 1, 2, {(0, 0)}, kind=kind) if not notes else replace(
        grid_item(name, 1, 2, {(0, 0)}, kind=kind), origin=Origin("test", notes=notes)
    )  # fmt: skip


def kinds_run():
    """Four kinds of three families; right, wrong, tied and failed answers."""
    kinds = ["replace-object", "replace-object", "replace-relation", "swap-object", "add-object"]
    items = [caption_pair(str(k), kind) for k, kind in enumerate(kinds)]
    grids = {"0": RIGHT, "1": WRONG, "2": RIGHT, "3": TIED, "4": [[1.0]]}
    return run_of(benchmark_of(items), grids)


def test_every_question_has_a_row_with_its_outcome_and_its_item():
    table = ta.outcomes(kinds_run())
    assert table.columns[:10] == [
        "benchmark", "model", "item", "question", "right", "share", "tied", "failed", "chance",
        "trials",
    ]  # fmt: skip
    assert set(COLUMNS) < set(table.columns)
    assert table["item"].to_list() == [f"test:{k}" for k in range(5)]
    assert table["right"].to_list() == [1, 0, 1, 0, 0]
    assert table["share"].to_list() == [1, 0, 1, 0.5, 0]
    assert table["tied"].to_list() == [False, False, False, True, False]
    assert table["failed"].to_list() == [False, False, False, False, True]
    assert table["family"].to_list() == ["replace", "replace", "replace", "swap", "add"]
    assert set(table["question"]) == {"caption@0"} and set(table["chance"]) == {0.5}
    assert set(table["options"]) == {2} and set(table["right_place"]) == {1}
    assert set(table["caption_length"]) == {4}  # "caption 0 of 0"
    assert table["target"].null_count() == 5


def test_the_mean_of_the_table_is_the_measured_score(benchmarks, tmp_path):
    runs = ta.evaluate(["oracle?error=0.3", "chance-chooser"], benchmarks["bison"], tmp_path / "r")
    table = ta.outcomes(runs)
    for row in ta.measure(runs).rows:
        own = table.filter(table["model"] == row.model)
        assert (own["right"].mean(), own.height) == (pytest.approx(row.value), row.n)
    groups = {item.id: item.group for item in benchmarks["bison"]}
    assert table["group"].to_list() == [groups[item] for item in table["item"]]


def test_facts_of_a_foil():
    table = ta.outcomes(foil_run({"a": (5.0, 2.0)}, {}), measures=["T1"])
    row = table.row(1, named=True)  # the foil: "A red cat sees a ball."
    assert row["question"] == "judge@0,1"
    assert (row["target"], row["foil"], row["pair"]) == ("dog", "cat", "dog/cat")
    assert (row["foil_position"], row["supercategory"], row["options"]) == (3, "animal", 2)
    assert row["caption_length"] == 6


def test_trials_are_put_together():
    bench = benchmark_of([caption_pair("x", "swap-object")])
    run = choices_of(bench, [("x", "caption@0", 0), ("x", "caption@0", 1)])
    answers = run.answers.with_columns(trial=pl.Series([0, 1], dtype=pl.Int32))
    table = ta.outcomes(replace(run, answers=answers))
    assert (table["right"].to_list(), table["trials"].to_list()) == ([0.5], [2])


def test_scores_by_family():
    scores = ta.measure(kinds_run(), by="family")
    found = {row.kind: (row.value, row.n) for row in scores.rows}
    assert found == {
        "micro": (0.4, 5), "macro": (pytest.approx(2 / 9), 5), "replace": (2 / 3, 3),
        "swap": (0.0, 1), "add": (0.0, 1),
    }  # fmt: skip
    assert {row.by for row in scores.rows} == {"family"}
    assert str(scores).count("family") == 1


def test_kinds_are_there_on_request():
    assert [row.kind for row in ta.measure(kinds_run()).rows] == ["micro"]
    kinds = ["micro", "macro", "add-object", "replace-object", "replace-relation", "swap-object"]
    for options in ({"by_kind": True}, {"by": "kind"}):
        assert [row.kind for row in ta.measure(kinds_run(), **options).rows] == kinds


def test_aro_is_averaged_over_relations_that_are_not_symmetric():
    """on: 1 of 2, under: 1 of 1; near is symmetric: it has a row and stays out of the macro."""
    relations = {"a": "on", "b": "on", "c": "under", "d": "near", "e": "near"}
    items = [caption_pair(k, "aro-relation", relation_name=name) for k, name in relations.items()]
    grids = {"a": RIGHT, "b": WRONG, "c": RIGHT, "d": WRONG, "e": WRONG}
    scores = ta.measure(run_of(benchmark_of(items), grids), by="family")
    assert {row.kind: row.value for row in scores.rows} == {
        "micro": 0.4, "macro": 0.75, "near (symmetric)": 0.0, "on": 0.5, "under": 1.0,
    }  # fmt: skip
    assert scores.only(kind="macro").rows[0].n == 3


def test_valse_is_grouped_by_its_pieces():
    items = [caption_pair(k, k) for k in ("plurals", "relations", "noun-phrases", "existence")]
    table = ta.outcomes(run_of(benchmark_of(items), {item.kind: RIGHT for item in items}))
    assert sorted(table["family"]) == ["existence", "foil-it", "plurality", "spatial relations"]


def test_a_table_of_your_own_is_joined_by_item(tmp_path):
    run = kinds_run()
    own = tmp_path / "mine.csv"
    own.write_text("item,hard,years\ntest:0,no,3\ntest:1,yes,4\ntest:2,no,5\ntest:3,yes,6\n")
    scores = ta.measure(run, by="hard", item_table=own)
    assert {row.kind: row.value for row in scores.rows} == {
        "micro": 0.4, "macro": 0.5, "no": 1.0, "yes": 0.0, "(none)": 0.0,
    }  # fmt: skip
    table = ta.outcomes(run, item_table=own)
    assert table["years"].to_list() == [3.0, 4.0, 5.0, 6.0, None]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("id,hard\ntest:0,no\n", "no column item"),
        ("item,hard\nother,no\n", "no row of the table names an item"),
        ("item,hard\ntest:0,no\ntest:0,yes\n", "more than once"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(tmp_path, text, problem):
    own = tmp_path / "mine.csv"
    own.write_text(text)
    with pytest.raises(BadInput, match=problem):
        ta.measure(kinds_run(), by="hard", item_table=own)


def test_columns_that_do_not_exist_or_are_empty_are_named():
    with pytest.raises(UnknownName, match="column to group by called 'colour'"):
        ta.measure(kinds_run(), by="colour")
    with pytest.raises(BadInput, match="no item of these runs has a value in column target"):
        ta.measure(kinds_run(), by="target")


def test_many_numbers_are_put_into_quarters():
    made = Breakdown.of("length", pl.Series([*range(1, 41), None]))
    assert made.names == ("1 to 10", "11 to 20", "21 to 30", "31 to 40", "(none)")
    assert np.bincount(made.code).tolist() == [10, 10, 10, 10, 1]
    few = Breakdown.of("length", pl.Series([10, 2, 10]))
    assert (few.names, few.code.tolist()) == (("2", "10"), [1, 0, 1])


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet"])
def test_the_command_writes_the_table_and_prints_by_column(tmp_path, form):
    save_run(kinds_run(), tmp_path / "run")
    out = tmp_path / f"outcomes.{form}"
    save_benchmark(kinds_run().benchmark, tmp_path / "bench")
    command = ["measure", str(tmp_path / "run"), "--on", str(tmp_path / "bench"), "--no-guessable",
               "--by", "family", "--outcomes", str(out)]  # fmt: skip
    told = CliRunner().invoke(app, command)
    assert told.exit_code == 0, told.output
    assert "replace" in told.output and "swap" in told.output
    table = read_table(out)
    assert table.height == 5
    assert table["item"].to_list() == ta.outcomes(kinds_run())["item"].to_list()
    refused = CliRunner().invoke(app, [*command[:-1], str(tmp_path / "outcomes.xlsx")])
    assert isinstance(refused.exception, BadInput)

"""Accuracy by a fact: easy and hard groups, and where two models differ."""

from __future__ import annotations

import json

import polars as pl
import pytest
from typer.testing import CliRunner

import tellapart as ta
from tellapart.benchmark.benchmark import save_benchmark
from tellapart.cli.main import app
from tellapart.errors import BadInput, UnknownName
from tellapart.score.run import save_run
from tests.analyses.foils import answered, foil_bench, foil_item
from tests.conftest import benchmark_of


@pytest.fixture(scope="module")
def bench():
    return foil_bench(600)


def easy_animals(item):
    return 3.0 if item.kind == "animal" else -0.5


@pytest.fixture(scope="module")
def found(bench):
    other = answered(bench, lambda item: 3.0 if item.kind == "vehicle" else 1.0, "two")
    runs = [answered(bench, easy_animals, "one"), other]
    return ta.analyse("by", runs, ta.ByOptions(by="supercategory", resamples=200))


def test_the_easiest_and_the_hardest_group_are_found(found):
    ends = found.table("easiest-hardest").filter(pl.col("model") == "one")
    assert ends.filter(pl.col("end") == "easiest")["group"].to_list() == ["animal"]
    assert (
        "differ more than chance explains" in found.sentences[0]
        and "animal 9" in found.sentences[0]
    )
    animal = found.table("groups").filter(pl.col("group") == "animal", pl.col("model") == "one")
    assert animal["low"][0] < 0.9526 < animal["high"][0], "the logit 3 is a share of 0.9526"


def test_where_two_models_part_is_found_with_its_direction(found):
    parted = {row["group"]: row for row in found.table("differences").iter_rows(named=True)}
    assert parted["vehicle"]["difference"] < -0.3 and parted["vehicle"]["p_holm"] < 0.001
    assert parted["animal"]["difference"] > 0.1 and parted["animal"]["p_holm"] < 0.05
    assert "differ on 3 of 3 groups" in found.sentences[-1] and ", p = " in found.sentences[-1]


def test_of_many_pairs_of_models_the_few_that_differ_most_are_named(bench):
    runs = [answered(bench, lambda item, k=k: 99.0 * (-1) ** k, f"m{k}") for k in range(5)]
    found = ta.analyse("by", runs, ta.ByOptions(by="kind", resamples=20))
    told = found.sentences[5:]
    assert len(told) == 7 and sum(" differ on " in one for one in told) == 5
    assert "1 other pair of models" in told[5] and told[6].count(" and ") == 4


def test_where_nothing_differs_nothing_is_claimed(bench):
    run = answered(bench, lambda item: 0.5, "flat")
    found = ta.analyse("by", run, ta.ByOptions(by="pair", resamples=50))
    assert "no difference among the" in found.sentences[0] and len(found.tables) == 2


def test_a_group_of_one_item_does_not_win():
    items = [foil_item(f"a{k:03}", 0, 6) for k in range(60)] + [foil_item("lonely", 1, 6)]
    items += [foil_item(f"b{k:03}", 2, 6) for k in range(60)]
    bench = benchmark_of(items)
    sure = {0: 2.5, 1: 99.0, 2: -2.5}
    run = answered(bench, lambda item: sure[["dog", "cow", "cup"].index(item.slot.target)], "m")
    found = ta.analyse("by", run, ta.ByOptions(by="pair", resamples=50)).table("groups")
    assert found["group"].to_list()[0] == "dog/cat", "not cow/owl, which is right in its one item"


def test_a_sentence_calls_no_group_the_highest_where_a_small_one_is_higher():
    items = [foil_item(f"a{k:03}", 0, 6) for k in range(60)] + [foil_item("lonely", 1, 6)]
    items += [foil_item(f"b{k:03}", 2, 6) for k in range(60)]
    sure = {"dog": 2.5, "cow": 99.0, "cup": -2.5}
    run = answered(benchmark_of(items), lambda item: sure[item.slot.target], "m")
    found = ta.analyse("by", run, ta.ByOptions(by="pair", resamples=50))
    assert found.table("groups")["value"].max() == 1.0
    assert "shrunk towards the mean, puts dog/cat" in found.sentences[0]
    assert "highest" not in found.sentences[0] and "lowest" not in found.sentences[0]


def test_a_run_that_is_alike_everywhere_has_no_easiest_group(bench):
    run = answered(bench, lambda item: 99.0, "always")
    found = ta.analyse("by", run, ta.ByOptions(by="kind", resamples=50))
    assert found.sentences == (
        f"always: accuracy is 100.0% for every kind (n = {len(bench.items):,}).",
    )
    assert found.figure.words.count("animal") == 1, "each group is told once"


def test_bad_input_is_named(bench):
    run = answered(bench, lambda item: 0.0, "m")
    with pytest.raises(UnknownName, match="colour"):
        ta.analyse("by", run, ta.ByOptions(by="colour"))
    alone = benchmark_of([foil_item(f"{k}", 0, 6) for k in range(30)])
    with pytest.raises(BadInput, match="all items have the same pair"):
        ta.analyse("by", answered(alone, lambda item: 0.0, "m"), ta.ByOptions(by="pair"))
    with pytest.raises(BadInput, match="belong to 2 benchmarks"):
        ta.analyse("by", [run, answered(alone, lambda item: 0.0, "m")])
    with pytest.raises(BadInput, match="RegressionOptions are not options"):
        ta.analyse("by", run, ta.RegressionOptions())
    with pytest.raises(UnknownName, match="bye"):
        ta.analyse("bye", run)


def test_the_command_prints_and_writes_everything(tmp_path, bench):
    save_benchmark(bench, tmp_path / "bench")
    save_run(answered(bench, easy_animals, "one"), tmp_path / "run")
    words = ["analyse", "by", tmp_path / "run", "--on", tmp_path / "bench", "--by", "kind",
             "--resamples", "50", "--out", tmp_path / "out"]  # fmt: skip
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0 and "accuracy by kind" in done.stdout
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {"by.json", "by.svg", "by.txt", "groups.csv", "groups.tex",
                     "easiest-hardest.csv", "easiest-hardest.tex"}  # fmt: skip
    stored = json.loads((tmp_path / "out" / "by.json").read_text())
    assert stored["tables"]["groups"][0]["group"] == "animal" and "animal" in stored["figure"]
    assert r"\toprule" in (tmp_path / "out" / "groups.tex").read_text()
    again = CliRunner().invoke(app, [str(word) for word in words])
    assert again.exit_code != 0 and "exists" in str(again.exception)

"""Refining: the steps against an obvious version, the held-out part, the files, the verb."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import benchmark_of, grid_item
from typer.testing import CliRunner

import tellapart as ta
from tellapart.cli.main import app
from tellapart.errors import BadInput, UnknownName
from tellapart.items import Item, Origin
from tellapart.mine.negative_scores import ScoredNegatives, pair_of, scored
from tellapart.mine.refinement import (
    KEPT,
    SHORTER,
    Refinement,
    RefineRecipe,
    balanced,
    best,
    cells,
    faults,
    folds_of,
    refined,
    report,
    scaled,
)
from tellapart.models.baselines import ConstantChooser
from tellapart.models.model import ModelInfo
from tellapart.seeds import rng
from tellapart.verbs.benchmarks.refine import TABLE, RefineOptions, refine

NOWHERE = Path("scores.csv")


def table(n: int, kinds: int = 2, cue: float = 0.3, seed: int = 0, **more: Any) -> pl.DataFrame:
    """Negatives whose originals score higher by `cue` standard deviations, in both scores."""
    draw = rng(seed, "scores")
    common = draw.normal(size=n)
    columns: dict[str, Any] = {
        "id": [f"n{k:06d}" for k in range(n)],
        "kind": [f"kind-{k % kinds}" for k in range(n)],
        "group": [f"g{k // 3}" for k in range(n)],
    }
    for name in ("plausibility", "grammar"):
        columns[name] = common + draw.normal(size=n) + cue
        columns[f"negative_{name}"] = common + draw.normal(size=n)
    return pl.DataFrame(columns | more)


def kept_ids(one: ScoredNegatives, recipe: RefineRecipe) -> set[str]:
    return set(refined(one, recipe).table().filter(pl.col("outcome") == KEPT)["id"])


def ahead(one: ScoredNegatives, rows: Any) -> list[float]:
    """How often the original has the higher score, ties halved."""
    gaps = one.scores[:, rows, 0] - one.scores[:, rows, 1]
    return [float(np.mean(np.where(gap > 0, 1.0, np.where(gap == 0, 0.5, 0.0)))) for gap in gaps]


def plain_ranks(values: list[tuple[float, float]]) -> list[tuple[float, float]]:
    every = [value for pair in values for value in pair]
    below = {v: sum(w < v for w in every) + 0.5 * every.count(v) for v in set(every)}
    return [(below[a] / len(every), below[b] / len(every)) for a, b in values]


def test_ranks_and_the_best_are_those_of_an_obvious_version():
    raw = table(60, kinds=3).with_columns(pl.col("grammar", "negative_grammar").round(0))
    one = scored(raw, NOWHERE)
    between = scaled(one, "rank")
    chosen = best(between, one.kind, 3, 0.35)
    for code in range(3):
        rows = np.flatnonzero(one.kind == code)
        for score in range(2):
            slow = plain_ranks([tuple(pair) for pair in one.scores[score, rows].tolist()])
            assert between[score, rows] == pytest.approx(np.array(slow))
        order = sorted(rows, key=lambda k: (-between[:, k, 1].mean(), one.table["id"][int(k)]))
        assert set(np.flatnonzero(chosen)[np.isin(np.flatnonzero(chosen), rows)]) == set(
            order[: math.ceil(0.35 * len(rows))]
        )


def slow_cell(gap: float, bins: int) -> int:
    """Bins of width 2 / bins away from 0, which has its own."""
    step = 0
    while step < bins // 2 and abs(gap) > step * 2 / bins + 1e-12:
        step += 1
    return step if gap > 0 else -step


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(-8, 8), st.integers(-8, 8)),
        min_size=1,
        max_size=60,
    ),
    st.sampled_from([2, 4, 10]),
    st.integers(0, 3),
)
def test_cells_are_made_equal_to_their_opposites(rows, bins, seed):
    kind = np.array([row[0] for row in rows])
    gaps = np.array([[row[1] for row in rows], [row[2] for row in rows]]) / 8
    kept = balanced(cells(gaps, kind, 3, bins), np.zeros(len(rows), np.int64), seed)
    there: Counter[Any] = Counter()
    left: Counter[Any] = Counter()
    for k, (own, *_) in enumerate(rows):
        cell = (own, slow_cell(gaps[0, k], bins), slow_cell(gaps[1, k], bins))
        there[cell] += 1
        left[cell] += int(kept[k])
    for (own, a, b), number in list(there.items()):
        expected = min(number, there[own, -a, -b])
        assert left[own, a, b] == expected == left[own, -a, -b]


def test_held_out_rows_are_kept_as_often_as_the_other_folds_say():
    """Each row many times over, against the rule written out by hand."""
    draw = rng(0, "gaps")
    gaps, kind = draw.integers(-2, 3, size=(2, 40)) / 2, draw.integers(2, size=40)
    fold = draw.integers(3, size=40)
    grid = cells(gaps, kind, 2, 4)
    kept = np.mean([balanced(grid, fold, seed) for seed in range(4_000)], axis=0)
    names = [(kind[k], *gaps[:, k]) for k in range(40)]
    for k, (own, a, b) in enumerate(names):
        others = [name for name, other in zip(names, fold, strict=True) if other != fold[k]]
        n, m = others.count((own, a, b)), others.count((own, -a, -b))
        expected = 1.0 if a == b == 0 else min(n + 1, m) / (n + 1)
        assert kept[k] == pytest.approx(expected, abs=0.035)


def test_pitfall_20_gaps_of_1_and_beyond_have_a_cell_and_its_opposite():
    gaps = np.array([[1.0, -1.0, 0.0, 3.0, -3.0], [-1.0, 1.0, 0.0, -2.0, 2.0]])
    grid = cells(gaps, np.zeros(5, np.int64), 1, 50)
    assert grid.cell.min() >= 0 and grid.cell.max() < grid.count == 51 * 51
    assert grid.cell[0] == grid.opposite[1] == grid.cell[3] == grid.opposite[4]
    assert grid.cell[2] == grid.opposite[2]
    columns = {"plausibility": [1.0, 0.0], "negative_plausibility": [0.0, 1.0]}
    columns |= {"grammar": [0.0, 1.0], "negative_grammar": [1.0, 0.0]}
    extreme = pl.DataFrame({"id": ["a", "b"], "kind": ["x", "x"], **columns})
    recipe = RefineRecipe(keep=1, scale="given", folds=1)
    assert kept_ids(scored(extreme, NOWHERE), recipe) == {"a", "b"}


def test_pitfall_20_the_same_seed_keeps_the_same_whatever_the_order_of_rows():
    raw = table(3_000)
    first = kept_ids(scored(raw, NOWHERE), RefineRecipe(bins=10))
    turned = raw.sample(fraction=1, shuffle=True, seed=5)
    assert kept_ids(scored(turned, NOWHERE), RefineRecipe(bins=10)) == first
    assert kept_ids(scored(raw, NOWHERE), RefineRecipe(bins=10, seed=1)) != first


@pytest.mark.parametrize("bins", [2, 50, 200])
def test_neither_score_tells_which_caption_is_the_negative(bins):
    """Exactly with one fold, and nearly so with several however sparse the cells are."""
    one = scored(table(30_000, cue=0.5), NOWHERE)
    assert min(ahead(one, np.ones(len(one), bool))) > 0.6
    exact = refined(one, RefineRecipe(keep=1, bins=bins, folds=1))
    held_out = refined(one, RefineRecipe(keep=1, bins=bins))
    for code in range(2):
        of_kind = one.kind == code
        assert ahead(one, exact.kept & of_kind) == [0.5, 0.5]
        assert ahead(one, held_out.kept & of_kind) == pytest.approx([0.5, 0.5], abs=0.005)
    assert held_out.kept.sum() == pytest.approx(exact.kept.sum(), rel=0.2)


def test_small_sets_are_balanced_in_the_mean():
    """With few rows a cell the rule min(n, m) / n would leave a cue: the row itself must count."""
    ahead_by, rows = np.zeros(2), 0
    for seed in range(60):
        one = scored(table(400, kinds=1, cue=0.6, seed=seed), NOWHERE)
        kept = refined(one, RefineRecipe(keep=1, bins=20, folds=2, seed=seed)).kept
        gaps = one.scores[:, kept, 0] - one.scores[:, kept, 1]
        ahead_by, rows = ahead_by + np.sign(gaps).sum(axis=1), rows + kept.sum()
    assert (np.abs(ahead_by) < 0.02 * rows).all(), (ahead_by, rows)


def test_nothing_of_a_fold_is_fitted_on_it():
    one = scored(table(900), NOWHERE)
    recipe = RefineRecipe(keep=1)
    first = refined(one, recipe)
    spoiled = one.scores.copy()
    some = (first.fold == 0) & (np.arange(len(one)) % 2 == 0)
    spoiled[:, some] = spoiled[:, some][:, :, ::-1]  # another truth, the same captions
    gaps = (one.scores[:, :, 0] - one.scores[:, :, 1], spoiled[:, :, 0] - spoiled[:, :, 1])
    often = [
        np.mean([balanced(cells(g, one.kind, 2, 4), first.fold, s) for s in range(400)], axis=0)
        for g in gaps
    ]
    others = (first.fold == 0) & ~some
    assert often[0][others] == pytest.approx(often[1][others], abs=0.13)
    assert np.abs(often[0][some] - often[1][some]).max() > 0.3


def test_a_kind_with_few_negatives_is_within_two_points():
    for seed in range(20):
        one = scored(table(600, kinds=1, cue=0.6, seed=seed), NOWHERE)
        kept = refined(one, RefineRecipe(keep=1, bins=20, seed=seed)).kept
        assert ahead(one, kept) == pytest.approx([0.5, 0.5], abs=0.02)


def test_groups_are_held_out_whole_and_evenly():
    group = np.repeat(np.arange(50), 4)
    fold = folds_of(group, 5, 0)
    assert [len(set(group[fold == k])) for k in range(5)] == [10] * 5
    assert all(len(set(fold[group == g])) == 1 for g in range(50))
    assert (folds_of(group, 5, 1) != fold).any()
    assert set(folds_of(np.array([0, 0, 1]), 5, 0)) == {0, 1}, "no more folds than groups"


def test_malformed_and_repeated_negatives_are_found():
    pairs = [
        ("A dog.", "A cat."),
        ("A dog.", "Is it a cat?"),
        ("A dog.", "A cat and"),
        ("a dog", "a bird"),
        ("A dog.", " a  DOG "),
        ("A dog", "a dog!"),
        ("A cow.", "a cat"),
        ("a cow", "A CAT."),
        ("A dog.", 'He says "cat."'),
    ]
    found = faults(pl.Series([a for a, _ in pairs]), pl.Series([b for _, b in pairs]))
    assert list(found) == [
        None, "question", "no final mark", None, "no final mark", "same as its original",
        "no final mark", "duplicate", None,
    ]  # fmt: skip


def test_length_that_remains_is_reported():
    n = 400
    texts = {
        "caption": [f"A dog number {k}." for k in range(n)],
        "negative_caption": [f"A dog number {k} and a very long cat." for k in range(n)],
    }
    one = scored(table(n, **texts), NOWHERE)
    told = report(refined(one, RefineRecipe(bins=4)), "x", {})
    assert [line.guesses[SHORTER] for line in told.lines] == [1.0] * 9
    assert (
        told.line("all", "given").items
        == n
        == told.line("all", "chosen").items
        + sum(count for why, count in told.left_out.items() if why != "refined away")
    )
    assert "fewer characters" in str(told) and "100.0" in str(told)
    few = report(refined(scored(table(60), NOWHERE), RefineRecipe(bins=400)), "x", {})
    assert "little is left of kind-0" in str(few)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop("grammar"), "no column called 'grammar'"),
        (lambda t: t.with_columns(grammar=pl.lit("high")), "grammar of the negative 'n000000'"),
        (lambda t: t.with_columns(grammar=pl.lit(None, pl.Float64)), "is None"),
        (lambda t: t.with_columns(grammar=pl.lit(float("nan"))), "is nan"),
        (lambda t: t.with_columns(id=pl.lit("same")), "'same' occurs twice"),
        (lambda t: t.head(0), "no negative"),
    ],
)
def test_tables_that_cannot_be_refined_are_explained(change, message):
    with pytest.raises((BadInput, UnknownName), match=message):
        scored(change(table(6)), NOWHERE)


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (RefineRecipe(keep=0), "cannot be kept"),
        (RefineRecipe(bins=7), "not symmetric around 0"),
        (RefineRecipe(bins=0), "not symmetric around 0"),
        (RefineRecipe(folds=0), "folds: 0"),
        (RefineRecipe(scale="log"), "no scale called 'log'"),
        (RefineRecipe(scale="given"), "are between"),
    ],
)
def test_recipes_that_make_no_sense_are_explained(recipe, message):
    with pytest.raises((BadInput, UnknownName), match=message):
        refined(scored(table(6), NOWHERE), recipe)


class Letters:
    """Scores a text by how often it has a letter."""

    def __init__(self, letter: str) -> None:
        self.letter, self.asked = letter, 0
        self.facts = ModelInfo(f"letters-{letter}")

    def score_texts(self, texts: list[str]) -> Any:
        self.asked += len(texts)
        return np.array([text.count(self.letter) / (1 + len(text)) for text in texts])


def negatives(n: int) -> list[Item]:
    words = ["a dog", "a cat", "two boats", "an apple", "some geese", "a banana", "ants"]
    return [
        Item.imported(
            "test", str(k), images=(f"i{k // 2}",), true=frozenset({(0, k % 2)}),
            original=(0, k % 2), kind=f"kind-{k % 2}", origin=Origin("test"),
            captions=(f"{words[k % 7]} and {words[k % 5]} {k}.",
                      f"{words[k % 3]} and {words[k % 6]} {k} too."),
        )
        for k in range(n)
    ]  # fmt: skip


def test_a_benchmark_is_refined_and_its_scores_are_kept(tmp_path):
    whole = benchmark_of(negatives(400))
    models = Letters("a"), Letters("o")
    options = RefineOptions(
        plausibility=models[0], grammar=models[1], keep=0.8, bins=6, use_cache=False
    )
    told = refine(whole, tmp_path / "out", options)
    part = ta.load_benchmark(tmp_path / "out")
    assert 0 < len(part.items) == told.kept < 320
    assert {item.id for item in part.items} <= set(whole.by_id)
    assert part.card.name == "hand-made-refined" and part.card.made["refined_of"] == whole.sha256
    names = part.card.made["refined"]["scores"]
    assert names == {"plausibility": "letters-a", "grammar": "letters-o"}
    assert models[0].asked == len({c for item in whole.items for c in item.captions})
    rows = pl.read_parquet(tmp_path / "out" / TABLE)
    assert set(rows.filter(pl.col("outcome") == KEPT)["id"]) == {item.id for item in part.items}
    for row in rows.head(20).iter_rows(named=True):
        item = whole.by_id[row["id"]]
        assert row["caption"] == item.captions[item.original[1]]
        assert row["plausibility"] == pytest.approx(models[0].score_texts([row["caption"]])[0])
    again = refine(tmp_path / "out" / TABLE, tmp_path / "again", options)
    assert isinstance(again.report, Refinement) and isinstance(told.report, Refinement)
    assert again.report.lines == told.report.lines and again.given == told.given == 400
    assert json.loads((tmp_path / "again" / "refinement.json").read_text())["lines"]
    with pytest.raises(BadInput, match="already exists"):
        refine(whole, tmp_path / "out", options)


def test_scores_may_come_from_any_scorer_or_run(tmp_path):
    whole = benchmark_of(negatives(60))
    runs = ta.evaluate(["blind"], whole, tmp_path / "runs")
    options = RefineOptions(plausibility="blind", grammar=str(runs[0].folder), keep=1, bins=4)
    refine(whole, tmp_path / "out", options)
    rows = pl.read_parquet(tmp_path / "out" / TABLE)
    assert (rows["plausibility"] == rows["grammar"]).all()
    assert (rows["negative_plausibility"] == rows["negative_grammar"]).all()
    with pytest.raises(BadInput, match="chooses options"):
        refine(
            whole, tmp_path / "no", RefineOptions(plausibility=ConstantChooser(), grammar="blind")
        )
    with pytest.raises(BadInput, match="no source for the scores of grammar"):
        refine(whole, tmp_path / "no", RefineOptions(plausibility="blind"))
    counting = Letters("a")
    with pytest.raises(UnknownName, match="no model called 'blnd'"):
        refine(whole, tmp_path / "no", RefineOptions(plausibility=counting, grammar="blnd"))
    assert counting.asked == 0, "said before anything is scored"


def test_items_of_other_shapes_are_refused_and_grids_are_taken_by_their_original():
    square = grid_item("1", 2, 2, {(0, 0), (1, 1)}, original=(1, 1))
    pair = pair_of(square)
    assert (pair.image, pair.original, pair.negative) == (1, 1, 0)
    for bad in (
        grid_item("2", 2, 1, {(0, 0)}),
        grid_item("3", 1, 5, {(0, 2)}),
        grid_item("4", 2, 2, {(0, 0), (1, 1)}),
        grid_item("5", 1, 2, {(0, 0), (0, 1)}, original=(0, 0)),
    ):
        with pytest.raises(BadInput, match="not a pair of an original caption and a negative"):
            pair_of(bad)


def test_the_verb_reads_a_table_and_prints_or_gives_json(tmp_path):
    table(2_000).write_csv(tmp_path / "scores.csv")
    call = ["refine", str(tmp_path / "scores.csv"), str(tmp_path / "out"), "--bins", "10"]
    shown = CliRunner().invoke(app, call)
    assert shown.exit_code == 0, shown.output
    assert "kind-1  given" in shown.output and "refined away" in shown.output
    again = CliRunner().invoke(app, [*call, "--overwrite", "--json"])
    read = json.loads(again.output)
    assert read["bins"] == 10 and read["lines"][0]["step"] == "given"
    assert pl.read_parquet(tmp_path / "out" / TABLE).height == 2_000


def test_the_best_by_both_scores_are_those_that_neither_leaves_out():
    rng = np.random.default_rng(3)
    between = rng.random((2, 200, 2))
    kind = np.repeat([0, 1], 100)
    by_both = best(between, kind, 2, 0.35, "both")
    slow = np.zeros(200, bool)
    for one in (0, 1):
        rows = np.flatnonzero(kind == one)
        for row in rows:
            slow[row] = all(
                (between[k, rows, 1] < between[k, row, 1]).mean() >= 0.65 for k in (0, 1)
            )
    assert by_both.tolist() == slow.tolist()
    assert 0 < by_both.sum() < best(between, kind, 2, 0.35).sum()


def test_gaps_evened_out_over_all_kinds_may_differ_within_one():
    one = scored(table(400), NOWHERE)
    apart = refined(one, RefineRecipe(keep=1, bins=4, folds=1)).kept
    together = refined(one, RefineRecipe(keep=1, bins=4, folds=1, within="all")).kept
    assert together.sum() >= apart.sum()
    gaps = scaled(one, "rank")[:, :, 0] - scaled(one, "rank")[:, :, 1]
    assert np.sign(gaps[0, together]).sum() == 0 == np.sign(gaps[1, together]).sum()

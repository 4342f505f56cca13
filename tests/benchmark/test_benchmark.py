"""Benchmarks: round trip, groups, hashes, and what `validate` finds."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import polars as pl
import pytest
from PIL import Image as Pillow
from tests.conftest import benchmark_of, grid_item

import tellapart as ta
from tellapart.benchmark.benchmark import Card, make_benchmark, save_benchmark
from tellapart.benchmark.table import ItemTable
from tellapart.errors import BadInput, UnknownName
from tellapart.items import Image


def test_a_benchmark_reads_back_as_it_was_written(benchmarks, tmp_path):
    for name, benchmark in benchmarks.items():
        copy = save_benchmark(benchmark, tmp_path / name)
        assert copy.items == benchmark.items
        assert copy.sha256 == benchmark.sha256
        picture = copy.picture(copy.items[0].images[0])
        assert picture.open().size == (224, 224)


def test_items_load_with_plain_polars(benchmarks):
    table = pl.read_parquet(benchmarks["bivlc"].root / "items.parquet")
    assert {"id", "images", "captions", "true_cells", "kind", "group"} <= set(table.columns)
    assert table["true_cells"].list.len().to_list() == [2] * table.height


def test_items_that_share_images_even_through_others_are_one_group():
    items = [
        grid_item("1", 2, 1, {(0, 0)}, image_ids=["a", "b"]),
        grid_item("2", 2, 1, {(0, 0)}, image_ids=["c", "d"]),
        grid_item("3", 2, 1, {(0, 0)}, image_ids=["b", "e"]),
        grid_item("4", 1, 1, {(0, 0)}, image_ids=["e"]),
    ]
    assert ItemTable.of(items).connected_groups().to_list() == ["a", "c", "a", "a"]


def asked(name, image, captions, right):
    """One image, and captions of which the one at a place is right."""
    item = grid_item(name, 1, len(captions), {(0, right)}, image_ids=[image])
    return replace(item, captions=tuple(captions))


def test_items_that_take_turns_at_one_set_of_captions_are_one_group():
    """Of one fair set exactly one item is right without looking: they are no five items."""
    sets = [["a dog", "a cat", "a cow"], ["two dogs", "two cats", "two cows"]]
    turns = [
        asked(f"{k}{turn}", f"{k}-{turn}", captions[turn:] + captions[:turn], 0)
        for k, captions in enumerate(sets)
        for turn in range(3)
    ]
    groups = ItemTable.of(turns).connected_groups().to_list()
    assert groups == ["0-0"] * 3 + ["1-0"] * 3
    more = [*turns, asked("x", "0-2", ["a bear", "a bee"], 0), asked("y", "1-1", ["a bear"], 0)]
    assert ItemTable.of(more).connected_groups().to_list()[-2:] == ["0-0", "1-0"]
    assert [item.group for item in benchmark_of(turns).items] == groups


def test_twins_are_one_group():
    """They were chosen as opposites: what is true of one is false of the other."""
    items = [asked(str(k), image, ["a dog", "a cat"], 0) for k, image in enumerate("abcda")]
    noted = [
        replace(item, origin=replace(item.origin, notes={"twins": name} if name else {}))
        for item, name in zip(items, ["x", "x", "", "y", "y"], strict=True)
    ]
    assert ItemTable.of(noted).connected_groups().to_list() == ["a", "a", "c", "a", "a"]


def test_captions_that_merely_recur_connect_nothing():
    """As in BISON (one caption) and FOIL (a pair with the same truth): the images are others."""
    items = [
        asked("1", "a", ["a wave"], 0), asked("2", "b", ["a wave"], 0),
        asked("3", "c", ["a man", "a kite"], 0), asked("4", "d", ["a kite", "a man"], 1),
        asked("5", "e", ["a man", "a man", "a kite"], 0), asked("6", "f", ["a kite", "a man"], 1),
        asked("7", "g", ["x,y", "z"], 0), asked("8", "h", ["x", "y,z"], 0),
    ]  # fmt: skip
    assert ItemTable.of(items).connected_groups().to_list() == list("abcdefgh")


def test_the_hash_changes_with_what_is_asked_and_not_with_the_order():
    items = [grid_item(str(k), 2, 1, {(0, 0)}) for k in range(3)]
    other = [*items[:2], grid_item("2", 2, 1, {(1, 0)})]
    assert benchmark_of(items).sha256 == benchmark_of(items[::-1]).sha256
    assert benchmark_of(items).sha256 != benchmark_of(other).sha256


def test_duplicate_ids_are_refused():
    with pytest.raises(BadInput, match="the item id 'test:x' occurs twice"):
        benchmark_of([grid_item("x", 2, 1, {(0, 0)}), grid_item("x", 2, 1, {(0, 0)})])


def test_the_card_counts_and_names_who_verified(benchmarks):
    card = json.loads((benchmarks["bison"].root / "benchmark.json").read_text())
    assert card["counts"]["items"] == len(benchmarks["bison"].items)
    assert card["verified"] == "by the model oracle"
    assert card["canary"].startswith("tellapart-canary-")
    assert card["made"]["seed"] == 1


def test_items_changed_by_hand_are_found_out(benchmarks, tmp_path):
    shutil.copytree(benchmarks["bison"].root, tmp_path / "bison")
    table = pl.read_parquet(tmp_path / "bison" / "items.parquet")
    changed = table.with_columns(content=pl.lit("0" * 64))
    changed.write_parquet(tmp_path / "bison" / "items.parquet")
    with pytest.raises(BadInput, match="do not match its card"):
        ta.load_benchmark(tmp_path / "bison")


def test_an_unknown_benchmark_suggests_near_names(benchmarks):
    with pytest.raises(UnknownName, match="no benchmark called") as caught:
        ta.load_benchmark(benchmarks["bison"].root.parent / "bisson")
    assert "did you mean" in caught.value.todo and "bison" in caught.value.todo


def test_a_path_that_does_not_exist_is_said_not_to_exist(tmp_path, monkeypatch):
    monkeypatch.setenv("TELLAPART_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownName) as caught:
        ta.load_benchmark("runs/mine")
    assert caught.value.what == (
        "there is no benchmark called 'runs/mine': the folder runs/mine does not exist, "
        f"nor does {tmp_path}/home/runs/mine"
    )
    assert caught.value.allowed.endswith(f"({tmp_path}/home has no benchmarks yet)")
    with pytest.raises(UnknownName) as caught:
        ta.load_benchmark(tmp_path / "gone")
    assert caught.value.what.endswith(f": the folder {tmp_path}/gone does not exist")


def test_a_folder_that_is_no_benchmark_says_what_one_is(tmp_path):
    with pytest.raises(BadInput, match="is not a benchmark") as caught:
        ta.load_benchmark(tmp_path)
    assert "benchmark.json" in caught.value.allowed


def test_validate_finds_nothing_wrong_with_what_was_built(benchmarks):
    for benchmark in benchmarks.values():
        verdict = ta.validate(benchmark)
        assert verdict.good, str(verdict)


def test_validate_sums_up_and_looks_for_pictures_where_it_is_told(world, tmp_path):
    bench = ta.build("mcic", world, tmp_path / "mcic", ta.BuildOptions(seed=1))
    moved = replace(bench, root=tmp_path / "elsewhere" / "mcic")
    verdict = ta.validate(moved)
    (sort,) = verdict.sorts
    assert len(verdict.problems) == len(bench.images) == sort.times >= 40
    text = str(verdict)
    assert f"problem, {sort.times} times:" in text and len(text.splitlines()) < 10
    assert f"... and {sort.times - 3} more" in text and "to do:" in text
    assert ta.validate(moved, images=world.root / "images").good
    assert ta.validate(moved, look=False).good


def test_validate_names_missing_changed_and_truncated_pictures(world, tmp_path):
    shutil.copytree(world.root, tmp_path / "world")
    corpus = ta.read_corpus(tmp_path / "world")
    benchmark = ta.build("bison", corpus, tmp_path / "bison", ta.BuildOptions(verifier="oracle"))
    first, second, third = sorted(benchmark.images)[:3]
    benchmark.picture(first).path.unlink()
    Pillow.new("RGB", (9, 9)).save(benchmark.picture(second).path)
    whole = benchmark.picture(third).path.read_bytes()
    benchmark.picture(third).path.write_bytes(whole[: len(whole) // 2])
    verdict = ta.validate(tmp_path / "bison")
    said = {problem.what.split(":")[0]: problem for problem in verdict.problems}
    assert not verdict.good
    assert f"the file of image {first} is missing" in said
    assert f"image {second} is not the file that the benchmark was built with" in said
    assert f"image {third} is broken" in said


def test_a_picture_elsewhere_is_not_taken_for_another_at_the_same_relative_path(tmp_path):
    for folder, colour in (("one", "red"), ("two", "blue")):
        (tmp_path / folder).mkdir()
        for name in ("a.png", "b.png"):
            Pillow.new("RGB", (9, 9), colour).save(tmp_path / folder / name)
    items = [grid_item("x", 2, 1, {(0, 0)}, image_ids=["a", "b"])]
    images = [Image(name, f"../{name}.png") for name in ("a", "b")]
    made = make_benchmark(Card("red"), tmp_path / "one" / "made", items, images)
    copy = ta.subset(made, tmp_path / "two" / "copy")
    assert copy.picture("a").path == tmp_path / "one" / "a.png"


def test_show_prints_truth_and_questions(benchmarks):
    text = str(ta.show(benchmarks["foil"], items=1))
    assert "foil word:" in text and "true of image 0" in text and "mend@0," in text


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"measures": None}, '"measures" in benchmark.json is NoneType'),
        ({"measures": [1]}, '"measures" in benchmark.json is list'),
        ({"items_sha256": 7}, '"items_sha256" in benchmark.json is int'),
        ({"name": ["a"]}, '"name" in benchmark.json is list'),
        ({"made": 1.5}, '"made" in benchmark.json is float'),
    ],
)
def test_a_card_with_values_of_other_types_is_refused(benchmarks, tmp_path, change, what):
    shutil.copytree(benchmarks["bison"].root, tmp_path / "bison")
    path = tmp_path / "bison" / "benchmark.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(BadInput) as caught:
        ta.load_benchmark(tmp_path / "bison")
    assert caught.value.what == what and str(path) in caught.value.where


NOTES = pl.col("origin").struct.with_fields(notes=pl.lit("[1]"))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"true_cells": pl.lit([[0, 0, 0]])}, "row 1 of items.parquet is not an item"),
        ({"original": pl.lit([0])}, "row 1 of items.parquet is not an item"),
        ({"origin": NOTES}, "row 1 of items.parquet is not an item: its notes are not an object"),
        ({"captions": pl.lit("A dog.")}, "the column 'captions' of items.parquet has type String"),
        ({"content": pl.lit(None)}, "items.parquet has a row without 'content'"),
        ({"images": pl.lit([None], pl.List(pl.String))}, "has a row without 'images'"),
    ],
)
def test_a_table_of_items_that_was_changed_is_refused(benchmarks, tmp_path, change, what):
    shutil.copytree(benchmarks["bison"].root, tmp_path / "bison")
    path = tmp_path / "bison" / "items.parquet"
    pl.read_parquet(path).with_columns(**change).write_parquet(path)
    with pytest.raises(BadInput) as caught:
        ta.load_benchmark(tmp_path / "bison")
    assert what in caught.value.what and str(path) in caught.value.where

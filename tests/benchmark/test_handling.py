"""Benchmarks from benchmarks, what sets two apart, and what others read."""

from __future__ import annotations

import json
import warnings

import polars as pl
import pytest
from tests.conftest import benchmark_of, grid_item

import tellapart as ta
from tellapart.errors import BadInput, UnknownName
from tellapart.verbs.benchmarks.diff import diff
from tellapart.verbs.benchmarks.export import croissant, export
from tellapart.verbs.benchmarks.merge import merge
from tellapart.verbs.benchmarks.subset import SubsetOptions, subset


def test_a_subset_keeps_what_was_asked_for_and_says_so(benchmarks, tmp_path):
    kinds = ("swap-object", "swap-attribute")
    part = subset(benchmarks["bivlc"], tmp_path / "s", SubsetOptions(kinds=kinds, limit=5))
    assert {item.kind for item in part.items} <= set(kinds) and len(part.items) == 5
    assert part.card.made["subset_of"] == benchmarks["bivlc"].sha256
    assert part.card.made["subset"]["number"] == 5
    assert ta.validate(part).good
    ids = frozenset(item.id for item in benchmarks["bivlc"].items[:3])
    assert set(subset(benchmarks["bivlc"], tmp_path / "i", SubsetOptions(ids=ids)).by_id) == ids


def test_a_subset_of_unknown_kinds_or_ids_is_refused(benchmarks, tmp_path):
    with pytest.raises(UnknownName, match="no kind in bivlc called 'swap'"):
        subset(benchmarks["bivlc"], tmp_path / "s", SubsetOptions(kinds=("swap",)))
    with pytest.raises(BadInput, match="bivlc has no item 'x'"):
        subset(benchmarks["bivlc"], tmp_path / "s", SubsetOptions(ids=frozenset({"x"})))


def test_pitfall_9_duplicates_can_be_left_out(tmp_path):
    one = grid_item("1", 1, 2, {(0, 0)}, image_ids=["a"])
    twin = type(one).imported(
        "test", "2", images=one.images, captions=one.captions, true=one.true, kind=one.kind,
        origin=one.origin,
    )  # fmt: skip
    whole = benchmark_of([one, twin, grid_item("3", 1, 2, {(0, 0)})])
    part = subset(whole, tmp_path / "s", SubsetOptions(drop_duplicates=True))
    assert [item.id for item in part.items] == ["test:1", "test:3"]


def test_merged_benchmarks_can_be_run_and_group_across_their_parts(benchmarks, tmp_path):
    both = merge([benchmarks["bison"], benchmarks["mcic"]], tmp_path / "both", name="both")
    assert len(both.items) == len(benchmarks["bison"].items) + len(benchmarks["mcic"].items)
    assert ta.validate(both).good
    (run,) = ta.evaluate("oracle", both, tmp_path / "runs")
    assert all(row.value == 1 for row in ta.measure(run).rows)
    shared = {item.group for item in both.items if item.kind == "bison"}
    assert any(item.group in shared for item in both.items if item.kind == "mcic")


def test_merging_refuses_the_same_item_twice_and_one_alone(benchmarks, tmp_path):
    with pytest.raises(BadInput, match="occurs twice"):
        merge([benchmarks["bison"], benchmarks["bison"]], tmp_path / "m", name="m")
    with pytest.raises(BadInput, match="1 benchmark cannot be merged"):
        merge([benchmarks["bison"]], tmp_path / "m", name="m")


def test_pitfall_10_diff_finds_items_that_drifted_under_one_name():
    items = [grid_item(str(k), 2, 1, {(0, 0)}) for k in range(4)]
    drifted = grid_item("2", 2, 1, {(1, 0)})
    found = diff(benchmark_of(items[:3]), benchmark_of([items[0], drifted, items[3]]))
    assert (found.only_first, found.only_second, found.changed, found.same) == (
        ("test:1",), ("test:3",), ("test:2",), 1,
    )  # fmt: skip


def test_an_export_holds_its_pictures_and_describes_itself(benchmarks, tmp_path):
    folder = export(benchmarks["bison"], tmp_path / "hub")
    table = pl.read_parquet(folder / "data" / "test.parquet")
    first = table.row(0, named=True)
    assert first["images"][0]["bytes"].startswith(b"\x89PNG")
    assert first["captions"] == list(benchmarks["bison"].items[0].captions)
    described = json.loads((folder / "croissant.json").read_text())
    columns = {f["source"]["extract"]["column"] for f in described["recordSet"][0]["field"]}
    assert columns <= set(table.columns)
    card = (folder / "README.md").read_text()
    assert card.startswith("---\n") and benchmarks["bison"].canary in card
    again = export(benchmarks["bison"], tmp_path / "hub2")
    for name in ("croissant.json", "README.md", "data/test.parquet"):
        assert (folder / name).read_bytes() == (again / name).read_bytes()


def test_croissant_readers_accept_the_description(benchmarks, caplog):
    reader = pytest.importorskip("mlcroissant")
    described = croissant(benchmarks["bison"], "0" * 64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the reader's own dependencies
        assert reader.Dataset(jsonld=described).metadata.name == "bison"
    assert "not standard" not in caplog.text

"""Benchmarks that can be moved: with copies of their pictures, with another folder of pictures."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from PIL import Image as Pillow
from typer.testing import CliRunner

import tellapart as ta
from tellapart.cli.main import app
from tellapart.errors import BadInput, TellapartError
from tellapart.verbs.benchmarks.validate import validate

BUILDERS = ("bison", "foil", "mcic", "bivlc")


def scores(run) -> bytes:
    return (run.folder / "scores.parquet").read_bytes()


@pytest.fixture
def own_world(world, tmp_path):
    """A copy of the small world that a test may take away."""
    shutil.copytree(world.root, tmp_path / "world")
    return tmp_path / "world"


@pytest.mark.parametrize("builder", BUILDERS)
def test_a_benchmark_is_zipped_moved_and_evaluated_with_the_same_bytes_of_scores(
    own_world, tmp_path, builder
):
    here, there = tmp_path / "here", tmp_path / "there"
    options = ta.BuildOptions(copy_images=True, items=12)
    bench = ta.build(builder, own_world, here / builder, options)
    assert bench.card.made["image_copies"]["missing"] == 0
    before = ta.evaluate(["storybook"], bench, tmp_path / "before",
                         ta.EvaluateOptions(use_cache=False))  # fmt: skip
    archive = shutil.make_archive(str(tmp_path / "moved"), "zip", here)
    shutil.rmtree(own_world)
    shutil.rmtree(here)
    shutil.unpack_archive(archive, there)
    moved = ta.load_benchmark(there / builder)
    assert moved.sha256 == bench.sha256 and validate(moved).good
    after = ta.evaluate(["storybook"], moved, tmp_path / "after",
                        ta.EvaluateOptions(use_cache=False))  # fmt: skip
    assert scores(after[0]) == scores(before[0])


def test_splits_share_the_copies_of_the_whole(tmp_path, own_world):
    options = ta.McicOptions(
        way="paper", vectors="tf-idf", split="a:0.5,b:0.5", without=("all",), copy_images=True
    )
    ta.build("mcic", own_world, tmp_path / "mcic", options)
    shutil.rmtree(own_world)
    assert not (tmp_path / "mcic" / "a" / "images").exists()
    for name in (".", "a", "b"):
        assert validate(ta.load_benchmark(tmp_path / "mcic" / name)).good


def test_get_copies_pictures_from_files_tables_and_boxes(tmp_path):
    def picture(path: Path, colour: str) -> bytes:
        path.parent.mkdir(parents=True, exist_ok=True)
        Pillow.new("RGB", (20, 20), colour).save(path)
        return path.read_bytes()

    source = tmp_path / "source"
    red, blue = picture(source / "a" / "x.png", "red"), picture(source / "b" / "x.png", "blue")
    rows = [
        {"image": {"bytes": red, "path": None}, "caption": "Red.", "negative_caption": "Blue."},
        {"image": {"bytes": None, "path": "b/x.png"}, "caption": "B.", "negative_caption": "R."},
        {"image": {"bytes": None, "path": "a/x.png"}, "caption": "R.", "negative_caption": "B."},
        {"image": {"bytes": None, "path": "gone.png"}, "caption": "C.", "negative_caption": "D."},
    ]
    pl.DataFrame(rows).write_parquet(source / "pairs.parquet")
    bench = ta.get("pairs", source / "pairs.parquet", tmp_path / "p",
                   ta.GetOptions(copy_images=True))  # fmt: skip
    assert bench.card.made["image_copies"] == {"copied": 3, "missing": 1}
    shutil.rmtree(source)
    moved = ta.load_benchmark(shutil.move(tmp_path / "p", tmp_path / "q"))
    assert {moved.picture(i).read() for i in moved.images if i != "gone.png"} == {red, blue}
    assert moved.images["gone.png"].uri == "images/gone.png"
    assert len(list((tmp_path / "q" / "images").iterdir())) == 3


def test_two_boxes_of_one_picture_are_one_file(tmp_path):
    Pillow.new("RGB", (64, 64), "red").save(tmp_path / "1.jpg")
    row = {"image_path": "1.jpg", "bbox_x": 0, "bbox_y": 0, "bbox_w": 8, "bbox_h": 8,
           "true_caption": "A on B.", "false_caption": "B on A.",
           "relation_name": "on"}  # fmt: skip
    (tmp_path / "visual_genome_relation.json").write_text(json.dumps([row, {**row, "bbox_w": 4}]))
    bench = ta.get("aro", tmp_path / "visual_genome_relation.json", tmp_path / "aro",
                   ta.GetOptions(copy_images=True))  # fmt: skip
    (tmp_path / "1.jpg").unlink()
    assert sorted(bench.picture(i).open().size for i in bench.images) == [(4, 8), (8, 8)]
    assert [p.name for p in (bench.root / "images").iterdir()] == ["1.jpg"]


def test_evaluate_takes_pictures_from_another_folder(own_world, tmp_path):
    bench = ta.build("bison", own_world, tmp_path / "bison", ta.BuildOptions(items=6))
    (before,) = ta.evaluate(["storybook"], bench, tmp_path / "before",
                            ta.EvaluateOptions(use_cache=False))  # fmt: skip
    (same,) = ta.evaluate(["storybook"], bench, tmp_path / "same",  # where they are anyway
                          ta.EvaluateOptions(use_cache=False, images=own_world))  # fmt: skip
    assert scores(same) == scores(before)
    (tmp_path / "elsewhere").mkdir()
    shutil.move(own_world / "images", tmp_path / "elsewhere" / "pictures")
    with pytest.raises(TellapartError, match="is missing") as caught:
        ta.evaluate(["storybook"], bench, tmp_path / "none", ta.EvaluateOptions(use_cache=False))
    assert "--images" in caught.value.todo
    result = CliRunner().invoke(
        app,
        ["evaluate", "storybook", "--on", str(tmp_path / "bison"), "--out", str(tmp_path / "after"),
         "--images", str(tmp_path / "elsewhere"), "--no-cache"],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    after = tmp_path / "after" / "bison" / "storybook"
    assert (after / "scores.parquet").read_bytes() == scores(before)
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match=r"none of the .* pictures of bison is in"):
        ta.evaluate(["chance"], bench, tmp_path / "x",
                    ta.EvaluateOptions(images=tmp_path / "empty"))  # fmt: skip


# Exports


@pytest.fixture(scope="module")
def exported(benchmarks, tmp_path_factory):
    out = tmp_path_factory.mktemp("exports")
    return {name: ta.export(bench, out / name) for name, bench in benchmarks.items()}


@pytest.mark.parametrize("builder", ["foil", "bivlc"])
def test_an_export_is_the_same_benchmark_to_every_verb(benchmarks, exported, tmp_path, builder):
    bench, moved = benchmarks[builder], tmp_path / "moved"
    shutil.copytree(exported[builder], moved)
    again = ta.load_benchmark(moved)
    assert again.sha256 == bench.sha256 and again.card == bench.card and validate(again).good
    assert again.items.frame.equals(bench.items.frame)
    options = ta.EvaluateOptions(use_cache=False, limit=10)
    runs = [ta.evaluate(["storybook"], one, tmp_path / str(k), options)[0]
            for k, one in enumerate((bench, moved))]  # fmt: skip
    assert scores(runs[0]) == scores(runs[1])
    calls = (
        ["show", str(moved)],
        ["subset", str(moved), str(tmp_path / "part"), "--limit", "3"],
        ["diff", str(moved), str(tmp_path / "part")],
        ["export", str(moved), str(tmp_path / "twice")],
        ["measure", str(runs[1].folder)],
    )
    for call in calls:
        result = CliRunner().invoke(app, call)
        assert result.exit_code == 0, (call, result.output)
    assert validate(ta.load_benchmark(tmp_path / "part")).good
    data = "data/test.parquet"
    assert (tmp_path / "twice" / data).read_bytes() == (moved / data).read_bytes()


def test_an_export_without_pictures_still_knows_where_they_are(benchmarks, tmp_path):
    folder = ta.export(benchmarks["bison"], tmp_path / "bare", look=False)
    assert validate(ta.load_benchmark(folder)).good


def test_an_export_of_a_box_holds_the_box(tmp_path):
    picture = Pillow.new("RGB", (64, 64), "red")
    picture.paste("blue", (0, 0, 8, 8))
    picture.save(tmp_path / "1.png")
    row = {"image_path": "1.png", "bbox_x": 0, "bbox_y": 0, "bbox_w": 16, "bbox_h": 8,
           "true_caption": "A on B.", "false_caption": "B on A.",
           "relation_name": "on"}  # fmt: skip
    (tmp_path / "visual_genome_relation.json").write_text(json.dumps([row]))
    bench = ta.get("aro", tmp_path / "visual_genome_relation.json", tmp_path / "aro")
    again = ta.load_benchmark(ta.export(bench, tmp_path / "hub"))
    (name,) = bench.images
    assert again.picture(name).open().tobytes() == bench.picture(name).open().tobytes()


def test_hugging_face_datasets_load_pictures_as_pictures(exported, benchmarks, tmp_path):
    datasets = pytest.importorskip("datasets")
    loaded = datasets.load_dataset(str(exported["bison"]), cache_dir=str(tmp_path))["test"]
    bench = benchmarks["bison"]
    assert len(loaded) == len(bench.items)
    first, item = loaded[0], bench.items[0]
    assert first["id"] == item.id and first["captions"] == list(item.captions)
    assert [isinstance(picture, Pillow.Image) for picture in first["images"]] == [True, True]
    here = bench.pictures(item)[0].open()
    assert first["images"][0].convert("RGB").tobytes() == here.tobytes()

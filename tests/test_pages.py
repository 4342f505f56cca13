"""Every command and every block of Python on the pages is run, in order, as a reader would."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pages import PAGES, ROOT, Reader, steps

ELSEWHERE = {
    "extending.md": "tests/test_extending.py installs its plugins and runs them",
    "models.md": "tests/test_docs.py",
    "train-a-retrieval-system.md": "tests/test_tutorial.py",
    "train-on-hard-negatives.md": "tests/test_tutorial.py",
    "analyses.md": "tests/analyses, whose analyses need trained captioners and people",
    "captioners.md": "tests/models and tests/training, with systems trained on the world",
    "foil-systems.md": "soak/foil_systems.py gives these commands",
    "mcic-systems.md": "soak/mcic_systems.py gives these commands",
    "systems.md": "soak/bison_systems.py gives these commands",
    "hard-images.md": "tests/mine/test_hard_images.py",
}
"""Pages whose commands another test gives, because they train for long or need boxes."""
UNTRIED = (
    "chat:", "hf:", "vqascore:", "onnx:", "python:my_models", "hf-hub:", "/tuned/", "./my-model",
    "llm:", "wiki.vec", "crawl-300d", "gpt2", "vera", "sugarcrepe", "get bison", "get table",
    "{BLEU", "ExpertAnnotations", "prolific_export.csv", "5f3c9a1b", "refine scores.parquet",
    "flickr8k", "train.txt", "instances_val", "my-classes", "--item-table mine.csv", "table bison",
    "train clip", "cost open_clip", "train updown", "runs/bison/one", "--corpus captions.json",
    "--objects objects.json", "foilv1.0", "mc_mscoco", "mine.csv", "laion2b", "QuestionType",
)  # fmt: skip
"""What a command names that only its owner has: weights, servers, downloads, a person's code."""
FIRST = ROOT / "docs" / "tutorials" / "your-own-photographs.md"


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """Somebody in an empty folder, with a small model where pages name a large one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / ".cache"))
    monkeypatch.setenv("TELLAPART_HOME", str(tmp_path / ".home"))
    monkeypatch.setenv("BROWSER", "true")
    return Reader(tmp_path, {"open_clip:ViT-B-32/openai": "storybook"})


@pytest.mark.campaign
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_and_python_of_a_page_work_in_their_order(page: Path, reader: Reader) -> None:
    if page.name in ELSEWHERE:
        pytest.skip(ELSEWHERE[page.name])
    tried = [step for step in steps(page) if not any(name in step.text for name in UNTRIED)]
    for step in tried:
        reader.follow(step)


def test_what_is_not_tried_is_on_some_page() -> None:
    every = "\n".join(step.text for page in PAGES for step in steps(page))
    assert [name for name in UNTRIED if name not in every] == []
    assert set(ELSEWHERE) <= {page.name for page in PAGES}


def test_photographs_become_a_verified_test_by_following_one_page(reader: Reader) -> None:
    """The people of the page are simulated; everything else is done as it is written."""
    said = {}
    for step in steps(FIRST):
        said[" ".join(step.text.split()[1:3])] = reader.follow(step)
    assert "not a test yet" in said["build bison"]
    assert "verified" in said["study export"] and "good" in said["validate results/verified"]
    assert re.search(r"accuracy\s+100\.0|storybook", said["measure runs"])
    assert (reader.place / "my-test" / "data" / "test.parquet").exists()
    assert "http://127.0.0.1" in said["study invite"] and "http://" in said["study serve"]

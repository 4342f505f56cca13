"""Where the real data lie; the tests here are skipped where there are none."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tellapart.benchmark.benchmark import Benchmark
from tellapart.benchmark.published.options import GetOptions
from tellapart.corpus.corpus import Corpus
from tellapart.corpus.reader import ReadOptions, read_corpus
from tellapart.verbs.benchmarks.get import get


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with the real data, named by the environment."""
    named = os.environ.get("TELLAPART_REAL_DATA")
    if not named:
        pytest.skip("TELLAPART_REAL_DATA does not name a folder with the real data")
    folder = Path(named)
    if not folder.is_dir():
        pytest.skip(f"TELLAPART_REAL_DATA names {named}, which is not a folder")
    return folder


@pytest.fixture(scope="session")
def val2014(real_data: Path) -> Corpus:
    """COCO's val2014 with its objects, and its pictures as far as they are there."""
    coco = real_data / "coco"
    reading = ReadOptions(images=coco / "images", objects=coco / "objects_val2014.json.gz")
    return read_corpus(coco / "captions_val2014.json.gz", reading)


@pytest.fixture(scope="session")
def sugarcrepe(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """All of SugarCrepe, without its pictures."""
    out = tmp_path_factory.mktemp("sugarcrepe") / "sugarcrepe"
    return get("sugarcrepe", real_data / "sugarcrepe", out)


@pytest.fixture(scope="session")
def coco_bison(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """All of COCO-BISON, with its pictures as far as they are there."""
    file = real_data / "bison" / "bison_annotations.cocoval2014.json.gz"
    options = GetOptions(images=real_data / "coco" / "images")
    return get("bison", file, tmp_path_factory.mktemp("bison") / "bison", options)


def first_images(whole: Corpus, number: int) -> Corpus:
    """The part of a corpus that its first images make."""
    images = whole.images.head(number)
    captions = whole.captions.filter(whole.captions["image"].is_in(images["id"].implode()))
    return replace(whole, images=images, captions=captions)

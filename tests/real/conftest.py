"""Where the real data lie; the tests here are skipped where there are none."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tellapart.corpus.corpus import Corpus


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


def first_images(whole: Corpus, number: int) -> Corpus:
    """The part of a corpus that its first images make."""
    images = whole.images.head(number)
    captions = whole.captions.filter(whole.captions["image"].is_in(images["id"].implode()))
    return replace(whole, images=images, captions=captions)

"""One size limit for all parts of the cache: what was used longest ago goes first."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tellapart.store.arrays import ArraySegments, ArrayShelf
from tellapart.store.cache import make_room
from tellapart.store.records import Journal
from tellapart.store.rows import RowStore, Shelf

KEYS = np.arange(200, dtype=np.uint64).reshape(100, 2)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path))
    return tmp_path


def filled(cache: Path) -> dict[str, Path]:
    """One entry in each part, used in the order of the dictionary."""
    store = RowStore(cache / "scores" / "model" / "images")
    store.add(KEYS, np.zeros((100, 50), np.float32))
    store.close()
    (scores,) = (cache / "scores").rglob("*.segment")
    shelf = ArrayShelf.on("some", "job")
    shelf.write("numbers", values=np.zeros(2_000))
    noise = np.random.default_rng(0).random(2_000)  # does not compress
    parses = ArraySegments.open(cache, "parses", "1-pipeline").add([b"k" * 16], {"begin": noise})
    downloads = cache / "downloads" / "hash"
    downloads.mkdir(parents=True)
    (downloads / "pairs.json").write_bytes(bytes(20_000))
    entries = {"parses": parses, "downloads": downloads, "scores": scores, "mined": shelf.folder}
    for age, path in enumerate(entries.values()):
        os.utime(path, (1_000 + age, 1_000 + age))
    return entries


def left(entries: dict[str, Path]) -> set[str]:
    return {name for name, path in entries.items() if path.exists()}


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (10**6, {"parses", "downloads", "scores", "mined"}),
        (60_000, {"downloads", "scores", "mined"}),
        (45_000, {"scores", "mined"}),
        (20_000, {"mined"}),
        (0, set()),
    ],
)
def test_the_oldest_goes_first_whatever_part_it_belongs_to(
    cache: Path, limit: int, expected: set[str]
) -> None:
    entries = filled(cache)
    make_room(cache, limit)
    assert left(entries) == expected


def test_what_is_used_again_stays(cache: Path) -> None:
    entries = filled(cache)
    segments = ArraySegments(entries["parses"].parent)
    assert segments.read(entries["parses"]) is not None
    make_room(cache, 60_000)
    assert left(entries) == {"parses", "scores", "mined"}


def test_what_is_spared_counts_but_stays(cache: Path) -> None:
    entries = filled(cache)
    make_room(cache, 20_000, spare=(cache / "parses",))
    assert left(entries) == {"parses"}


def test_a_model_s_rows_make_room_in_the_whole_cache(cache: Path) -> None:
    entries = filled(cache)
    shelf = Shelf.open(cache, "fingerprint", {"name": "new"}, size_gb=50_000 / 1e9)
    shelf.store("texts").add(KEYS, np.zeros((100, 50), np.float32))
    shelf.close()
    assert left(entries) == {"mined"}


def test_replies_stay_whatever_the_limit(cache: Path) -> None:
    journal = Journal(cache / "replies" / "model")
    journal.add({"asked": "answered"})
    journal.close()
    make_room(cache, 0)
    assert Journal(cache / "replies" / "model").known == {"asked": "answered"}


def test_a_new_parse_does_not_drive_out_its_own_pipeline(cache: Path) -> None:
    entries = filled(cache)
    segments = ArraySegments(entries["parses"].parent)
    segments.make_room()
    assert left(entries) == set(entries)

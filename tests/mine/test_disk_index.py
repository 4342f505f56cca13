"""Neighbours past memory: as the obvious slow version has them, and the same bytes each time."""

from __future__ import annotations

import tracemalloc
from itertools import count
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.work.test_shards import files_in

import tellapart as ta
from tellapart.errors import BadInput, PartDone
from tellapart.mine import caption_rows
from tellapart.mine.neighbours import disk_index
from tellapart.seeds import rng
from tellapart.text.tokens import tokens
from tellapart.text.word_vectors import read_vectors

WORDS = [f"{a}{b}o" for a in "bcdfghjklmnpqrst" for b in "aeiouyrlnsthmdkgpv"]


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Word vectors of 24 numbers."""
    path = tmp_path_factory.mktemp("words") / "words.txt"
    rows = rng(0, "words").normal(size=(len(WORDS), 24))
    lines = (
        f"{word} " + " ".join(f"{x:.4f}" for x in row)
        for word, row in zip(WORDS, rows, strict=True)
    )
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captions of 300 images, of which some say the same."""
    draw = rng(1, "captions")
    topics = draw.integers(len(WORDS), size=(300, 7))
    chosen = draw.integers(7, size=(1200, 6))
    texts = [" ".join(WORDS[topics[k // 4, j]] for j in row) for k, row in enumerate(chosen)]
    texts[900:960] = texts[:60]
    path = tmp_path_factory.mktemp("captions") / "captions.parquet"
    frame = {"id": [f"c{k}" for k in range(1200)], "image": [f"i{k // 4}" for k in range(1200)]}
    pl.DataFrame({**frame, "text": texts}).write_parquet(path)
    return path


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards, lists and limits as if there were millions of captions."""
    monkeypatch.setattr(caption_rows, "SHARD", 512)
    monkeypatch.setattr(disk_index, "LIST", 32)
    monkeypatch.setattr(disk_index, "EXACT_UP_TO", 100)


def slow(table: Path, words: Path, k: int) -> dict[str, list[float]]:
    """The similarities of the nearest, one caption after another."""
    frame = pl.read_parquet(table).unique("text", keep="first", maintain_order=True)
    known = read_vectors(words)
    rows = known.mean_vectors([tokens(text) for text in frame["text"]]).vectors.astype(float)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    images = frame["image"].to_numpy()
    near = {}
    for place, name in enumerate(frame["id"]):
        similar = rows @ rows[place]
        similar[images == images[place]] = -np.inf
        near[name] = sorted(similar.tolist(), reverse=True)[:k]
    return near


def found(folder: Path) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path) for path in sorted(folder.glob("near-*.parquet"))])


def test_few_captions_are_compared_with_all_others(table, words, tmp_path):
    options = ta.NeighbourOptions(vectors=str(words), k=5)
    made = ta.neighbours(table, tmp_path / "out", options)
    true, near = slow(table, words, 5), found(tmp_path / "out")
    assert made.card["recall"] == 1 and made.card["distinct"] == len(true) < 1200
    assert near["id"].to_list() == list(true)
    for name, similar in zip(near["id"], near["similarity"], strict=True):
        assert np.allclose(similar, true[name], atol=2e-6)
    frame = pl.read_parquet(table)
    images = frame["image"].to_list()
    for row, rows in zip(near["row"], near["near"], strict=True):
        assert all(images[one] != images[row] for one in rows)


@pytest.mark.usefixtures("small")
def test_an_index_finds_nearly_all_and_measures_what_it_finds(table, words, tmp_path):
    made = ta.neighbours(table, tmp_path / "out", ta.NeighbourOptions(vectors=str(words)))
    true, near = slow(table, words, 10), found(tmp_path / "out")
    search = made.card["search"]
    assert search["looked_at"] < search["lists"] == made.card["distinct"] // 32
    hits = [
        np.mean(np.array(similar) >= true[name][-1] - 2e-6)
        for name, similar in zip(near["id"], near["similarity"], strict=True)
    ]
    assert np.mean(hits) >= 0.95 and abs(np.mean(hits) - made.card["recall"]) < 0.03
    best = [true[name][0] - similar[0] for name, similar in near.select("id", "similarity").rows()]
    assert min(best) > -2e-6, "what is found is compared by the vectors themselves"


@pytest.mark.usefixtures("small")
def test_memory_and_workers_change_no_byte(table, words, tmp_path):
    every = {
        "one": ta.NeighbourOptions(vectors=str(words), memory="1G"),
        "more": ta.NeighbourOptions(vectors=str(words), memory="4G"),
        "two": ta.NeighbourOptions(vectors=str(words), workers="local:2"),
    }
    for name, options in every.items():
        ta.neighbours(table, tmp_path / name, options)
    first = files_in(tmp_path / "one")
    assert first and all(files_in(tmp_path / name) == first for name in every)


@pytest.mark.usefixtures("small")
def test_shares_by_hand_give_the_same_in_rounds(table, words, tmp_path):
    ta.neighbours(table, tmp_path / "whole", ta.NeighbourOptions(vectors=str(words)))
    for _ in range(3):  # vectors, codes, near
        for share in ("1/2", "0/2"):
            with pytest.raises(PartDone):
                options = ta.NeighbourOptions(vectors=str(words), shard=share)
                ta.neighbours(table, tmp_path / "parts", options)
    options = ta.NeighbourOptions(vectors=str(words), gather=True)
    ta.neighbours(table, tmp_path / "parts", options)
    assert files_in(tmp_path / "parts") == files_in(tmp_path / "whole")


def test_any_model_that_embeds_texts_will_do(world, tmp_path):
    made = ta.neighbours(world.root, tmp_path / "out", ta.NeighbourOptions(k=3))
    near = found(tmp_path / "out")
    assert made.card["vectors"] == "storybook" and near.height == made.card["distinct"]
    assert near["similarity"].list.first().mean() > near["similarity"].list.last().mean() > 0.3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"memory": "100M"}, "memory"),
        ({"memory": "much"}, "memory"),
        ({"k": 0}, "neighbours: 0"),
        ({"vectors": "chance"}, "makes no vectors of texts"),
    ],
)
def test_what_cannot_be_meant_is_said(table, tmp_path, options, said):
    with pytest.raises(BadInput, match=said):
        ta.neighbours(table, tmp_path / "out", ta.NeighbourOptions(**options))


def resident(folder: Path) -> int:
    """Bytes of the folder's files that this process keeps in memory, as Linux counts them."""
    total, mine = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ", 1)[0]:
            mine = str(folder) in line
        elif mine and line.startswith("Rss:"):
            total += int(line.split()[1]) << 10
    return total


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux counts so")
def test_vectors_that_do_not_fit_are_given_back_while_they_are_read(tmp_path):
    size, width, number = 4096, 64, 8
    vectors = rng(2, "vectors").normal(size=(number, size, width)).astype(np.float32)
    numbers = np.arange(number * size, dtype=np.uint64).reshape(number, size)
    shards = []
    for k in range(number):
        path = tmp_path / f"{k}.rows"
        file = caption_rows.RowsInMemory(size)
        file.room(width)[:] = vectors[k]
        path.write_bytes(file.ended(numbers[k], numbers[k] // np.uint64(5)))
        shards.append(disk_index.RowShard(path, k * size, size, width))
    each = size * (4 * width + 8)
    files = disk_index.VectorFiles(shards, np.ones(number * size, bool), memory=3 * each)
    rows = rng(3, "rows").permutation(number * size)
    assert np.array_equal(files.rows(rows), vectors.reshape(-1, width)[rows])
    assert np.array_equal(files.images(rows), rows.astype(np.uint64) // np.uint64(5))
    assert 0 < resident(tmp_path) <= 3 * each + number * (64 << 10)


def test_a_shard_of_vectors_is_in_memory_once_while_it_is_made(tmp_path, monkeypatch):
    """What widens numbers, or copies them, does so for some texts at a time."""
    monkeypatch.setattr(caption_rows, "MEANS", 100)
    width, texts = 512, [f"{WORDS[k % 40]} {WORDS[50 + k % 7]}" for k in range(2_000)]
    names = sorted({word for text in texts for word in text.split()})
    made = rng(5, "wide").normal(size=(len(names), width))
    lines = (f"{name} {' '.join(map(str, row))}\n" for name, row in zip(names, made, strict=True))
    (tmp_path / "words.txt").write_text("".join(lines), encoding="utf-8")
    ids = list(map(str, range(len(texts))))
    pl.DataFrame({"id": ids, "image": ids, "text": texts}).write_parquet(tmp_path / "table.parquet")
    encoder = caption_rows.TextEncoder.of(str(tmp_path / "words.txt"), tmp_path / "words")
    captions = caption_rows.CaptionFile.of(tmp_path / "table.parquet")
    make = caption_rows.VectorTask(captions, encoder).open()
    tracemalloc.start()
    file = make((0, len(texts)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = 4 * width * len(texts)
    assert size < len(file.data) and peak < 1.5 * size
    rows = np.frombuffer(file.data, np.float32, width * len(texts)).reshape(-1, width)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1) and np.array_equal(rows[0], rows[280])


def test_too_little_memory_for_a_shard_is_told_with_what_is_enough(
    table, words, tmp_path, monkeypatch
):
    monkeypatch.setattr("tellapart.verbs.neighbours.ASIDE", (1 << 30) - 100_000)
    with pytest.raises(BadInput, match="for 1,200 vectors of 24 numbers") as caught:
        ta.neighbours(table, tmp_path / "out", ta.NeighbourOptions(vectors=str(words), memory="1G"))
    assert caught.value.allowed == "1025M or more"
    ta.neighbours(table, tmp_path / "out", ta.NeighbourOptions(vectors=str(words), memory="1025M"))


@pytest.mark.usefixtures("small")
def test_lists_that_do_not_fit_are_given_back(table, words, tmp_path, monkeypatch):
    ta.neighbours(table, tmp_path / "whole", ta.NeighbourOptions(vectors=str(words)))
    monkeypatch.setattr(disk_index, "LISTS_BYTES", 1 << 14)
    monkeypatch.setattr(disk_index, "PAGES", 64)
    left: list[int] = []
    let_go, number = disk_index.DiskSearch._let_lists_go, count()

    def watched(self):
        looked = next(number) % 100 == 0
        before = resident(self.folder) if looked else 1
        let_go(self)
        assert before > 0
        left.extend([resident(self.folder)] if looked else [])

    monkeypatch.setattr(disk_index.DiskSearch, "_let_lists_go", watched)
    ta.neighbours(table, tmp_path / "out", ta.NeighbourOptions(vectors=str(words)))
    assert left and set(left) == {0}
    assert files_in(tmp_path / "out") == files_in(tmp_path / "whole")

"""Retrieval equals its obvious slow version, chunk or no chunk, ties against the model."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.score.engine_models import Dual, Pairs
from typer.testing import CliRunner

from tellapart.cli.main import app
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadImage, BadInput
from tellapart.measures import retrieval
from tellapart.measures.retrieval import Collection, RetrievalOptions, rank_both
from tellapart.models.model import ModelInfo
from tellapart.models.names import load
from tellapart.score.batches import ModelFailed
from tellapart.verbs.systems.retrieve import retrieve


class Whole:
    """Small whole numbers, so that inner products are exact and ties are many."""

    facts = ModelInfo("whole")

    def embed_images(self, pictures):
        sums = [int(np.asarray(p.open(), np.int64).sum()) for p in pictures]
        return np.array([[s % 5, s // 5 % 4, s // 20 % 3] for s in sums], np.float32)

    def embed_texts(self, texts):
        return np.array(
            [[len(t) % 4, len(t) // 4 % 5, t.count("a") % 3] for t in texts], np.float32
        )


def slowly(model, corpus, ids):
    """One query after another over the full matrix."""
    texts = [(t, image) for image in ids for t in corpus.texts_by_image[image]]
    left = model.embed_images([corpus.picture(image) for image in ids])
    right = model.embed_texts([t for t, _ in texts])
    scores = left @ right.T
    image_ranks, text_ranks = [], []
    for i, image in enumerate(ids):
        best = max(scores[i, j] for j, (_, owner) in enumerate(texts) if owner == image)
        others = [j for j, (_, owner) in enumerate(texts) if owner != image]
        image_ranks.append(1 + sum(scores[i, j] >= best for j in others))
    for j, (_, owner) in enumerate(texts):
        own = ids.index(owner)
        text_ranks.append(
            1 + sum(scores[i, j] >= scores[own, j] for i in range(len(ids)) if i != own)
        )
    return np.array(image_ranks), np.array(text_ranks)


def check(row, ranks):
    assert row.recall == {k: pytest.approx((ranks <= k).mean()) for k in (1, 5, 10)}
    assert row.median_rank == np.median(ranks)
    assert row.mrr == pytest.approx((1 / ranks).mean())


@pytest.mark.parametrize("chunk", [1, 40 * 300 * 8, 1 << 30])
def test_ranks_equal_those_of_the_slow_version(chunk, world, monkeypatch):
    monkeypatch.setattr(retrieval, "CHUNK_BYTES", chunk)
    found = retrieve(Whole(), world)
    for row, ranks in zip(
        found.rows, slowly(Whole(), world, world.images["id"].to_list()), strict=True
    ):
        check(row, ranks)
        assert row.ties > 0 and row.images == 60 and row.captions == 300


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4), st.integers(1, 200))
def test_images_and_texts_that_are_there_twice_tie_exactly(seed, n, most, chunk):
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(n), rng.integers(1, most + 1, n))
    image, text = rng.integers(0, 4, n), rng.integers(0, 5, len(owner))
    left, right = (rng.normal(size=(k, 3)).astype(np.float32) for k in (4, 5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(retrieval, "CHUNK_BYTES", 8 * chunk)
        by_image, by_text = rank_both(Collection(owner, image, text, left, right))
    scores = np.array([[left[i] @ right[t] for t in text] for i in image])
    same = np.isclose(scores[:, :, None], scores[:, None, :], atol=1e-5)  # no accidental ones
    mine = owner[None] == np.arange(n)[:, None]
    best = [max(np.flatnonzero(mine[i]), key=lambda j, i=i: scores[i, j]) for i in range(n)]
    level = np.array([same[i, best[i]] & ~mine[i] for i in range(n)])
    above = np.array([(scores[i] > scores[i, best[i]]) & ~same[i, best[i]] for i in range(n)])
    assert by_image.ranks.tolist() == (1 + (level | above & ~mine).sum(axis=1)).tolist()
    assert by_image.ties == level.any(axis=1).sum()
    own = scores[owner, np.arange(len(owner))]
    others = ~mine
    near = np.isclose(scores, own, atol=1e-5) & others
    assert by_text.ranks.tolist() == (1 + (near | (scores > own) & others).sum(axis=0)).tolist()
    assert by_text.ties == near.any(axis=0).sum()


def test_smaller_collections_are_asked_on_their_own(world):
    found = retrieve(Dual(), world, RetrievalOptions(sizes=(10, 30), draws=1))
    assert [row.images for row in found.rows] == [10, 10, 30, 30, 60, 60]
    assert found.rows[0].median_rank <= found.rows[2].median_rank <= found.rows[4].median_rank
    alone = retrieve(Dual(), world, RetrievalOptions(limit=10))
    assert alone.rows[:2] == found.rows[:2]


def test_collections_are_drawn_again_and_the_band_holds_their_mean(world):
    found = retrieve(Dual(), world, RetrievalOptions(sizes=(10,), draws=5))
    small, whole = found.rows[0], found.rows[2]
    assert small.draws == 5 and whole.draws == 1 and not whole.band
    assert all(low <= small.recall[k] <= high for k, (low, high) in small.band.items())
    assert "5 draws" in str(found)
    with pytest.raises(BadInput, match="0 times"):
        retrieve(Dual(), world, RetrievalOptions(sizes=(10,), draws=0))


def test_a_model_with_a_grid_gives_the_ranks_of_its_pairs_beyond_their_limit(
    world, monkeypatch, caplog
):
    class Grids(Pairs):
        def score_grid(self, pictures, texts, progress):
            rows = []
            for k, picture in enumerate(pictures, 1):
                rows.append(self.score_pairs([picture] * len(texts), texts))
                progress("pairs", k * len(texts), len(pictures) * len(texts))
            return np.array(rows)

    slow = retrieve(Pairs(), world, RetrievalOptions(limit=12))
    monkeypatch.setattr(retrieval, "MOST_PAIRS", 100)
    with caplog.at_level("INFO"):
        assert retrieve(Grids(), world, RetrievalOptions(limit=12)).rows == slow.rows
    assert "720 pairs to score" in caplog.text


def test_a_constant_model_is_last_everywhere(world):
    class Same(Whole):
        def embed_images(self, pictures):
            return np.ones((len(pictures), 3))

        def embed_texts(self, texts):
            return np.ones((len(texts), 3))

    rows = retrieve(Same(), world).rows
    assert [row.recall[10] for row in rows] == [0, 0]
    assert [row.median_rank for row in rows] == [1 + 59 * 5, 60]


def test_every_picture_and_caption_is_encoded_once_and_cached(world, tmp_path):
    options = RetrievalOptions(cache=tmp_path / "cache")
    model, again = Dual(weights="w"), Dual(weights="w")
    first = retrieve(model, world, options)
    assert len(model.images) == 60 and len(model.texts) == len(set(model.texts))
    assert retrieve(again, world, options) == first and not again.calls


def test_a_pair_scorer_retrieves_from_a_small_collection_only(world, monkeypatch):
    found = retrieve(Pairs(), world, RetrievalOptions(limit=6))
    assert found.rows[0].images == 6
    monkeypatch.setattr(retrieval, "MOST_PAIRS", 100)
    with pytest.raises(BadInput, match="would have to score 180 pairs"):
        retrieve(Pairs(), world, RetrievalOptions(limit=6))
    with pytest.raises(BadInput, match="cannot retrieve"):
        retrieve(load("chance-chooser"), world)


def test_numbers_that_are_none_and_pictures_that_are_broken_are_said(world, tmp_path):
    class Sick(Whole):
        def embed_texts(self, texts):
            return super().embed_texts(texts) * np.nan

    with pytest.raises(ModelFailed, match="not numbers"):
        retrieve(Sick(), world)
    uris = world.images.with_columns(
        uri=world.images["uri"].replace(world.images["uri"][3], "gone.png")
    )
    spoiled = Corpus("spoiled", world.root, uris, world.captions)
    with pytest.raises(BadImage, match="missing"):
        retrieve(Whole(), spoiled)
    found = retrieve(Whole(), spoiled, RetrievalOptions(skip_bad=True))
    assert found.rows[0].images == 59 and len(found.skipped) == 1


def test_the_verb_prints_a_table_or_json(world, tmp_path, monkeypatch):
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path))
    words = ["retrieve", "chance", "--on", str(world.root), "--limit", "8", "--sizes", "4"]
    said = CliRunner().invoke(app, words)
    assert said.exit_code == 0 and "R@10" in said.stdout and "text to image" in said.stdout
    told = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert [row["images"] for row in told["rows"]] == [4, 4, 8, 8]
    assert set(told["rows"][0]["recall"]) == {"1", "5", "10"}

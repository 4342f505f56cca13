"""Retrieval equals its obvious slow version, chunk or no chunk, ties against the model."""

from __future__ import annotations

import json

import numpy as np
import pytest
import typer
from tests.score.engine_models import Dual, Pairs
from typer.testing import CliRunner

from tellapart.cli import retrieving
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadImage, BadInput
from tellapart.measures import ranking, retrieval
from tellapart.measures.retrieval import RetrievalOptions, retrieve
from tellapart.models.model import Facts
from tellapart.models.names import load
from tellapart.score.computing import ModelFailed


class Whole:
    """Small whole numbers, so that inner products are exact and ties are many."""

    facts = Facts("whole")

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
    monkeypatch.setattr(ranking, "CHUNK_BYTES", chunk)
    found = retrieve(Whole(), world)
    for row, ranks in zip(
        found.rows, slowly(Whole(), world, world.images["id"].to_list()), strict=True
    ):
        check(row, ranks)
        assert row.ties > 0 and row.images == 60 and row.captions == 300


def test_smaller_collections_are_asked_on_their_own(world):
    found = retrieve(Dual(), world, RetrievalOptions(sizes=(10, 30)))
    assert [row.images for row in found.rows] == [10, 10, 30, 30, 60, 60]
    assert found.rows[0].median_rank <= found.rows[2].median_rank <= found.rows[4].median_rank
    alone = retrieve(Dual(), world, RetrievalOptions(limit=10))
    assert alone.rows[:2] == found.rows[:2]


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
    app = typer.Typer()
    app.command("other")(lambda: None)
    retrieving.register(app)
    words = ["retrieve", "chance", "--on", str(world.root), "--limit", "8", "--sizes", "4"]
    said = CliRunner().invoke(app, words)
    assert said.exit_code == 0 and "R@10" in said.stdout and "text to image" in said.stdout
    told = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert [row["images"] for row in told["rows"]] == [4, 4, 8, 8]
    assert set(told["rows"][0]["recall"]) == {"1", "5", "10"}

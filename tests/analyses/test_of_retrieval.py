"""Retrieval query by query: ranks, collections of any size, and errors that people call right."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import tellapart as ta
from tellapart.analyses.collection_size import found_among
from tellapart.cli.main import app
from tellapart.errors import BadInput, UnknownName
from tellapart.measures.retrieval import Collection, rank_both
from tellapart.measures.retrieval_queries import nearest_wrong, query_table, read_queries


def collection(seed: int, images: int = 12, captions: int = 30) -> Collection:
    rng = np.random.default_rng(seed)
    owner = np.sort(
        np.concatenate([np.arange(images), rng.integers(images, size=captions - images)])
    )
    scores = rng.normal(size=(images, captions))
    return Collection(owner, np.arange(images), np.arange(captions), scores, None)


def test_the_nearest_wrong_answers_are_those_of_the_whole_matrix(monkeypatch):
    monkeypatch.setattr("tellapart.measures.retrieval.CHUNK_BYTES", 8 * 30 * 5)  # several chunks
    found = collection(0)
    wrong = np.where(found.owner[None] == np.arange(12)[:, None], -np.inf, found.left)
    captions, images = nearest_wrong(found)
    assert captions.tolist() == wrong.argmax(axis=1).tolist()
    assert images.tolist() == wrong.argmax(axis=0).tolist()


def test_a_query_that_is_found_names_its_own_and_an_error_the_wrong_one():
    found = collection(1)
    names = [f"i{k}" for k in range(12)]
    table = query_table(found, names, [f"c{k}" for k in range(30)], rank_both(found))
    of_texts = table.filter(pl.col("direction") == "text to image")
    assert of_texts.height == 30
    for row in of_texts.iter_rows(named=True):
        assert (row["rank"] == 1) == (row["found_image"] == row["image"])
        assert row["found_caption"] == row["caption"]
    images = table.filter(pl.col("direction") == "image to text", pl.col("rank") > 1)
    assert all(f != c for f, c in images.select("found_caption", "caption").iter_rows())


def test_the_chance_to_be_found_is_the_mean_over_drawn_collections():
    rng = np.random.default_rng(0)
    images, rank, size, k = 20, 6, 8, 2
    drawn = [(rng.permutation(images - 1)[: size - 1] < rank - 1).sum() < k for _ in range(4_000)]
    assert found_among(np.array([rank]), images, size, k)[0] == pytest.approx(
        np.mean(drawn), abs=0.03
    )


def queries(path, ranks):
    rows = []
    for k, rank in enumerate(ranks):
        found = f"i{k}" if rank == 1 else "i99"
        rows.append((f"t2i-{k}", "text to image", f"i{k}", f"c{k}", rank, found, f"c{k}"))
    names = ["query", "direction", "image", "caption", "rank", "found_image", "found_caption"]
    pl.DataFrame(rows, schema=names, orient="row").write_csv(path)
    return path


def test_recall_falls_with_the_collection_and_is_recall_on_all(tmp_path):
    ranks = np.random.default_rng(0).integers(1, 12, size=40)
    path = queries(tmp_path / "q.csv", ranks.tolist())
    options = ta.CollectionOptions(sizes=(5, 20, 40), at=(1, 5), resamples=100)
    table = ta.analyse("collection-size", path, options).table("collection-size")
    for k in (1, 5):
        recall = table.filter(pl.col("k") == k)["recall"].to_list()
        assert recall[0] > recall[1] > recall[2] == pytest.approx((ranks <= k).mean())
    told = ta.analyse("collection-size", path, options).sentences
    assert all("falls from" in one and "40 queries" in one for one in told)
    perfect = queries(tmp_path / "perfect.csv", [1] * 40)
    sure = ta.analyse("collection-size", perfect, options).sentences
    assert all("is 100.0% (" in one and "falls" not in one for one in sure)
    with pytest.raises(BadInput, match="2 to 40"):
        ta.analyse("collection-size", path, ta.CollectionOptions(sizes=(500,)))


def test_curves_of_one_system_stand_together_and_those_of_several_by_rank(tmp_path):
    one, two = (queries(tmp_path / f"{name}.csv", [1, 2, 3, 4, 9]) for name in ("bow", "scan"))
    options = ta.CollectionOptions(sizes=(2, 5), at=(1, 3), resamples=20)
    alone = ta.analyse("collection-size", one, options).figure.panels
    assert [(panel.title, panel.series) for panel in alone] == [("bow", ["recall@1", "recall@3"])]
    both = ta.analyse("collection-size", [one, two], options).figure.panels
    assert [panel.title for panel in both] == ["recall@1", "recall@3"]
    assert all(panel.series == ["bow", "scan"] for panel in both)


def judged(path, said):
    rows = [(f"query:t2i-{k}", choice, void) for k, choice, void in said]
    pl.DataFrame(rows, schema=["item", "choice", "void"], orient="row").write_csv(path)
    return path


def test_errors_that_people_take_for_right_are_put_back(tmp_path):
    path = queries(tmp_path / "q.csv", [1] * 6 + [2] * 4)
    said = [(6, "yes", False), (6, "yes", False), (6, "no", False),  # most say yes
            (7, "yes", False), (7, "no", False),  # a draw is no
            (8, "no", False), (9, "yes", True), (9, "no", False)]  # fmt: skip
    options = ta.RecallErrorOptions(judgements=judged(tmp_path / "j.csv", said), resamples=100)
    found = ta.analyse("recall-errors", path, options)
    assert found.table("errors")["number"].to_list() == [3, 1]
    assert found.table("recall")["value"].to_list() == pytest.approx([0.6, 0.7])
    assert "people call 1 of them right: 25.0%" in found.sentences[0]


def test_a_study_without_judgements_is_an_error(tmp_path):
    path = queries(tmp_path / "q.csv", [1, 2])
    with pytest.raises(BadInput, match="no judgements of the errors"):
        ta.analyse("recall-errors", path)
    other = judged(tmp_path / "j.csv", [(77, "yes", False)])
    with pytest.raises(BadInput, match="none of the 1 errors"):
        ta.analyse("recall-errors", path, ta.RecallErrorOptions(judgements=other))
    path.write_text("query,rank\na,1\n")
    with pytest.raises(UnknownName, match="direction"):
        ta.analyse("collection-size", path)


def test_retrieve_writes_queries_that_add_up_to_its_recall(tmp_path, world):
    out = tmp_path / "queries.parquet"
    options = ta.RetrievalOptions(limit=20, per_query=out)
    found = ta.retrieve("storybook", world, options)
    table = read_queries(out)
    for row in found.rows:
        own = table.filter(pl.col("direction") == row.direction)
        assert float((own["rank"] == 1).mean()) == pytest.approx(row.recall[1])
    bad = CliRunner().invoke(
        app, ["retrieve", "storybook", "--on", str(world.root), "--per-query", "q.txt"]
    )
    assert bad.exit_code != 0 and "q.txt is not a name" in str(bad.exception)

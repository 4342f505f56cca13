"""Nearest neighbours: what both ways of searching promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellapart.errors import BadInput, TellapartError, UnknownName
from tellapart.mine.neighbours import exact, nearest
from tellapart.mine.neighbours.nearest import Neighbours, Search
from tellapart.text.tfidf import tfidf


def obvious(vectors, k, exclude=()):
    """Every pair compared in double precision, one after the other."""
    rows = np.asarray(vectors, np.float64)
    unit = [row / (np.linalg.norm(row) or 1) for row in rows]
    found = []
    for i, one in enumerate(unit):
        others = [j for j in range(len(unit)) if j != i and all(g[i] != g[j] for g in exclude)]
        similar = {j: round(float(np.dot(one, unit[j])), 8) for j in others}
        found.append(sorted(others, key=lambda j: (-similar[j], j))[:k])
    return found


def listed(neighbours, k, queries=None):
    blocks = list(neighbours.nearest(k, queries))
    return [row[row >= 0].tolist() for block in blocks for row in block.indices]


def clustered(rows, dimensions=16, seed=0):
    """Vectors in loose heaps, some of them there twice."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(12, dimensions))
    vectors = centres[rng.integers(12, size=rows)] + rng.normal(size=(rows, dimensions))
    vectors[rows // 2 : rows // 2 + 20] = vectors[:20]
    return vectors.astype(np.float32)


small = st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=1, max_size=25)


@given(small, st.integers(1, 6), st.integers(1, 5), st.integers(1, 4))
def test_exact_search_is_the_obvious_one_ties_included(rows, k, images, texts):
    vectors = np.array(rows, np.float32)
    exclude = (np.arange(len(rows)) % images, np.arange(len(rows)) // texts)
    found = listed(Neighbours(vectors, exclude, Search("exact")), k)
    assert found == obvious(vectors, k, exclude)


def test_sparse_vectors_are_searched_alike():
    texts = ["a red dog", "a red cat", "a blue dog", "two red dogs run", "a red dog", "Один кот"]
    vectors = tfidf(texts)
    assert listed(Neighbours(vectors), 3) == obvious(vectors.toarray(), 3)


def test_small_blocks_single_precision_and_compiled_code_change_nothing(monkeypatch):
    vectors = clustered(700)
    exclude = (np.arange(700) // 5,)
    expected = obvious(vectors, 9, exclude)
    assert listed(Neighbours(vectors, exclude), 9) == expected
    monkeypatch.setattr(exact, "BLOCK_BYTES", 4 * 700 * 37)
    monkeypatch.setattr(exact, "SAMPLE", 100)
    monkeypatch.setattr(exact, "DOUBLE_UP_TO", 0)
    monkeypatch.setattr(nearest, "LARGE", 0)
    assert listed(Neighbours(vectors, exclude), 9) == expected


def test_rows_that_are_alike_tie_wherever_they_stand(monkeypatch):
    monkeypatch.setattr(exact, "DOUBLE_UP_TO", 0)
    one = np.random.default_rng(1).normal(size=(500, 64)).astype(np.float32)
    vectors = np.concatenate([one, one[:100] * 3, one])
    for row, found in enumerate(listed(Neighbours(vectors), 2)[:100]):
        assert found == [500 + row, 600 + row]
    similar = np.concatenate([near.similarities for near in Neighbours(vectors).nearest(2)])
    assert (similar[:100, 0] == similar[:100, 1]).all()


def test_approximate_search_finds_nearly_all_and_says_how_much():
    vectors = clustered(3000)
    exclude = (np.arange(3000) // 5,)
    nearly = Neighbours(vectors, exclude, Search("approximate", threads=2))
    true = listed(Neighbours(vectors, exclude, Search("exact")), 40)
    found = listed(nearly, 40)
    share = np.mean([len(set(a) & set(b)) / 40 for a, b in zip(found, true, strict=True)])
    assert share > 0.94
    assert nearly.recall(40) == pytest.approx(share, abs=0.03)
    assert all(len(row) == 40 for row in found)


def test_approximate_search_comes_out_the_same_each_time_and_in_parts():
    vectors = clustered(5000)
    first = listed(Neighbours(vectors, search=Search("approximate", threads=1)), 10)
    again = Neighbours(vectors, search=Search("approximate", threads=2))
    assert listed(again, 10) == first
    chosen = np.array([4999, 3, 17])
    assert listed(again, 10, chosen) == [first[row] for row in chosen]


def test_what_was_moved_to_the_front_of_a_full_row_is_not_found_twice():
    from tellapart.mine.neighbours.approximate import gather

    similar = np.random.default_rng(0).normal(size=(1, 400)).astype(np.float32)
    values = np.full((1, 30), -np.inf, np.float32)
    found, counts = np.full((1, 30), -1, np.int32), np.zeros(1, np.int32)
    lowest = np.full(1, -np.inf, np.float32)
    places = np.arange(400, dtype=np.int32)
    gather(similar, np.zeros(1, np.intp), places, lowest, (values, found, counts), 10)
    kept = found[0][np.argsort(-values[0])][:10]
    assert kept.tolist() == np.argsort(-similar[0])[:10].tolist()


def test_a_row_whose_whole_surroundings_are_excluded_still_gets_its_neighbours():
    vectors = clustered(3000)
    vectors[:500] = vectors[0] + np.arange(500)[:, None] * np.float32(1e-4)
    texts = np.concatenate([np.zeros(500), np.arange(1, 2501)])
    exclude = (np.arange(3000), texts)
    found = Neighbours(vectors, exclude, Search("approximate"))
    true = Neighbours(vectors, exclude, Search("exact"))
    rows = np.arange(0, 500, 100)
    assert listed(found, 20, rows) == listed(true, 20, rows)


@pytest.mark.parametrize("method", ["exact", "approximate"])
def test_ten_thousand_equal_texts_end(method):
    vectors = np.ones((10_000, 8), np.float32)
    images = np.arange(10_000) // 2
    allowed = Neighbours(vectors, (images,), Search(method))
    assert listed(allowed, 3, np.array([0, 1, 9999])) == [[2, 3, 4], [2, 3, 4], [0, 1, 2]]
    none = Neighbours(vectors, (images, np.zeros(10_000)), Search(method))
    assert listed(none, 3) == [[]] * 10_000


@pytest.mark.parametrize("method", ["exact", "approximate"])
def test_one_row_has_no_neighbour(method):
    (near,) = Neighbours(np.ones((1, 4), np.float32), search=Search(method)).nearest(2)
    assert near.indices.tolist() == [[-1, -1]] and near.similarities.tolist() == [[0, 0]]


def test_progress_counts_queries():
    seen = []
    list(Neighbours(clustered(3000)).nearest(1, progress=lambda *done: seen.append(done)))
    assert seen[-1] == ("nearest neighbours", 3000, 3000) and len(seen) > 1


def test_an_unknown_way_to_search_is_named():
    with pytest.raises(UnknownName, match="no way to search called 'quick'"):
        Neighbours(np.ones((2, 2), np.float32), search=Search("quick"))


def test_sparse_vectors_cannot_be_searched_approximately():
    with pytest.raises(BadInput, match="needs dense vectors"):
        Neighbours(tfidf(["a cat", "a dog"]), search=Search("approximate"))


def test_without_faiss_search_is_exact_and_approximate_search_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    monkeypatch.setattr("tellapart.mine.neighbours.nearest.EXACT_UP_TO", 10)
    vectors = clustered(100)
    assert Neighbours(vectors).method == "exact"
    with pytest.raises(TellapartError, match="faiss") as caught:
        list(Neighbours(vectors, search=Search("approximate")).nearest(1))
    assert "tellapart[text]" in caught.value.todo

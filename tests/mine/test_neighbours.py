"""Nearest neighbours: what both ways of searching promise."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.mine.neighbours.nearest import Neighbours, Search
from tellapart.text.tfidf import tfidf


def obvious(vectors, k, exclude=()):
    """Every pair compared in double precision, one after the other."""
    rows = np.asarray(vectors, np.float64)
    unit = [row / (np.linalg.norm(row) or 1) for row in rows]
    found = []
    for i, one in enumerate(unit):
        others = [j for j in range(len(unit)) if j != i and all(g[i] != g[j] for g in exclude)]
        similar = {j: round(float(np.dot(one, unit[j])), 5) for j in others}
        found.append(sorted(others, key=lambda j: (-similar[j], j))[:k])
    return found


def listed(neighbours, k):
    blocks = list(neighbours.nearest(k))
    return [row[row >= 0].tolist() for block in blocks for row in block.indices]


small = st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=1, max_size=25)


@given(small, st.integers(1, 6), st.integers(1, 5), st.integers(1, 4))
@settings(deadline=None, max_examples=80)
def test_exact_search_is_the_obvious_one_ties_included(rows, k, images, texts):
    vectors = np.array(rows, np.float32)
    exclude = (np.arange(len(rows)) % images, np.arange(len(rows)) // texts)
    found = listed(Neighbours(vectors, exclude, Search("exact")), k)
    assert found == obvious(vectors, k, exclude)


def test_sparse_vectors_are_searched_alike():
    texts = ["a red dog", "a red cat", "a blue dog", "two red dogs run", "a red dog", "Один кот"]
    vectors = tfidf(texts)
    assert listed(Neighbours(vectors), 3) == obvious(vectors.toarray(), 3)

"""How near texts of a group are to each other."""

from __future__ import annotations

import numpy as np
import pytest

from tellapart.text.tfidf import nearness_to_others, tfidf

TEXTS = ["a red dog", "a dog", "two red cats", "a red cat on a mat", "a dog", "birds"]


def test_it_is_the_mean_cosine_of_the_obvious_version():
    text, group = np.array([0, 1, 2, 3, 4, 5, 0]), np.array([0, 0, 0, 1, 1, 1, 2])
    vectors = tfidf(TEXTS).toarray()
    found = nearness_to_others(TEXTS, text, group)
    for k in range(len(text)):
        others = [j for j in range(len(text)) if group[j] == group[k] and j != k]
        cosines = [vectors[text[k]] @ vectors[text[j]] for j in others]
        assert found[k] == pytest.approx(np.mean(cosines) if others else 0, abs=1e-8)


def test_members_with_the_same_words_tie_exactly():
    found = nearness_to_others(TEXTS, np.array([1, 4, 3]), np.array([0, 0, 0]))
    assert found[0] == found[1] > found[2]

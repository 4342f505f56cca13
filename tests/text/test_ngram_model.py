"""N-gram language models."""

from __future__ import annotations

import math

import pytest

from tellapart.text.ngram_model import SENTENCE_END, NGramModel

CAPTIONS = ["a red dog", "a blue dog", "a red cat runs", "two dogs"]


def test_probabilities_of_the_next_word_sum_to_one():
    model = NGramModel([c.split() for c in CAPTIONS], order=3)
    vocabulary = {w for c in CAPTIONS for w in c.split()} | {SENTENCE_END}
    for history in ("a red", "two dogs", "never seen"):
        known = [model._probability(w, tuple(history.split())) for w in vocabulary]
        unknown = model._probability("zebra", tuple(history.split()))
        assert sum(known) + unknown == pytest.approx(1.0)
        assert all(p > 0 for p in known) and unknown > 0


def test_a_unigram_model_by_hand():
    # 3 words seen: a, a, b and two ends; Witten-Bell with 3 distinct of 5 tokens
    model = NGramModel([["a"], ["a", "b"]], order=1)
    uniform = 1 / 4  # a, b, the end, and one place for what is unknown
    expected = (2 + 3 * uniform) / (5 + 3), (2 + 3 * uniform) / (5 + 3)
    assert model.log_probability(["a"]) == pytest.approx(sum(map(math.log, expected)))


def test_what_was_seen_is_likelier_than_what_was_not():
    model = NGramModel([c.split() for c in CAPTIONS])
    assert model.log_probability("a red dog".split()) > model.log_probability("dog red a".split())

"""ROUGE-L."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.text import slow_scores as slow
from tests.text.coco_scripts import coco_rouge, needs_scripts

from tellapart.text.caption_metrics.references import ReferenceSets
from tellapart.text.caption_metrics.rouge import rouge_l

WORDS = st.lists(st.sampled_from("a b c d e".split()), max_size=12).map(" ".join)
FULL = WORDS.filter(bool)


def sets_of(words: st.SearchStrategy[str]) -> st.SearchStrategy[list[tuple[str, list[str]]]]:
    one = st.tuples(words, st.lists(words, min_size=1, max_size=4))
    return st.lists(one, min_size=1, max_size=6)


@given(sets_of(WORDS), st.sampled_from([0.5, 1.0, 1.2]))
def test_against_a_slow_version(given, beta):
    found = rouge_l(ReferenceSets.of([c for c, _ in given], [r for _, r in given]), beta)
    expected = [slow.rouge_l(c, r, beta) for c, r in given]
    assert found.sentences == pytest.approx(expected, abs=1e-12)
    assert found.corpus == pytest.approx(np.mean(expected), abs=1e-12)


@needs_scripts
@given(sets_of(FULL))
def test_as_the_coco_scripts_have_it(given):
    corpus, sentences = coco_rouge([c for c, _ in given], [r for _, r in given])
    found = rouge_l(ReferenceSets.of([c for c, _ in given], [r for _, r in given]))
    assert np.allclose(found.sentences, sentences, rtol=0, atol=1e-12)
    assert found.corpus == pytest.approx(corpus, abs=1e-12)


def test_by_hand():
    # precision 2/3 with the first, recall 2/2 with the second
    found = rouge_l(ReferenceSets.of(["a dog runs"], [["a dog sits down", "dog runs"]]))
    precision, recall = 2 / 3, 1.0
    assert found.corpus == pytest.approx(2.44 * precision * recall / (recall + 1.44 * precision))


@needs_scripts
def test_a_fraction_with_a_no_break_space_is_one_word_as_in_the_scripts():
    candidates, references = ["a 1\xa01/2 cup"], [["a 1\xa01/2 mug", "1 cup"]]
    found = rouge_l(ReferenceSets.of(candidates, references))
    assert found.corpus == pytest.approx(coco_rouge(candidates, references)[0], abs=1e-12)


def test_no_words_and_no_candidates():
    sets = ReferenceSets.of(["", "a", ""], [["a"], [""], [""]])
    assert rouge_l(sets).sentences.tolist() == [0.0, 0.0, 0.0]
    assert rouge_l(ReferenceSets.of([], [])).corpus == 0.0


def test_long_sentences():
    words = np.random.default_rng(0).choice(list("abcdefgh"), size=(2, 300))
    candidate, reference = (" ".join(row) for row in words)
    found = rouge_l(ReferenceSets.of([candidate], [[reference]])).corpus
    assert found == pytest.approx(slow.rouge_l(candidate, [reference]), abs=1e-12)

"""Vectors of words and texts: near where texts are alike, and the same each time."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tellapart.errors import BadInput, TellapartError
from tellapart.text.gensim_vectors import (
    ParagraphOptions,
    WordOptions,
    train_paragraph_vectors,
    train_word_vectors,
)

needs_gensim = pytest.mark.skipif(find_spec("gensim") is None, reason="gensim is not installed")

DOGS = ["a dog runs on the grass".split(), "the dog runs on grass".split()]
BUSES = ["two buses wait in a street".split(), "buses in the street wait".split()]
TEXTS = (DOGS + BUSES) * 30
SMALL = ParagraphOptions(dimensions=16, epochs=40, seed=3)


@needs_gensim
@pytest.mark.parametrize("negative", [5, 0])
def test_texts_with_the_same_words_are_near(negative):
    options = ParagraphOptions(dimensions=16, epochs=60, negative=negative)
    vectors = train_paragraph_vectors(TEXTS, options)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    similar = unit @ unit.T
    dogs = np.arange(len(TEXTS)) % 4 < 2
    alike = similar[np.ix_(dogs, dogs)].mean() + similar[np.ix_(~dogs, ~dogs)].mean()
    assert alike / 2 > similar[np.ix_(dogs, ~dogs)].mean() + 0.2


def printed(code: str) -> str:
    """What another process prints, in which strings have other hashes."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "1"}, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    return done.stdout.strip()


TRAIN = """
from tests.text.test_gensim_vectors import SMALL, TEXTS
from tellapart.text.gensim_vectors import train_paragraph_vectors
print(train_paragraph_vectors(TEXTS, SMALL).tobytes().hex())
"""


@needs_gensim
def test_training_gives_the_same_vectors_in_every_process():
    assert printed(TRAIN) == train_paragraph_vectors(TEXTS, SMALL).tobytes().hex()


@needs_gensim
def test_a_text_without_words_gets_zero_and_others_are_numbered_right():
    vectors = train_paragraph_vectors([[], *TEXTS, []], SMALL)
    assert vectors.shape == (len(TEXTS) + 2, 16) and vectors.dtype == np.float32
    assert not vectors[0].any() and not vectors[-1].any() and vectors[1:-1].any(axis=1).all()


@needs_gensim
def test_fast_training_reports_each_epoch():
    seen = []
    options = ParagraphOptions(dimensions=8, epochs=4, fast=True)
    vectors = train_paragraph_vectors(TEXTS, options, lambda *done: seen.append(done))
    assert vectors.shape == (len(TEXTS), 8) and seen[-1] == ("training vectors", 4, 4)


def test_nothing_to_train_on_is_an_error():
    with pytest.raises(BadInput, match="no words to train vectors on"):
        train_paragraph_vectors([[], []])


def test_without_gensim_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models.doc2vec", None)
    with pytest.raises(TellapartError, match="gensim") as caught:
        train_paragraph_vectors(TEXTS)
    assert "tellapart[text]" in caught.value.todo


CAPTIONS = [f"a {thing} on the {place}".split() for thing in ("dog", "cat", "bus")
         for place in ("grass", "street", "mat")] * 3  # fmt: skip


WORDS = WordOptions(dimensions=8, epochs=2, seed=3)
TRAIN_WORDS = """
from tests.text.test_gensim_vectors import CAPTIONS, WORDS
from tellapart.text.gensim_vectors import train_word_vectors
made = train_word_vectors(CAPTIONS, WORDS)
print(made.words, made.matrix.tobytes().hex())
"""


@needs_gensim
def test_training_gives_the_same_word_vectors_in_every_process():
    made = train_word_vectors(CAPTIONS, WORDS)
    assert printed(TRAIN_WORDS) == f"{made.words} {made.matrix.tobytes().hex()}"
    assert "dog" in made.words


@needs_gensim
def test_training_depends_on_the_seed_and_reports_each_epoch():
    seen = []
    one = train_word_vectors(CAPTIONS, WordOptions(8, 3, seed=1), lambda *done: seen.append(done))
    other = train_word_vectors(CAPTIONS, WordOptions(8, 3, seed=2))
    assert seen == [("training vectors", k, 3) for k in (1, 2, 3)]
    assert one.words == other.words and not np.allclose(one.matrix, other.matrix)
    assert (
        train_word_vectors(CAPTIONS, WordOptions(8, 3, fast=True)).matrix.shape == one.matrix.shape
    )


def test_no_words_to_train_on_are_an_error():
    with pytest.raises(BadInput, match="no words to train vectors on"):
        train_word_vectors([[], []])


def test_without_gensim_the_extra_is_named_for_word_vectors_too(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models.fasttext", None)
    with pytest.raises(TellapartError, match="gensim") as caught:
        train_word_vectors(CAPTIONS)
    assert "tellapart[text]" in caught.value.todo

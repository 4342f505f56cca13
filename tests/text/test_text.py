"""Words, n-grams and inflection."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellapart.text.inflect import article, drop, plural, put
from tellapart.text.language.ngrams import END, NGramModel
from tellapart.text.words import spans, tokens

CAPTIONS = ["a red dog", "a blue dog", "a red cat runs", "two dogs"]


def test_probabilities_of_the_next_word_sum_to_one():
    model = NGramModel([c.split() for c in CAPTIONS], order=3)
    vocabulary = {w for c in CAPTIONS for w in c.split()} | {END}
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


@given(st.text(max_size=60))
def test_spans_point_at_their_words(text):
    for start, end, word in spans(text):
        assert text[start:end].lower() == word
    assert [word for *_, word in spans(text)] == tokens(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [("一只猫。", ["一", "只", "猫"]), ("テーブルの上", ["テーブル", "の", "上"]),
     ("قِطّة على الطاولة", ["قِطّة", "على", "الطاولة"]), ("मेज पर", ["मेज", "पर"]), ("นั่ง", ["นั่", "ง"]),
     ("고양이가 책상 위에", ["고양이가", "책상", "위에"]),
     ("Café-Straße", ["café-straße"]), ("٣ قطط", ["٣", "قطط"])],
)  # fmt: skip
def test_no_script_loses_letters(text, words):
    assert tokens(text) == words


@pytest.mark.parametrize(
    ("singular", "several"),
    [("dog", "dogs"), ("bus", "buses"), ("toothbrush", "toothbrushes"), ("knife", "knives"),
     ("sheep", "sheep"), ("puppy", "puppies"), ("toy", "toys"), ("fireman", "firemen"),
     ("human", "humans"), ("hot dog", "hot dogs"), ("box", "boxes"), ("mouse", "mice")],
)  # fmt: skip
def test_plurals(singular, several):
    assert plural(singular) == several


@pytest.mark.parametrize(
    ("word", "right"),
    [("apple", "an"), ("umbrella", "an"), ("unicorn", "a"), ("tv", "a"), ("oven", "an"),
     ("one-eyed cat", "a"), ("hour", "an"), ("dog", "a"), ("used car", "a")],
)  # fmt: skip
def test_articles(word, right):
    assert article(word) == right


def test_putting_a_word_keeps_articles_and_capitals_right():
    assert put("There is an oven.", 12, 16, "car") == "There is a car."
    assert put("An oven.", 3, 7, "car") == "A car."
    assert put("A big oven.", 6, 10, "umbrella") == "A big umbrella."
    assert put("Oven on fire.", 0, 4, "car") == "Car on fire."


def test_dropping_a_word_leaves_single_spaces():
    assert drop("A red dog.", 6, 9) == "A red."
    assert drop("Dogs run.", 0, 4) == "run."
    assert drop("A dog, a cat.", 2, 5) == "A, a cat."

"""Plurals, articles and capitals."""

from __future__ import annotations

import pytest

from tellapart.text.english import article, drop, plural, put


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

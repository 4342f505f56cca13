"""What captions say, and what follows from it."""

from __future__ import annotations

import pytest

from tellapart.mine.balanced.statements import SLOT, Statement, follows, heard, statements
from tellapart.text.parse import parse

pytest.importorskip("spacy", reason="spaCy is not installed")


def said(text: str, slot: str = "") -> set[Statement]:
    """All that is true if a caption is, with a word of it as the slot."""
    own = parse([text])[0]
    places = {token.place for token in own if token.text == slot}
    return heard(statements(own, places))


def test_a_caption_says_who_does_what_where_and_what_things_are_like():
    found = said("A dog sits on a red bench.", "dog")
    assert {("does", "sit+", SLOT), ("on", "sit+", "bench"), ("is", "bench", "red")} <= found
    assert ("on", SLOT, "bench") in found, "who sits on a bench is on it"
    assert ("on", "bench", SLOT) not in found


@pytest.mark.parametrize(
    "text",
    [
        "A dog is sitting on the red bench.",
        "A dog sitting on a red bench",
        "There is a dog sitting on his red bench.",
        "The dog that is sitting on a red bench",
    ],
)
def test_articles_tense_and_the_form_of_the_sentence_make_no_difference(text):
    needed = {("does", "sit+", SLOT), ("on", "sit+", "bench"), ("is", "bench", "red")}
    assert needed <= said(text, "dog")


def test_where_something_is_needs_no_verb():
    for text in ("A dog on a bench.", "A dog is on a bench.", "There is a dog on a bench."):
        assert ("on", SLOT, "bench") in said(text, "dog"), text


def test_what_is_wider_follows_and_not_the_reverse():
    assert ("does", "sit+", "person") in said("A man sitting on a bench.")
    assert ("does", "sit+", "man") not in said("A person sitting on a bench.")
    on_top = said("A cat on top of a car.", "cat")
    assert ("on", SLOT, "car") in on_top and ("near", SLOT, "car") not in on_top
    assert ("on top of", SLOT, "car") not in said("A cat on a car.", "cat")
    assert ("near", SLOT, "car") in said("A cat next to a car.", "cat")


def test_of_what_is_not_there_the_wider_word_does_not_follow():
    assert [*follows(("without", SLOT, "man"))] == [("without", SLOT, "man")]
    assert ("with", SLOT, "person") in {*follows(("with", SLOT, "man"))}


def test_determiners_that_tell_are_statements():
    assert ("is", "dog", "another") in said("Another dog on a bench.")
    assert not any("the" in one for one in said("The dog on the bench."))


def test_a_preposition_of_several_words_is_one_relation():
    found = said("A cat sitting on top of a car next to a tree.", "cat")
    assert ("on top of", "sit+", "car") in found
    assert not any(one[-1] in ("top", "next") for one in found), "no thing called top"


def test_a_slot_of_two_words_is_one_thing():
    own = parse(["A man holding a tennis racket."])[0]
    places = {token.place for token in own if token.text in ("tennis", "racket")}
    found = heard(statements(own, places))
    assert ("dobj", "hold+", SLOT) in found
    assert not any(one.count(SLOT) > 1 or "tennis" in one for one in found)

"""What may be left out of captions."""

from __future__ import annotations

from itertools import combinations

import pytest

from tellapart.mine.balanced.shortening import cuts, is_complete, opening, parts
from tellapart.mine.negatives.negative import changed
from tellapart.text.parse import parse

pytest.importorskip("spacy", reason="spaCy is not installed")


def shorter(text: str) -> set[str]:
    """The caption with any of its parts left out."""
    own = parse([text])[0]
    begin, loose = opening(own), parts(own)
    chosen = (some for size in range(len(loose) + 1) for some in combinations(loose, size))
    left_out = {begin.union(*some) for some in chosen}
    return {changed(text, cuts(own, one)) for one in left_out if is_complete(own, one)}


def test_adjectives_places_and_clauses_may_go():
    found = shorter("A big dog sleeping on a red bench in a park.")
    assert {
        "A big dog sleeping on a red bench in a park.",
        "A dog sleeping on a bench.",
        "A big dog sleeping on a red bench.",
    } <= found
    assert "A man holding a racket." in shorter("A man holding a racket while standing on a court.")
    assert "A dog on a bench." in shorter("A dog on a bench that is looking at a cat.")


def test_an_article_follows_what_stands_behind_it_now():
    assert "A dog on a bench." in shorter("An old dog on a bench.")
    assert "An owl." in shorter("A brown owl.")


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("A toy dog on a bench.", "A dog on a bench."),
        ("A hot dog on a plate.", "A dog on a plate."),
        ("A plate topped with fruit.", "A plate topped."),
        ("A glass of wine on a table.", "A glass on a table."),
        ("A dog is on a bench.", "A dog is."),
        ("A man without a shirt.", "A man."),
        ("A man and a dog are standing together.", "A man are standing together."),
        ("A cat and a dog lying next to each other.", "A cat lying next to each other."),
        ("A room with no table in it.", "A room with table in it."),
    ],
)
def test_what_changes_the_rest_or_is_needed_stays(text, never):
    assert text in shorter(text) and never not in shorter(text)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("There is a dog on a bench.", "A dog on a bench."),
        ("A close up of a pizza on a plate.", "A pizza on a plate."),
        ("an image of a dog", "a dog"),
    ],
)
def test_how_captions_begin_may_go(text, rest):
    assert rest in shorter(text)


def test_commas_go_with_what_stands_between_them():
    found = shorter("A man, standing on a beach, holding a kite.")
    assert all(", ," not in one and ",," not in one and " ," not in one for one in found)


def test_nothing_is_left_that_waits_for_more():
    own = parse(["A man and a dog on a field."])[0]
    words = {token.text: token.place for token in own}
    assert not is_complete(own, {words["dog"], words["dog"] - 1})
    assert is_complete(own, {words["on"], words["field"] - 1, words["field"]})

"""What judgements decide, held against looking at every way in which they could go on."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellapart.annotate.verdicts import KEEPS, Said, Verdict, missing, verdict

OPTIONS = frozenset({"0", "1"})
KEYS = ("0", "1", "none")


def judgements(truth_known: bool) -> st.SearchStrategy[list[Said]]:
    def said(key: str) -> Said:
        return Said(key, key == "0" if truth_known else None)

    return st.lists(st.sampled_from(KEYS).map(said), max_size=5)


@given(st.data(), st.sampled_from(KEEPS), st.integers(1, 5), st.booleans())
def test_nothing_more_is_asked_exactly_when_nothing_more_could_matter(data, keep, full, known):
    said = data.draw(judgements(known))[:full]
    left = full - len(said)
    outcomes = {
        verdict(keep, full, [*said, *more], OPTIONS).kept
        for more in product([Said(k, k == "0" if known else None) for k in KEYS], repeat=left)
    }
    asked = missing(keep, full, said, known)
    assert 0 <= asked <= left
    if asked == 0 and said:
        assert len(outcomes) == 1
    if known and said and len(outcomes) == 1:
        assert asked == 0


@given(st.data(), st.sampled_from(KEEPS), st.integers(1, 5))
def test_what_was_agreed_on_stays_when_more_is_asked_for(data, keep, full):
    said = data.draw(judgements(False))[:full]
    if said and missing(keep, full, said, False) == 0 and len(said) < full:
        now = verdict(keep, full, said, OPTIONS)
        later = verdict(keep, full, [*said, *[said[0]] * (full - len(said))], OPTIONS)
        assert now.chosen is None or later.chosen == now.chosen


@pytest.mark.parametrize(
    ("keep", "choices", "expected"),
    [
        ("majority", "001", Verdict(True, "0")),
        ("majority", "011", Verdict(False, "1")),
        ("majority", "01n", Verdict(False, None)),
        ("all", "00", Verdict(True, "0")),
        ("all", "01", Verdict(False, None)),
        ("first", "01", Verdict(True, "0")),
        ("first", "10", Verdict(False, "1")),
        ("majority", "01", Verdict(False, None)),
    ],
)
def test_verdicts_by_the_truth(keep, choices, expected):
    said = [Said(choice, choice == "0") for choice in choices]
    assert verdict(keep, len(said), said, OPTIONS) == expected


def test_right_answers_count_also_where_they_differ():
    said = [Said("0", True), Said("1", True), Said("none", False)]
    assert verdict("majority", 3, said, OPTIONS) == Verdict(True, None)


def test_none_is_no_pick_and_ratings_are_always_kept():
    none = [Said("none", None)] * 2
    assert verdict("majority", 2, none, OPTIONS) == Verdict(False, "none")
    assert verdict("majority", 2, [Said("3", None), Said("5", None)], frozenset()).kept

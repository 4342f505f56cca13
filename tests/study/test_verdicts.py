"""What judgements decide, held against looking at every way in which they could go on."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellapart.study.plan import KEEPS
from tellapart.study.tasks import TaskOutcome, Vote, missing, outcome_of

OPTIONS = frozenset({"0", "1"})
KEYS = ("0", "1", "none")


def judgements(truth_known: bool) -> st.SearchStrategy[list[Vote]]:
    def said(key: str) -> Vote:
        return Vote(key, key == "0" if truth_known else None)

    return st.lists(st.sampled_from(KEYS).map(said), max_size=5)


@given(st.data(), st.sampled_from(KEEPS), st.integers(1, 5), st.booleans())
def test_nothing_more_is_asked_exactly_when_nothing_more_could_matter(data, keep, full, known):
    said = data.draw(judgements(known))[:full]
    left = full - len(said)
    outcomes = {
        outcome_of(keep, full, [*said, *more], OPTIONS).kept
        for more in product([Vote(k, k == "0" if known else None) for k in KEYS], repeat=left)
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
        now = outcome_of(keep, full, said, OPTIONS)
        later = outcome_of(keep, full, [*said, *[said[0]] * (full - len(said))], OPTIONS)
        assert now.chosen is None or later.chosen == now.chosen


@pytest.mark.parametrize(
    ("keep", "choices", "expected"),
    [
        ("majority", "001", TaskOutcome(True, "0")),
        ("majority", "011", TaskOutcome(False, "1")),
        ("majority", "01n", TaskOutcome(False, None)),
        ("all", "00", TaskOutcome(True, "0")),
        ("all", "01", TaskOutcome(False, None)),
        ("first", "01", TaskOutcome(True, "0")),
        ("first", "10", TaskOutcome(False, "1")),
        ("majority", "01", TaskOutcome(False, None)),
    ],
)
def test_verdicts_by_the_truth(keep, choices, expected):
    said = [Vote(choice, choice == "0") for choice in choices]
    assert outcome_of(keep, len(said), said, OPTIONS) == expected


def test_right_answers_count_also_where_they_differ():
    said = [Vote("0", True), Vote("1", True), Vote("none", False)]
    assert outcome_of("majority", 3, said, OPTIONS) == TaskOutcome(True, None)


def test_none_is_no_pick_and_ratings_are_always_kept():
    none = [Vote("none", None)] * 2
    assert outcome_of("majority", 2, none, OPTIONS) == TaskOutcome(False, "none")
    assert outcome_of("majority", 2, [Vote("3", None), Vote("5", None)], frozenset()).kept

"""Checks and gold come evenly and cannot be foreseen; outcomes against every way to go on."""

from __future__ import annotations

import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import grid_item

from tellapart.study.plan import KEEPS, Stage, StudyPlan
from tellapart.study.questions.page import draw_order, is_right, read_answer, view
from tellapart.study.questions.question import Matter
from tellapart.study.tasks import (
    LANES,
    RANKS,
    TaskOutcome,
    Vote,
    attention_checks,
    due,
    missing,
    outcome_of,
    sample_matters,
    task_row,
)

PAIRS = [grid_item(f"n{k}", 2, 3, {(0, 0), (0, 1), (0, 2)}) for k in range(30)]


@given(st.floats(0.01, 0.5), st.integers(0, 500), st.integers(0, 9))
def test_extras_grow_one_at_a_time_to_their_share(share, items, seed):
    length = round(1 / share)
    now, then = due(share, items, seed, "p"), due(share, items + 1, seed, "p")
    assert now <= then <= now + 1
    assert items // length <= now <= items // length + 1


def test_no_share_means_no_extras():
    assert due(0.0, 1000, 0) == 0


def test_places_differ_between_people():
    firsts = {
        next(n for n in range(30) if due(0.1, n, 0, person)) for person in map(str, range(50))
    }
    assert len(firsts) >= 8


def test_a_check_says_what_to_choose_and_mixes_items():
    stages = (Stage("pick", "pick-caption"), Stage("verify", "which-image"))
    for place in (1, 2):
        stage = stages[place - 1]
        checks = attention_checks(stages[:place], PAIRS, seed=0)
        assert [one.item for one in checks] == [f"check-{k}" for k in range(1, 31)]
        asked = set()
        for check in checks:
            order = draw_order(stage.question.form(check), 0, check.key)
            shown = view(stage.question, check, order, str)
            (value,) = [
                option["value"]
                for option in shown["options"]
                if f"“{option['label'] or option['value']}”" in shown["prompt"]
            ]
            answer = read_answer(stage.question, check, order, value, None)
            assert is_right(check, answer) and check.truth is None
            others = [option["value"] for option in shown["options"] if option["value"] != value]
            wrong = read_answer(stage.question, check, order, others[0], None)
            assert not is_right(check, wrong)
            asked.add(check.check)
        assert len(asked) > 2
        assert any(m.images[0][:3] not in json.dumps(m.captions) for m in checks)


def test_later_stages_are_sampled_through_the_earlier_ones():
    stages = (Stage("pick", "pick-caption"), Stage("verify", "which-image"))
    found = list(sample_matters(stages, PAIRS))
    assert len(found) == 30 and {m.question for m in found} == {"verify"}


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


@given(st.data(), st.sampled_from(KEEPS), st.integers(1, 5), st.booleans())
def test_as_many_are_asked_for_as_could_decide(data, keep, full, known):
    """The least number of further votes after which, in the best case, nothing more is asked."""
    said = data.draw(judgements(known))[:full]
    every = [Vote(key, key == "0" if known else None) for key in KEYS]

    def decided(votes: list[Vote]) -> bool:
        if not known:
            return missing(keep, full, votes, known) == 0
        ends = product(every, repeat=full - len(votes))
        return len({outcome_of(keep, full, [*votes, *end], OPTIONS).kept for end in ends}) == 1

    least = next(
        number
        for number in range(full - len(said) + 1)
        for more in product(every, repeat=number)
        if decided([*said, *more])
    )
    if keep == "all" and not said and not known:
        least = min(least, 1)  # one at a time: the second may already differ
    assert missing(keep, full, said, known) == least


@pytest.mark.parametrize(
    ("keep", "full", "choices", "asked"),
    [("majority", 3, "", 2), ("majority", 5, "01", 2), ("majority", 5, "001", 1),
     ("majority", 3, "01", 1), ("majority", 5, "0123", 0), ("all", 3, "0", 1), ("all", 3, "01", 0),
     ("first", 3, "", 1), ("first", 3, "0", 0), ("majority", 3, "00", 0)],
)  # fmt: skip
def test_how_many_more_are_asked_where_nobody_knows_the_truth(keep, full, choices, asked):
    assert missing(keep, full, [Vote(choice, None) for choice in choices], False) == asked


def test_lanes_and_ranks_are_drawn_below_their_limits():
    stage = Stage("ask", "which-image")
    plan = StudyPlan("s", "s", (stage,), seed=3)
    matters = [Matter(f"k{k}", "which-image", (), ("a",)) for k in range(500)]
    drawn = [task_row(plan, stage, 1, matter, matter.item) for matter in matters]
    assert {row["lane"] for row in drawn} == set(range(LANES)) and LANES == 32
    ranks = [row["rank"] for row in drawn]
    assert 0.9 * RANKS < max(ranks) < RANKS and min(ranks) < 0.1 * RANKS


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

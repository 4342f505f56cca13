"""Attention checks and gold items come evenly and cannot be foreseen."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import grid_item

from tellapart.study.plan import Stage
from tellapart.study.questions.page import draw_order, is_right, read_answer, view
from tellapart.study.tasks import attention_checks, due, sample_matters

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
        assert len(checks) == 30
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

"""The plan as a file: what is written is read again, and mistakes are named."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.errors import TellapartError
from tellapart.study.plan import Stage, StudyPlan, read_plan, write_plan

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=60)
PLAN = StudyPlan("abc", "mine", (Stage("ask", "which-image"),))


@settings(deadline=None)
@given(TEXT, TEXT, st.integers(0, 99), st.sampled_from(["majority", "all", "first"]))
def test_any_text_survives_the_file(tmp_path_factory, consent, instructions, seed, keep):
    stage = Stage("ask", "which-image", keep=keep, instructions=instructions, checks=0.1)
    plan = StudyPlan("abc", "mine", (stage,), seed=seed, consent=consent)
    path = tmp_path_factory.mktemp("plan") / "study.toml"
    write_plan(plan, path)
    assert read_plan(path) == plan


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('ask = "which-image"', 'ask = "which-imag"', "did you mean which-image"),
        ("judgements = 3", 'judgements = "three"', "a whole number"),
        ("judgements = 3", "judgements = true", "a whole number"),
        ("judgements = 3", "judgements = 0", "1 to 1000"),
        ("judgements = 3", "judgement = 3", "did you mean judgements"),
        ('keep = "majority"', 'keep = "most"', "majority or all or first"),
        ('stop = "full"', 'stop = "never"', "full or decided"),
        ("checks = 0.0", "checks = 0.9", "0 to 0.5"),
        ("minutes = 20.0", "minutes = 0", "0.05 to"),
        ('once = "item"', 'once = "ever"', "item or question"),
        ("seed = 0", "seed = 0.5", "a whole number"),
        ("prolific = false", 'prolific = "no"', "true or false"),
        ('name = "ask"', "", "name is not set"),
        ("[[stage]]", "[stage]", "[[stage]]"),
        ('name = "ask"', 'name = "ask', "is not TOML"),
    ],
)
def test_mistakes_are_named_with_what_is_allowed(tmp_path, before, after, said):
    path = tmp_path / "study.toml"
    write_plan(PLAN, path)
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))
    with pytest.raises(TellapartError) as caught:
        read_plan(path)
    assert said in str(caught.value) and "study.toml" in str(caught.value)


def test_two_stages_of_one_name_and_a_stage_that_cannot_follow_are_refused(tmp_path):
    path = tmp_path / "study.toml"
    twice = (Stage("ask", "which-image"), Stage("ask", "which-image"))
    for stages, said in (
        (twice, "two stages are called 'ask'"),
        ((Stage("a", "which-image"), Stage("b", "rate-detail")), "cannot be asked of what"),
        ((), "needs a stage"),
    ):
        write_plan(StudyPlan("abc", "mine", stages), path)
        with pytest.raises(TellapartError, match=said):
            read_plan(path)

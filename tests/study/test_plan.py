"""The plan as a file, with mistakes named, and studies as the papers ran them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.study.conftest import pairs_of
from typer.testing import CliRunner

from tellapart.benchmark.benchmark import save_benchmark
from tellapart.cli.main import app
from tellapart.errors import BadInput, TellapartError, UnknownName
from tellapart.study.keys import read_keys
from tellapart.study.plan import (
    RECIPES,
    Stage,
    StudyPlan,
    check_plan,
    each_stage,
    find_recipe,
    read_plan,
    write_plan,
)
from tellapart.verbs.study.create import CreateStudyOptions, create_study
from tellapart.verbs.study.invite import invite_people
from tellapart.verbs.study.owner import owner_link
from tellapart.verbs.study.serve import ServeStudyOptions, serve_study

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=60)
PLAN = StudyPlan("abc", "mine", (Stage("ask", "which-image"),))


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
        (
            (Stage("a", "which-image"), Stage("b", "rate-detail")),
            "cannot be asked about the choice",
        ),
        ((), "needs a stage"),
    ):
        write_plan(StudyPlan("abc", "mine", stages), path)
        with pytest.raises(TellapartError, match=said):
            read_plan(path)


@pytest.fixture
def bench(tmp_path):
    save_benchmark(pairs_of(4), tmp_path / "bench")
    return tmp_path / "bench"


STUDY_ID = "64a1b2c3d4e5f60718293a4b"


def create(*words):
    done = CliRunner().invoke(app, ["study", "create", *map(str, words)])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_can_be_carried_out(name):
    recipe = find_recipe(name)
    check_plan(StudyPlan("x", "x", recipe.stages, once=recipe.once), name)
    assert recipe.about


@pytest.mark.parametrize("name", ["foil", "mcic", "bivlc-baseline"])
def test_recipes_that_publish_figures_have_checks_and_gold(name, benchmarks, tmp_path):
    source = benchmarks[name.partition("-")[0]]
    plain = create_study(source, tmp_path / "plain", CreateStudyOptions(recipe=name))
    assert all(stage.checks > 0 and not stage.gold for stage in plain.plan.stages)
    assert any("--gold-from" in note for note in plain.notes())
    options = CreateStudyOptions(recipe=name, gold_from=source)
    made = create_study(source, tmp_path / "gold", options)
    assert all(stage.gold > 0 for stage in made.plan.stages) and not made.notes()
    none = CreateStudyOptions(recipe=name, checks="0")
    assert not create_study(source, tmp_path / "none", none).plan.stages[0].checks


def test_links_have_the_address_where_the_study_was_served(bench, tmp_path):
    folder = tmp_path / "study"
    create_study(bench, folder, CreateStudyOptions(ask="which-image"))
    before = invite_people(folder).links[0].link
    assert before.startswith("http://127.0.0.1:8000/#")

    def stop(served):
        raise KeyboardInterrupt

    options = ServeStudyOptions(port=0, public_url="https://study.example.org/")
    serve_study(folder, options, ready=stop)
    assert invite_people(folder).links[0].link.startswith("https://study.example.org/#")
    assert owner_link(folder).link.startswith("https://study.example.org/owner#")
    given = invite_people(folder, public_url="https://other.example.org").links[0].link
    assert given.startswith("https://other.example.org/#")


def test_options_change_a_recipe_for_all_stages_or_for_each(bench, tmp_path):
    said = create(bench, tmp_path / "s", "--as", "bison", "--judgements", "1,3", "--checks", "0.1")
    assert "pick-caption, then which-image" in said
    assert f"tellapart study serve {tmp_path / 's'}" in " ".join(said.split())
    pick, verify = read_plan(tmp_path / "s" / "study.toml").stages
    assert (pick.judgements, verify.judgements) == (1, 3)
    assert pick.checks == verify.checks == 0.1
    assert (pick.keep, verify.keep) == ("first", "all")


def test_a_question_of_ones_own_choice(bench, tmp_path):
    create(bench, tmp_path / "s", "--ask", "which-image", "--stop", "decided", "--no-training")
    (stage,) = read_plan(tmp_path / "s" / "study.toml").stages
    assert stage.stop == "decided" and not (tmp_path / "s" / "training.json").exists()


def test_a_list_of_participants_is_kept_as_pseudonyms(bench, tmp_path):
    (tmp_path / "ids.txt").write_text("abcdefgh\n")
    words = ("--prolific", STUDY_ID, "--places", 9, "--participants", tmp_path / "ids.txt")
    create(bench, tmp_path / "s", "--ask", "which-image", *words)
    (kept,) = json.loads((tmp_path / "s" / "participants.json").read_text())
    assert kept == read_keys(tmp_path / "s").pseudonym("abcdefgh")


def test_prolific_gets_a_code(bench, tmp_path):
    said = create(
        bench, tmp_path / "s", "--ask", "which-image", "--prolific", STUDY_ID, "--places", 9
    )
    plan = read_plan(tmp_path / "s" / "study.toml")
    assert plan.takes_prolific and (plan.prolific_study, plan.places) == (STUDY_ID, 9)
    assert len(plan.completion_code) >= 6 and plan.completion_code in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "no question was given"),
        (("--as", "bizon"), "no recipe called 'bizon'"),
        (("--ask", "which"), "no question called 'which'"),
        (("--as", "bison", "--judgements", "1,2,3"), "has 3 values"),
        (("--ask", "which-image", "--judgements", "many"), "--judgements many"),
        (("--ask", "which-image", "--checks", "0.9"), "checks = 0.9"),
        (("--ask", "which-image", "--gold", "0.1"), "needs gold items"),
        (("--ask", "which-image", "--then", "rate-detail"), "cannot be asked about the choice"),
        (
            ("--ask", "which-image", "--prolific", STUDY_ID),
            "the number of Prolific participants is missing",
        ),
        (
            ("--ask", "which-image", "--prolific", "x", "--places", "9"),
            "is not the id of a Prolific study",
        ),
        (("--ask", "which-image", "--places", "9"), "are only for studies on Prolific"),
        (("--ask", "which-image", "--places", "-1"), "places = -1"),
        (("--ask", "best-of-five"), "no item of hand-made fits the question best-of-five"),
    ],
)
def test_mistakes_are_named_and_nothing_is_left(bench, tmp_path, words, said):
    with pytest.raises(TellapartError, match=said):
        create(bench, tmp_path / "s", *words)
    assert not (tmp_path / "s").exists()


def test_unknown_recipes_and_uneven_values_are_refused():
    with pytest.raises(UnknownName):
        find_recipe("nothing")
    with pytest.raises(BadInput):
        each_stage("1,2,3", 2, "--judgements")

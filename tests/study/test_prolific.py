"""People of Prolific: who is let in, how often, how many, and what the owner can do about them."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import polars as pl
import pytest
from tests.study.conftest import pairs_of
from tests.study.crowd import Player, check_books, first, join, rows
from typer.testing import CliRunner

from tellapart.cli.main import app
from tellapart.errors import BadInput, TellapartError, UnknownName
from tellapart.study import people, sessions
from tellapart.study.export import judgement_table
from tellapart.study.folder import StudySetup, write_study
from tellapart.study.participants import PARTICIPANTS_FILE, write_participants
from tellapart.study.plan import Stage, read_plan, write_plan
from tellapart.study.progress import crew
from tellapart.study.sessions import NotAllowed
from tellapart.study.store import schema as t
from tellapart.study.study import opened_study

ASK = Stage("ask", "which-image", judgements=1)
STUDY = "64a1b2c3d4e5f60718293a4b"
PROLIFIC = {"prolific": STUDY, "places": 2, "completion_code": "C0DE"}


def visitor(number: int, session: int = 0) -> people.Visitor:
    return people.Visitor(f"{number:024x}", STUDY, f"{session:024x}")


def do(study, job, *parts):
    return study.database.submit(lambda conn: job(conn, study, *parts)).result()


def enter(study, who: people.Visitor) -> Player:
    session = do(study, people.join_from_prolific, who)
    code = rows(study, t.person, pseudonym=study.keys.pseudonym(who.person))[0].code
    player = Player(study, code, session)
    player.do(lambda conn, seat: sessions.consent(conn, study, seat))
    return player


def test_only_the_right_study_brings_people(make_study):
    study = make_study(2, ASK, **PROLIFIC)
    enter(study, visitor(1))
    for other in ("64a1b2c3d4e5f60718293a4c", STUDY.upper(), STUDY[:-1]):
        with pytest.raises(NotAllowed, match="does not accept participants from there"):
            do(study, people.join_from_prolific, replace(visitor(2), study=other))
    with pytest.raises(BadInput):
        do(study, people.join_from_prolific, replace(visitor(2), person="a' OR 1=1"))
    assert len(rows(study, t.person)) == 1


def test_a_plan_that_does_not_say_which_study_and_how_many_lets_nobody_in(make_study, tmp_path):
    study = make_study(2, ASK, **PROLIFIC)
    for change in ({"prolific_study": ""}, {"places": 0}, {"prolific": False}):
        plan = replace(study.plan, **change)
        assert not plan.takes_prolific
        write_plan(plan, tmp_path / "study.toml")
        assert read_plan(tmp_path / "study.toml") == plan  # as older versions wrote them
        object.__setattr__(study, "content", replace(study.content, plan=plan))
        with pytest.raises(NotAllowed):
            do(study, people.join_from_prolific, visitor(1))
        object.__setattr__(study, "content", replace(study.content, plan=replace(plan, **PLAN)))


PLAN = {"prolific": True, "prolific_study": STUDY, "places": 2}


def test_made_up_people_take_the_places_at_most(make_study):
    study = make_study(3, ASK, **PROLIFIC)
    came = 0
    with ThreadPoolExecutor(8) as pool:
        jobs = [pool.submit(do, study, people.join_from_prolific, visitor(k)) for k in range(24)]
        for job in jobs:
            try:
                job.result()
                came += 1
            except NotAllowed as refused:
                assert refused.what == "all places of this study are taken"
    assert came == 2 == len(rows(study, t.person))


def test_who_was_excluded_makes_room_and_who_was_invited_takes_none(make_study):
    study = make_study(3, ASK, **PROLIFIC)
    join(study, 3)
    one, _ = enter(study, visitor(1)), enter(study, visitor(2))
    with pytest.raises(NotAllowed):
        enter(study, visitor(3))
    do(study, people.exclude, one.code)
    enter(study, visitor(3))
    with pytest.raises(NotAllowed):
        enter(study, visitor(4))
    do(study, people.revoke, one.code)  # a link that was withdrawn is a place that was used
    do(study, people.forget, one.code)
    with pytest.raises(NotAllowed):
        enter(study, visitor(4))


def test_a_person_is_admitted_once(make_study):
    study = make_study(3, ASK, **PROLIFIC)
    one = enter(study, visitor(1))
    one.go(first)
    again = enter(study, visitor(1))  # the page was opened once more
    assert again.code == one.code and again.work()["state"] == "done"
    with pytest.raises(NotAllowed, match="taken part before"):
        enter(study, visitor(1, session=2))
    assert len(rows(study, t.person)) == 1
    do(study, people.revoke, one.code)
    with pytest.raises(NotAllowed, match="left"):
        enter(study, visitor(1))


def test_the_code_comes_after_the_last_answer_and_never_for_nothing(make_study):
    study = make_study(3, ASK, **PROLIFIC)
    one, other = enter(study, visitor(1)), enter(study, visitor(2))
    state = one.work()
    assert state["completion_code"] == ""
    waiting = other.work()  # one task is theirs, two are held by the first
    assert waiting["completion_code"] == ""
    told = other.answer(waiting["task"]["number"], "1")
    assert (told["state"], told["completion_code"]) == ("wait", "")
    state = one.answer(state["task"]["number"], "1")
    assert state["completion_code"] == ""
    state = one.answer(state["task"]["number"], "1")
    assert (state["state"], state["completion_code"]) == ("done", "C0DE")
    assert other.work()["completion_code"] == "C0DE"
    (late,) = join(study, 1)
    assert (late.work()["state"], late.work()["completion_code"]) == ("done", "")
    do(study, people.exclude, one.code)
    assert one.work()["completion_code"] == ""


def test_only_those_on_the_list_come_in(make_study):
    study = make_study(3, ASK, **{**PROLIFIC, "participants": (f"{1:024x}",)})
    assert f"{1:024x}" not in (study.folder / PARTICIPANTS_FILE).read_text()
    enter(study, visitor(1))
    with pytest.raises(NotAllowed, match="not on the list of participants"):
        enter(study, visitor(2))
    write_participants(study.folder, study.keys, [f"{2:024x}"])  # while it is served
    enter(study, visitor(2))
    enter(study, visitor(1))  # who is in stays in
    (study.folder / PARTICIPANTS_FILE).write_text("{}")
    with pytest.raises(BadInput, match="is damaged"):
        enter(study, visitor(3))


def test_times_are_measured_by_the_server(make_study, clock):
    study = make_study(3, ASK, **PROLIFIC)
    one = enter(study, visitor(1))
    state = one.work()
    for took in (3_000, 500, 7_000):  # the page says a second each time
        clock.turn(took)
        state = one.answer(state["task"]["number"], "1")
    table = study.database.read(lambda conn: judgement_table(conn, study)).result()
    assert table["milliseconds"].to_list() == [3_000, 500, 7_000]
    assert table["page_milliseconds"].to_list() == [1_000] * 3
    (row,) = study.database.read(lambda conn: crew(conn, study)).result()
    assert row["median_milliseconds"] == 3_000


def test_a_clock_that_is_set_back_measures_no_negative_time(make_study, clock):
    study = make_study(2, ASK, **PROLIFIC)
    one = enter(study, visitor(1))
    number = one.work()["task"]["number"]
    clock.turn(-5_000)
    one.answer(number, "1")
    table = study.database.read(lambda conn: judgement_table(conn, study)).result()
    assert table["milliseconds"].to_list() == [0]


def test_the_owner_voids_a_person_by_their_id_in_one_step(make_study):
    study = make_study(6, ASK, **PROLIFIC)
    one, other = enter(study, visitor(1)), enter(study, visitor(2))
    one.go(first, most=2)
    other.go(first)
    do(study, people.exclude, visitor(2).person)
    stored = rows(study, t.judgement)
    assert {row.person_id: row.void for row in stored} == {1: False, 2: True}
    assert visitor(2).person not in str([rows(study, table) for table in (t.person, t.event)])
    assert rows(study, t.person, code=other.code)[0].state == "excluded"
    assert {row.state for row in rows(study, t.task, role="item")} == {"open", "closed"}
    do(study, people.restore, visitor(2).person)
    assert not any(row.void for row in rows(study, t.judgement))
    with pytest.raises(UnknownName):
        do(study, people.exclude, visitor(3).person)
    check_books(study)


def study_command(*words):
    done = CliRunner().invoke(app, ["study", *map(str, words)])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


@pytest.fixture
def filled(tmp_path):
    """A study in which two people answered, of whom only the first exists at Prolific."""
    write_study(pairs_of(4), tmp_path / "study", StudySetup((ASK,), training=False, **PROLIFIC))
    with opened_study(tmp_path / "study") as study:
        enter(study, visitor(1)).go(first, most=1)
        enter(study, visitor(2)).go(first)
    return tmp_path


def test_made_up_people_are_voided_with_the_list_that_prolific_exports(filled):
    folder, export = filled / "study", filled / "export.csv"
    pl.DataFrame(
        {"Submission id": ["a" * 24], "Participant id": [f"{1:024x}"], "Status": ["APPROVED"]}
    ).write_csv(export)
    said = study_command("participants", folder, export)
    assert "1 Prolific participants may take part; 1 who joined are not on the list" in said
    found = json.loads(study_command("participants", folder, export, "--exclude-others", "--json"))
    listed = json.loads(study_command("people", folder, "--json"))
    states = {row["code"]: row["state"] for row in listed}
    assert [states[code] for code in found["others"]] == ["excluded"]
    assert sorted(states.values()) == ["active", "excluded"]
    assert "1 of 4 judgements" in study_command("status", folder)
    assert json.loads(study_command("participants", folder, export, "--json"))["others"] == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("ids.txt", "abcdefgh\n\nno id\n", "'no id' is not a participant id"),
        ("ids.txt", "\n\n", "lists nobody"),
        ("ids.csv", "id\nabcdefgh\n", "Participant id"),
    ],
)
def test_lists_that_cannot_be_read_are_named_and_change_nothing(filled, name, text, said):
    (filled / name).write_text(text)
    with pytest.raises(TellapartError, match=said):
        study_command("participants", filled / "study", filled / name)
    assert not (filled / "study" / PARTICIPANTS_FILE).exists()

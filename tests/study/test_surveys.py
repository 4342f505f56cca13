"""Surveys: one person answers all questions about their items, one direction after the other."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from dataclasses import replace

import pytest
from tests.conftest import benchmark_of, grid_item
from tests.study.crowd import HOUR, Player, check_books, first, join, rows, truthful

from tellapart.errors import BadInput
from tellapart.study import people
from tellapart.study.assignment import expire
from tellapart.study.plan import Stage
from tellapart.study.store import schema as t
from tellapart.verbs.study.create import CreateStudyOptions, create_study

ASK = Stage("ask", "choose-both-ways", judgements=1)


def squares(number: int):
    return benchmark_of([grid_item(f"n{k}", 2, 2, {(0, 0), (1, 1)}) for k in range(number)])


def asked_in_order(player: Player) -> list[tuple[str, str]]:
    """Items and questions that a person got, in that order."""
    tasks = {row.id: json.loads(row.matter) for row in rows(player.study, t.task, role="item")}
    person = rows(player.study, t.person, code=player.code)[0].id
    given = sorted(rows(player.study, t.assignment, person_id=person), key=lambda row: row.number)
    matters = [tasks[row.task_id] for row in given if row.task_id in tasks and row.state == "done"]
    return [(one["item"], one["question"]) for one in matters]


def people_of_items(players: list[Player]) -> dict[str, set[str]]:
    found = defaultdict(set)
    for player in players:
        for item, _ in asked_in_order(player):
            found[item].add(player.code)
    return found


def test_one_person_answers_all_four_questions_captions_first(make_study):
    study = make_study(squares(8), replace(ASK, at_most=16), once="question", survey=4)
    one, other = join(study, 2)
    assert one.go(truthful) == 16
    assert other.go(truthful) == 16
    for player in (one, other):
        got = asked_in_order(player)
        assert len({item for item, _ in got}) == 4
        assert [question.partition("@")[0] for _, question in got] == ["caption"] * 8 + [
            "image"
        ] * 8
    assert {len(codes) for codes in people_of_items([one, other]).values()} == {1}
    check_books(study)


def test_people_who_take_turns_do_not_share_a_survey(make_study):
    study = make_study(squares(9), ASK, once="question", survey=3)
    players = join(study, 3)
    for _ in range(12):
        for player in players:
            player.go(first, most=1)
    assert all(len(asked_in_order(player)) == 12 for player in players)
    assert {len(codes) for codes in people_of_items(players).values()} == {1}


def test_people_who_come_at_the_same_moment_do_not_share_a_survey(make_study):
    study = make_study(squares(12), ASK, once="question", survey=2)
    players = join(study, 6)
    threads = [threading.Thread(target=player.go, args=(first, 8)) for player in players]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = people_of_items(players)
    assert len(found) == 12 and {len(codes) for codes in found.values()} == {1}


def test_a_survey_that_nobody_answered_goes_to_someone_else(make_study, clock):
    study = make_study(squares(2), ASK, once="question", survey=2)
    gone, other = join(study, 2)
    assert gone.work()["state"] == "work"
    assert other.work()["state"] != "work"
    clock.turn(HOUR)
    study.database.submit(lambda conn: expire(conn, study)).result()
    assert other.go(first, most=1) == 1
    assert gone.work()["state"] != "work"  # what they held now belongs to another's survey
    assert other.go(first) == 7
    assert {len(codes) for codes in people_of_items([gone, other]).values()} == {1}
    check_books(study)


def test_an_excluded_persons_survey_is_taken_whole_by_another(make_study):
    study = make_study(squares(2), ASK, once="question", survey=2)
    one, other = join(study, 2)
    assert one.go(first, most=3) == 3
    assert other.work()["state"] != "work"
    study.database.submit(lambda conn: people.exclude(conn, study, one.code)).result()
    assert other.go(first) == 8
    check_books(study)


def test_the_papers_baseline_has_surveys_of_25_instances(benchmarks, tmp_path):
    made = create_study(
        benchmarks["bivlc"], tmp_path / "s", CreateStudyOptions(recipe="bivlc-baseline")
    )
    (stage,) = made.plan.stages
    assert made.plan.survey == 25 and made.plan.once == "question" and stage.at_most == 100
    own = CreateStudyOptions(recipe="bivlc-baseline", survey=10, at_most="0")
    assert create_study(benchmarks["bivlc"], tmp_path / "own", own).plan.survey == 10


@pytest.mark.parametrize(
    ("stage", "more", "words"),
    [
        (Stage("ask", "choose-both-ways", judgements=2), {"once": "question"}, "one judgement"),
        (ASK, {"once": "item"}, "once"),
    ],
)
def test_plans_that_no_survey_can_follow_are_refused(make_study, stage, more, words):
    with pytest.raises(BadInput, match=words):
        make_study(squares(2), stage, survey=2, **more)

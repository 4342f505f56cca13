"""Corrections, pauses, exclusion and deletion: what happens to tasks and to what they led to."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
from tests.conftest import benchmark_of, grid_item
from tests.study.crowd import check_books, first, join, rows, truthful

from tellapart.errors import UnknownName
from tellapart.study import people
from tellapart.study.assignment import find_assigned
from tellapart.study.judgements import Conflict, NotThere, may_revise
from tellapart.study.plan import Stage
from tellapart.study.progress import look_at_items, reopen_item
from tellapart.study.results import figures, read_record
from tellapart.study.sessions import NotAllowed
from tellapart.study.store import schema as t

ASK = Stage("ask", "which-image", judgements=1)
STAGES = (
    Stage("pick", "pick-caption", judgements=1),
    Stage("verify", "which-image", judgements=2, keep="all"),
)


def pairs(number):
    items = [grid_item(f"n{k}", 2, 3, {(0, 0), (0, 1), (0, 2)}) for k in range(number)]
    return benchmark_of(items)


def do(study, job, *parts):
    return study.database.submit(lambda conn: job(conn, study, *parts)).result()


def test_the_same_answer_again_changes_nothing_and_another_is_refused(make_study):
    study = make_study(3, ASK)
    (one,) = join(study, 1)
    number = one.work()["task"]["number"]
    once, again = one.answer(number, "1"), one.answer(number, "1")
    assert once["task"] == again["task"] and len(rows(study, t.judgement)) == 1
    with pytest.raises(Conflict, match="already been answered"):
        one.answer(number, "2")
    with pytest.raises(NotThere):
        one.answer(999, "1")
    check_books(study)


def test_an_answer_can_be_corrected_and_the_item_is_decided_anew(make_study):
    study = make_study(1, ASK)
    (one,) = join(study, 1)
    task = one.work()["task"]
    right = truthful(one, task)
    assert one.answer(task["number"], "neither")["back"] == task["number"]
    assert [row.kept for row in rows(study, t.task, role="item")] == [False]
    one.answer(task["number"], right, revise=True)
    (judged,) = rows(study, t.judgement)
    assert judged.choice == "0" and judged.is_right and judged.revisions == 1
    assert [row.kept for row in rows(study, t.task, role="item")] == [True]
    assert [row.what for row in rows(study, t.event)] == ["revised"]
    check_books(study)


def test_a_corrected_pick_takes_its_task_back_until_someone_works_on_it(make_study):
    study = make_study(pairs(1), *STAGES)
    one, other = join(study, 2)
    number = one.work()["task"]["number"]
    one.answer(number, "1")
    (before,) = [row for row in rows(study, t.task) if row.parent_id]
    one.answer(number, "2", revise=True)
    (after,) = [row for row in rows(study, t.task) if row.parent_id]
    assert before.matter != after.matter
    one.answer(number, "none", revise=True)
    assert not [row for row in rows(study, t.task) if row.parent_id]
    one.answer(number, "3", revise=True)
    assert other.work()["state"] == "work"
    with pytest.raises(Conflict, match="can no longer be revised"):
        one.answer(number, "1", revise=True)
    check_books(study)


def test_a_pause_gives_back_what_is_held_and_going_on_takes_it_up(make_study):
    study = make_study(2, ASK)
    one, other = join(study, 2)
    task = one.work()["task"]
    one.do(lambda conn, seat: people.pause(conn, seat.id))
    assert sum(row.held for row in rows(study, t.task, role="item")) == 0
    assert one.work()["task"] == task
    one.do(lambda conn, seat: people.pause(conn, seat.id))
    assert other.go(first) == 2
    assert one.work()["state"] == "done"
    check_books(study)


def test_others_are_asked_in_place_of_someone_excluded(make_study):
    study = make_study(4, replace(ASK, judgements=2))
    one, other, third = join(study, 3)
    one.go(truthful)
    other.go(lambda player, task: "neither")
    assert not any(row.kept for row in rows(study, t.task, role="item"))
    do(study, people.exclude, other.code)
    assert {row.state for row in rows(study, t.task, role="item")} == {"open"}
    assert other.work()["state"] == "stopped"
    check_books(study)
    assert third.go(truthful) == 4
    assert all(row.kept for row in rows(study, t.task, role="item"))
    do(study, people.restore, other.code)
    tasks = rows(study, t.task, role="item")
    assert [row.given for row in tasks] == [3] * 4 and all(row.kept for row in tasks)


def test_excluding_the_picker_voids_what_was_verified(make_study):
    study = make_study(pairs(2), *STAGES)
    picker, second, third, fourth = join(study, 4)
    assert picker.go(first) == 2
    assert second.go(truthful) == third.go(truthful) == 2
    assert sum(bool(row.kept) for row in rows(study, t.task) if row.parent_id) == 2
    do(study, people.exclude, picker.code)
    assert {row.state for row in rows(study, t.task) if row.parent_id} == {"void"}
    voided = [row for row in rows(study, t.judgement) if row.void]
    assert len(voided) == 6
    assert fourth.go(lambda player, task: "2") == 2
    fresh = [row for row in rows(study, t.task) if row.parent_id and row.state == "open"]
    assert len(fresh) == 2
    check_books(study)


def test_a_void_judgement_cannot_be_revised(make_study):
    study = make_study(pairs(2), *STAGES)
    picker, second = join(study, 2)
    assert picker.go(first) == 2 == second.go(truthful)
    do(study, people.exclude, picker.code)
    (*_, row) = rows(study, t.judgement, person_id=rows(study, t.person, code=second.code)[0].id)
    assert row.void and rows(study, t.person, code=second.code)[0].state == "active"
    number = rows(study, t.assignment, id=row.assignment_id)[0].number

    def may(conn, seat):
        return may_revise(conn, seat, find_assigned(conn, study, seat.id, number))

    assert second.do(may) is False
    for value in ("1", "2"):  # one of them is what they said, which changes nothing
        with contextlib.suppress(Conflict):
            second.answer(number, value, revise=True)
    assert rows(study, t.judgement, assignment_id=row.assignment_id) == [row]
    check_books(study)


def test_who_was_excluded_cannot_revise(make_study):
    study = make_study(2, ASK)
    (one,) = join(study, 1)
    one.go(first)
    before = rows(study, t.judgement)
    do(study, people.exclude, one.code)
    with pytest.raises(NotAllowed):
        one.answer(1, "2", revise=True)
    assert [row.choice for row in rows(study, t.judgement)] == [row.choice for row in before]


def test_excluding_one_of_several_keeps_what_still_holds(make_study):
    stages = (replace(STAGES[0], judgements=2, keep="all"), STAGES[1])
    study = make_study(pairs(1), *stages)
    one, other, third, fourth = join(study, 4)
    one.go(truthful)
    other.go(truthful)
    third.go(truthful)
    do(study, people.exclude, other.code)
    (child,) = [row for row in rows(study, t.task) if row.parent_id]
    assert child.state == "open" and child.given == 1
    assert fourth.go(truthful) == 1
    (child,) = [row for row in rows(study, t.task) if row.parent_id]
    assert child.state == "open" and child.given == 1
    check_books(study)


def test_a_deleted_person_leaves_nothing_behind(make_study):
    study = make_study(3, ASK)
    one, other = join(study, 2)
    one.go(first)
    one.answer(1, "2", revise=True)
    person = rows(study, t.person, code=one.code)[0].id
    do(study, people.forget, one.code)
    for table in (t.assignment, t.judgement, t.session):
        assert not rows(study, table, person_id=person)
    assert not rows(study, t.person, id=person)
    assert [(row.what, row.who) for row in rows(study, t.event)] == [("deleted", "")]
    with pytest.raises(NotAllowed):
        one.work()
    assert other.go(first) == 3
    check_books(study)


def test_a_revoked_link_opens_nothing_and_its_judgements_stay(make_study):
    study = make_study(3, ASK)
    (invited,) = do(study, people.invite, 1)
    session = do(study, people.join, invited.token)
    (one, *_) = join(study, 1)
    one.go(first, most=1)
    do(study, people.revoke, invited.code)
    do(study, people.revoke, one.code)
    assert session and len(rows(study, t.judgement)) == 1
    with pytest.raises(NotAllowed):
        do(study, people.join, invited.token)
    with pytest.raises(NotAllowed):
        one.work()
    assert sum(row.held for row in rows(study, t.task, role="item")) == 0
    with pytest.raises(UnknownName):
        do(study, people.revoke, "p-aaaaaaaa")


def test_the_owner_can_ask_for_one_more_judgement(make_study):
    study = make_study(2, ASK)
    one, other = join(study, 2)
    one.go(lambda player, task: "neither")
    found = study.database.read(lambda c: look_at_items(c, study, "ask", "closed")).result()
    assert [row["kept"] for row in found["items"]] == [False, False] and found["after"] is None
    again = do(study, reopen_item, found["items"][0]["task"])
    assert again["state"] == "open" and again["wanted"] == 2
    assert other.go(truthful) == 1
    check_books(study)
    with pytest.raises(UnknownName):
        do(study, reopen_item, 10**6)


def test_people_from_prolific_are_known_again_by_a_pseudonym(make_study):
    study = make_study(2, ASK, prolific="study-1234", places=5)
    visitor = people.Visitor("5f3c9a1b2c3d4e5f6a7b8c9d", "study-1234", "session-1")
    one = do(study, people.join_from_prolific, visitor)
    two = do(study, people.join_from_prolific, visitor)
    assert one != two
    (person,) = rows(study, t.person)
    assert person.source == "prolific" and person.pseudonym != visitor.person
    for table in (t.person, t.session, t.event):
        assert visitor.person not in str(rows(study, table))
    with pytest.raises(NotAllowed):
        do(make_study(2, ASK), people.join_from_prolific, visitor)


def test_human_figures_leave_out_who_was_excluded(make_study):
    study = make_study(4, replace(ASK, judgements=2))
    one, other, third = join(study, 3)
    one.go(truthful)
    other.go(lambda player, task: "neither")

    def share(how):
        record = study.database.read(lambda conn: read_record(conn, study)).result()
        found = figures(record)
        (figure,) = [f for f in found if (f.about, f.how) == ("all", how)]
        return figure.value, figure.n

    assert share("each answer") == (0.5, 8)
    do(study, people.exclude, other.code)
    third.go(truthful)
    assert share("each answer") == (1.0, 8) and share("majority") == (1.0, 4)

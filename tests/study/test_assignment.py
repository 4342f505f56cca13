"""Who gets which task, on both databases."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from dataclasses import replace

import pytest
from tests.conftest import benchmark_of, grid_item
from tests.study.crowd import HOUR, check_books, first, join, rows, truthful

from tellapart.study import people
from tellapart.study.assignment import _lane, expire, find_assigned
from tellapart.study.judgements import Conflict
from tellapart.study.plan import Stage
from tellapart.study.server import annotators
from tellapart.study.store import schema as t
from tellapart.study.tasks import LANES

ASK = Stage("ask", "which-image", judgements=2)


def test_every_item_gets_its_judgements_from_different_people(make_study):
    study = make_study(6, replace(ASK, judgements=3))
    for player in join(study, 4):
        player.go(first)
    given = Counter(row.task_id for row in rows(study, t.judgement))
    assert len(given) == 6 and set(given.values()) == {3}
    pairs = [(row.task_id, row.person_id) for row in rows(study, t.judgement)]
    assert len(set(pairs)) == len(pairs) == 18
    assert {task.state for task in rows(study, t.task, role="item")} == {"closed"}
    check_books(study)


def test_nobody_sees_an_item_twice_even_in_another_question(make_study):
    items = [grid_item(f"n{k}", 2, 2, {(0, 0), (1, 1)}) for k in range(5)]
    study = make_study(benchmark_of(items), Stage("ask", "which-image", judgements=1))
    one, other = join(study, 2)
    assert one.go(first) == 5 and other.go(first) == 5
    keys = {row.id: json.loads(row.matter)["item"] for row in rows(study, t.task, role="item")}
    for player in (one, other):
        person = rows(study, t.person, code=player.code)[0].id
        seen = [keys[row.task_id] for row in rows(study, t.assignment, person_id=person)]
        assert len(seen) == len(set(seen))


def test_once_per_question_lets_one_person_answer_all_of_an_item(make_study):
    items = [grid_item(f"n{k}", 2, 2, {(0, 0), (1, 1)}) for k in range(5)]
    stage = Stage("ask", "choose-image", judgements=1)
    study = make_study(benchmark_of(items), stage, once="question")
    (one,) = join(study, 1)
    assert one.go(first) == 10


def test_a_person_gets_at_most_so_many_items(make_study):
    study = make_study(8, replace(ASK, at_most=3))
    one, other = join(study, 2)
    assert one.go(first) == 3 and one.work()["state"] == "done"
    assert one.work()["progress"] == {"done": 3, "of": 3, "training": {"done": 0, "of": 0}}
    assert other.go(first) == 3
    check_books(study)


def test_a_sample_is_judged_twice_and_the_rest_once(make_study):
    study = make_study(60, Stage("ask", "which-image", twice=0.4))
    wanted = Counter(task.wanted for task in rows(study, t.task, role="item"))
    assert wanted[1] + wanted[2] == 60 and 12 <= wanted[2] <= 36
    for player in join(study, 2):
        player.go(truthful)
    assert len(rows(study, t.judgement)) == wanted[1] + 2 * wanted[2]


def test_items_come_in_an_order_of_each_persons_own(make_study):
    study = make_study(40, replace(ASK, judgements=3))
    orders = []
    for player in join(study, 2):
        player.go(first)
        person = rows(study, t.person, code=player.code)[0].id
        orders.append([row.task_id for row in rows(study, t.assignment, person_id=person)])
    assert sorted(orders[0]) == sorted(orders[1]) and orders[0] != orders[1]
    assert orders[0] != sorted(orders[0])


def test_options_are_drawn_and_the_order_is_recorded(make_study):
    study = make_study(60, ASK)
    (one,) = join(study, 1)
    one.go(truthful)
    drawn = Counter(row.drawn for row in rows(study, t.assignment))
    assert set(drawn) == {"[0, 1]", "[1, 0]"} and min(drawn.values()) >= 15
    assert {row.choice for row in rows(study, t.judgement)} == {"0"}
    assert all(row.is_right for row in rows(study, t.judgement))


def test_training_comes_first_and_explains(make_study):
    study = make_study(4, ASK, training=True)
    (one,) = join(study, 1)
    state = one.work()
    explained = []
    while state["task"]["training"]:
        assert state["progress"]["done"] == 0
        state = one.answer(state["task"]["number"], truthful(one, state["task"]))
        explained.append(state["feedback"])
    assert len(explained) == 3 and all(told["right"] and told["explanation"] for told in explained)
    state = one.answer(state["task"]["number"], "1")
    assert state["feedback"] is None and state["progress"]["done"] == 1


def test_checks_and_gold_come_at_their_rates_and_look_like_items(make_study):
    gold = benchmark_of([grid_item(f"g{k}", 2, 1, {(0, 0)}) for k in range(10)])
    stage = replace(ASK, checks=0.2, gold=0.1)
    study = make_study(40, stage, gold=gold)
    (one,) = join(study, 1)
    done = one.go(truthful)
    roles = Counter(
        task.role
        for task in rows(study, t.task)
        for _ in rows(study, t.assignment, task_id=task.id)
    )
    assert roles["item"] == 40 and 7 <= roles["check"] <= 8 and 3 <= roles["gold"] <= 4
    assert done == sum(roles.values())
    assert {tuple(task) for task in one.seen} == {tuple(one.seen[0])}
    assert one.work()["progress"]["done"] == done
    judged = rows(study, t.judgement)
    assert all(row.is_right for row in judged)
    check_books(study)


def test_the_verifier_is_never_the_picker_and_stages_run_into_each_other(make_study):
    items = [grid_item(f"n{k}", 2, 3, {(0, 0), (0, 1), (0, 2)}) for k in range(9)]
    stages = (
        Stage("pick", "pick-caption", judgements=1),
        Stage("verify", "which-image", judgements=2, keep="all"),
    )
    study = make_study(benchmark_of(items), *stages)
    players = join(study, 3)
    for _ in range(40):
        for player in players:
            state = player.work()
            if state["state"] == "work":
                value = truthful(player, state["task"])
                player.answer(state["task"]["number"], value)
    people_of: dict[str, list[int]] = {}
    units = {row.id: row.unit for row in rows(study, t.task)}
    for row in rows(study, t.judgement):
        people_of.setdefault(units[row.task_id], []).append(row.person_id)
    assert len(people_of) == 9
    assert all(len(people) == len(set(people)) == 3 for people in people_of.values())
    verified = [task for task in rows(study, t.task) if task.parent_id is not None]
    assert len(verified) == 9 and all(task.kept for task in verified)
    assert all(player.work()["state"] == "done" for player in players)
    check_books(study)


def test_none_of_them_ends_an_item_before_verification(make_study):
    items = [grid_item(f"n{k}", 2, 3, {(0, 0), (0, 1), (0, 2)}) for k in range(3)]
    stages = (
        Stage("pick", "pick-caption", judgements=1),
        Stage("verify", "which-image", judgements=2, keep="all"),
    )
    study = make_study(benchmark_of(items), *stages)
    (one,) = join(study, 1)
    one.go(lambda player, task: "none")
    assert [task.kept for task in rows(study, t.task, role="item")] == [False] * 3


def test_a_reservation_is_the_stages_minutes_long(make_study, clock):
    study = make_study(3, replace(ASK, minutes=2.5))
    (one,) = join(study, 1)
    one.work()
    times = {(row.reserved_at, row.expires_at) for row in rows(study, t.assignment)}
    assert times == {(clock(), clock() + 150_000)}


def test_a_number_is_of_ones_own_task(make_study):
    study = make_study(8, replace(ASK, judgements=1))
    players = join(study, 3)
    for player in players:
        player.work()
    for player in players:
        person = rows(study, t.person, code=player.code)[0].id
        own = {row.number: row.id for row in rows(study, t.assignment, person_id=person)}
        found = player.run(lambda conn, person=person: find_assigned(conn, study, person, 2))
        assert found.id == own[2]
        assert player.run(lambda conn, person=person: find_assigned(conn, study, person, 9)) is None


def test_each_persons_lanes_come_once_a_round_in_an_order_of_their_own(make_study):
    study = make_study(2)
    (stage,) = study.stages
    (one, other) = join(study, 2)

    def lanes(player, begin: int) -> list[int]:
        def drawn(conn, seat):
            return [_lane(study, replace(seat, served=begin + k), stage) for k in range(LANES)]

        return player.do(drawn)

    rounds = [lanes(player, begin) for player in (one, other) for begin in (0, LANES, 2 * LANES)]
    assert all(sorted(each) == list(range(LANES)) for each in rounds)
    assert len({tuple(each) for each in rounds}) == 6
    steps = {(each[1] - each[0]) % LANES for each in rounds}
    assert len(steps) > 2, "no order is another one that begins elsewhere"


def test_who_has_had_their_share_of_a_stage_goes_on_in_the_next(make_study):
    items = [grid_item(f"n{k}", 2, 3, {(0, 0), (0, 1), (0, 2)}) for k in range(6)]
    stages = (
        Stage("pick", "pick-caption", judgements=1, at_most=2),
        Stage("verify", "which-image", judgements=1),
    )
    study = make_study(benchmark_of(items), *stages)
    one, other = join(study, 2)
    assert one.go(truthful) == 2 and other.go(truthful) == 4, "two picks, and the other's verified"
    place = {row.code: row.stage_id for row in rows(study, t.person)}
    assert one.go(truthful) == 2, "one, who had nothing to do, verifies what the other picked"
    first_stage, second = (row.id for row in rows(study, t.stage))
    assert place == {one.code: first_stage, other.code: second}
    check_books(study)


def test_training_is_counted_as_it_is_given(make_study):
    study = make_study(4, ASK, training=True)
    (one,) = join(study, 1)
    one.work()
    assert [row.trained for row in rows(study, t.person)] == [2]
    one.go(truthful)
    (person,) = rows(study, t.person)
    assert (person.trained, person.served) == (3, 4)


def test_who_has_nothing_now_waits_while_others_work(make_study):
    study = make_study(2, replace(ASK, judgements=1))
    one, other = join(study, 2)
    assert one.work()["state"] == "work"
    assert other.work()["state"] == "wait"
    one.go(first)
    assert other.work()["state"] == "done"


def test_a_reservation_runs_out_and_goes_to_someone_else(make_study, clock):
    study = make_study(2, replace(ASK, judgements=1, minutes=10))
    one, other = join(study, 2)
    number = one.work()["task"]["number"]
    clock.turn(11 * 60_000)
    assert study.database.submit(lambda conn: expire(conn, study)).result() == 2
    assert other.go(first) == 2
    check_books(study)
    assert one.work()["state"] == "done"
    assert {row.state for row in rows(study, t.assignment)} == {"done", "lost"}
    assert number == 1


def test_who_comes_back_late_goes_on_where_nobody_took_over(make_study, clock):
    study = make_study(3, replace(ASK, judgements=1, minutes=10))
    one, other = join(study, 2)
    state = one.work()
    clock.turn(5 * HOUR)
    study.database.submit(lambda conn: expire(conn, study)).result()
    again = one.work()
    assert again["task"] == state["task"] and again["ahead"] == state["ahead"]
    clock.turn(5 * HOUR)
    study.database.submit(lambda conn: expire(conn, study)).result()
    assert one.answer(state["task"]["number"], "1")["state"] == "work"
    assert other.go(first) + one.go(first) == 2
    check_books(study)


def test_an_answer_that_is_too_late_is_not_taken(make_study, clock):
    study = make_study(1, replace(ASK, judgements=1, minutes=10))
    one, other = join(study, 2)
    number = one.work()["task"]["number"]
    clock.turn(HOUR)
    study.database.submit(lambda conn: expire(conn, study)).result()
    other.go(first)
    with pytest.raises(Conflict, match="someone else"):
        one.answer(number, "1")
    assert len(rows(study, t.judgement)) == 1
    assert one.work()["state"] == "done"
    check_books(study)


def test_a_clock_that_jumps_back_frees_what_was_reserved_in_the_future(make_study, clock):
    study = make_study(2, replace(ASK, judgements=1))
    one, other = join(study, 2)
    clock.turn(100 * HOUR)
    one.work()
    clock.turn(-100 * HOUR)
    assert study.database.submit(lambda conn: expire(conn, study)).result() == 2
    assert other.go(first) == 2
    check_books(study)


def test_with_stop_decided_nobody_is_asked_in_vain(make_study):
    study = make_study(6, replace(ASK, judgements=3, stop="decided"))
    one, other, third = join(study, 3)
    wrong = random.Random(0)
    one.go(truthful)
    other.go(lambda p, task: "neither" if wrong.random() < 0.5 else truthful(p, task))
    split = [task for task in rows(study, t.task, role="item") if task.state == "open"]
    assert 0 < len(split) < 6 and all(task.wanted == 3 for task in split)
    assert third.go(truthful) == len(split)
    assert all(task.kept for task in rows(study, t.task, role="item"))
    check_books(study)


def test_many_people_at_once_lose_and_double_nothing(make_study):
    study = make_study(40, replace(ASK, judgements=3))
    players = join(study, 12)
    errors: list[BaseException] = []

    def play(player, seed):
        draw = random.Random(seed)
        try:
            player.go(lambda p, task: draw.choice(task["options"])["value"])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=play, args=(p, k)) for k, p in enumerate(players)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    for player in players:  # whoever looked while others held the rest
        player.go(first)
    assert len(rows(study, t.judgement)) == 120
    check_books(study)


def test_an_answer_that_meets_the_sweeper_is_taken(make_study, clock, monkeypatch):
    """Between looking and writing another transaction gives the reservation back."""
    study = make_study(3, replace(ASK, judgements=1, minutes=10))
    if study.database.engine.dialect.name == "sqlite":
        return  # one writer: nothing comes in between
    (one,) = join(study, 1)
    number = one.work()["task"]["number"]
    clock.turn(HOUR)
    looked, once = annotators.arrive, []

    def look_then_sweep(*parts):
        found = looked(*parts)
        if not once:
            once.append(study.database.submit(lambda conn: expire(conn, study)).result())
        return found

    monkeypatch.setattr(annotators, "arrive", look_then_sweep)
    assert one.answer(number, "1")["state"] == "work"
    assert once == [2] and len(rows(study, t.judgement)) == 1
    check_books(study)


def test_an_item_closed_under_someones_hands_takes_nothing_more(make_study):
    study = make_study(1, replace(ASK, judgements=2))
    one, other, third = join(study, 3)
    one.go(truthful)
    other.go(truthful)
    study.database.submit(lambda conn: people.exclude(conn, study, other.code)).result()
    number = third.work()["task"]["number"]
    study.database.submit(lambda conn: people.restore(conn, study, other.code)).result()
    with pytest.raises(Conflict, match="someone else"):
        third.answer(number, "1")
    assert third.work()["state"] == "done"
    assert len(rows(study, t.judgement)) == 2
    check_books(study)

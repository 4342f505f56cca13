"""A machine whose clock jumps: by hours, by years, to and fro, while people work."""

from __future__ import annotations

import random

import pytest
from tests.study.crowd import HOUR, check_books, rows
from tests.study.server.conftest import ITEMS

from tellapart.study.assignment import expire
from tellapart.study.plan import Stage
from tellapart.study.store import schema as t

YEAR = 365 * 24 * HOUR
JUMPS = (0, 0, HOUR, -HOUR, 30 * HOUR, -30 * HOUR, 2 * YEAR, -2 * YEAR)


@pytest.mark.parametrize("seed", range(3))
def test_people_finish_though_the_clock_jumps(serve, database, seed):
    """A session that ran out is begun again with the link; no judgement is lost or doubled."""
    here = serve(Stage("ask", "first-second-both", judgements=2), database=database)
    lot = random.Random(seed)
    people = [(one.token, here.client()) for one in here.invite(3)]
    acknowledged, finished = 0, 0
    for _ in range(2000):
        if finished == len(people):
            break
        finished = 0
        for token, client in people:
            here.study.clock.turn(lot.choice(JUMPS))
            here.study.database.submit(lambda conn: expire(conn, here.study)).result()
            state = client.post("/api/next", json={})
            if state.status_code == 401:
                assert client.post("/api/join", json={"token": token}).status_code == 200
                state = client.post("/api/consent", json={"agree": True})
            task = state.json()["task"]
            finished += state.json()["state"] == "done"
            if task:
                answer = {"number": task["number"], "value": "1"}
                acknowledged += client.post("/api/answers", json=answer).status_code == 200
    assert finished == len(people)
    assert acknowledged == len(rows(here.study, t.judgement)) == 2 * ITEMS
    assert sum(task.held for task in rows(here.study, t.task)) == 0
    check_books(here.study)

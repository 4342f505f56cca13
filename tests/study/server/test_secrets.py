"""What annotators can find out: not the truth, nor what others said, by any way that they have."""

from __future__ import annotations

import json
import re

from sqlalchemy import event
from tests.study.crowd import rows
from tests.study.server.test_annotators import go

from tellapart.study.assignment import arrive
from tellapart.study.judgements import SentAnswer, answer
from tellapart.study.plan import Stage
from tellapart.study.store import schema as t


def test_right_and_wrong_answers_take_the_same_steps(serve, pictured, database):
    """Else the time that an answer takes would tell: the same statements in the same order."""
    stage = Stage("ask", "first-second-both", judgements=3, checks=0.2, gold=0.2)
    here = serve(stage, database=database, gold=pictured)
    client, seen = here.person(), set()
    state = client.post("/api/next", json={}).json()
    for _ in range(12):
        number = state["task"]["number"]
        tried = [_steps(here.study, client, number, value) for value in ("1", "2", "both")]
        assert len({steps for _, _, steps in tried}) == 1
        assert {right for _, right, _ in tried} == {True, False}
        seen |= {role for role, _, _ in tried}
        state = client.post("/api/answers", json={"number": number, "value": "1"}).json()
    assert seen == {"item", "check", "gold"}


def _steps(study, client, number, value):
    """Take an answer and undo it: the task's role, whether it was right, and all statements."""
    steps: list[str] = []

    def note(_conn, _cursor, statement, *_rest):
        steps.append(statement)

    with study.database.engine.connect() as conn:
        event.listen(conn, "before_cursor_execute", note)
        seat, waiting = arrive(conn, study, client.cookies["tellapart"])
        taken = answer(conn, study, seat, SentAnswer(number, value), waiting)
        conn.rollback()
    return taken.assignment.role, taken.right, tuple(steps)


def test_the_addresses_of_pictures_do_not_tell_which_is_which(serve, pictured):
    """The target is as often at the first address as at the second, and no address comes twice."""
    here = serve(Stage("ask", "first-second-both", judgements=8))
    firsts, seen = [], set()
    for _ in range(4):
        client = here.person()
        state = client.post("/api/next", json={}).json()
        while state["state"] == "work":
            addresses = [o["image"] for o in state["task"]["options"] if o["image"]]
            assert re.fullmatch(r"/images/\d+-0-[0-9a-f]{22}", addresses[0])
            assert not seen & set(addresses)
            seen |= set(addresses)
            number = state["task"]["number"]
            given = max(
                (row for row in rows(here.study, t.assignment) if row.number == number),
                key=lambda row: row.id,
            )
            firsts.append(json.loads(given.drawn)[0])
            state = client.post("/api/answers", json={"number": number, "value": "1"}).json()
    assert 0.3 < sum(firsts) / len(firsts) < 0.7


def test_nobody_reads_what_others_said(serve):
    """Not by numbers of their tasks, nor by their codes, nor from counts in one's own pages."""
    here = serve(Stage("ask", "first-second-both", judgements=2))
    one, other = here.person(), here.person()
    go(one, 6)
    seen = other.post("/api/next", json={}).json()
    assert other.get("/api/tasks/6").status_code == 404
    codes = {row.code for row in rows(here.study, t.person)}
    own = other.get("/api/me").json()["person"]["code"]
    told = json.dumps([seen, other.get("/api/me").json(), other.get("/api/tasks/1").json()])
    assert not [code for code in codes - {own} if code in told]
    assert seen["progress"]["done"] == 0
    assert other.get("/api/tasks/1").json()["answer"] is None

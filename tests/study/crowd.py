"""People for tests of the store: they work through a study without a browser or a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, func, select

from tellapart.study import people, sessions
from tellapart.study.judgements import SentAnswer
from tellapart.study.server import annotators
from tellapart.study.store import schema as t
from tellapart.study.study import OpenStudy

HOUR = 3_600_000


@dataclass
class Hands:
    """A clock that is set by hand."""

    now: int = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now

    def turn(self, milliseconds: int) -> None:
        self.now += milliseconds


@dataclass
class Player:
    """One person with a session."""

    study: OpenStudy
    code: str
    session: str
    seen: list[dict[str, Any]] = field(default_factory=list)

    def run(self, job: Callable[[Connection], Any]) -> Any:
        return self.study.database.submit(job).result()

    def do(self, job: Callable[[Connection, sessions.Seat], Any]) -> Any:
        return self.run(lambda conn: job(conn, sessions.seat_of(conn, self.study, self.session)))

    def work(self) -> dict[str, Any]:
        return self.run(lambda conn: annotators.work(conn, self.study, self.session))

    def answer(self, number: int, value: str, word: int | None = None, revise: bool = False) -> Any:
        reply = SentAnswer(number, value, word, 1000, revise)
        parts = (self.study, self.session, reply)
        return self.run(lambda conn: annotators.answer_and_work(conn, *parts))

    def go(self, choose: Callable[[Player, dict[str, Any]], str], most: int = 10_000) -> int:
        """Answer until nothing is left; returns how many tasks were answered."""
        state = self.work()
        for done in range(most):
            if state["state"] != "work":
                return done
            self.seen.append(state["task"])
            state = self.answer(state["task"]["number"], choose(self, state["task"]))
        return most


def join(study: OpenStudy, number: int) -> list[Player]:
    """So many people, invited, joined and consenting."""
    invited = study.database.submit(lambda conn: people.invite(conn, study, number)).result()
    players = []
    for one in invited:
        token = one.token
        session = study.database.submit(lambda conn, token=token: people.join(conn, study, token))
        player = Player(study, one.code, session.result())
        player.do(lambda conn, seat: sessions.consent(conn, study, seat))
        players.append(player)
    return players


def first(_player: Player, _task: dict[str, Any]) -> str:
    """Always the first option."""
    return "1"


def truthful(player: Player, task: dict[str, Any]) -> str:
    """The right answer, looked up; the first option where nobody knows."""
    matter, order = matter_of(player, task["number"])
    if matter["check"]:
        key = matter["check"]
    elif matter["truth"] is None:
        key = "0"
    else:
        key = matter["truth"][0][0]
    return str(order.index(int(key)) + 1) if key.isdigit() and order else key


def matter_of(player: Player, number: int) -> tuple[dict[str, Any], list[int]]:
    chosen = (
        select(t.task.c.matter, t.assignment.c.drawn)
        .join(t.assignment, t.assignment.c.task_id == t.task.c.id)
        .join(t.person, t.person.c.id == t.assignment.c.person_id)
        .where(t.person.c.code == player.code, t.assignment.c.number == number)
    )
    row = player.study.database.read(lambda conn: conn.execute(chosen).one()).result()
    return json.loads(row.matter), json.loads(row.drawn)


def rows(study: OpenStudy, table: Any, **wanted: Any) -> list[Any]:
    """All rows of a table with the given values."""
    where = [table.c[name] == value for name, value in wanted.items()]
    chosen = select(table).where(*where).order_by(*table.primary_key.columns)
    return study.database.read(lambda conn: conn.execute(chosen).all()).result()


def check_books(study: OpenStudy) -> None:
    """What must hold at any moment, however people came and went."""
    judged = select(t.judgement.c.task_id, func.count()).where(t.judgement.c.void.is_(False))
    open_ = select(t.assignment.c.task_id, func.count()).where(t.assignment.c.state == "open")

    def job(conn: Connection) -> tuple[dict[int, int], dict[int, int]]:
        given = conn.execute(judged.group_by(t.judgement.c.task_id)).all()
        held = conn.execute(open_.group_by(t.assignment.c.task_id)).all()
        return {k: n for k, n in given}, {k: n for k, n in held}  # noqa: C416 (rows)

    given, held = study.database.read(job).result()
    for task in rows(study, t.task, role="item"):
        if task.state == "void":
            continue
        assert task.given == given.get(task.id, 0), task
        assert task.held == held.get(task.id, 0), task
        assert task.state == "closed" or task.given < task.wanted, task
        assert task.given + task.held <= max(task.wanted, task.full_number), task
    judgements = rows(study, t.judgement)
    done = {row.id for row in rows(study, t.assignment, state="done")}
    assert {row.assignment_id for row in judgements} == done

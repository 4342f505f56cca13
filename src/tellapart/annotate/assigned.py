"""A task that was given to a person, as it is read back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, literal_column, select

from tellapart.annotate.opening import OpenStage, OpenStudy
from tellapart.annotate.questions.question import Form, Matter
from tellapart.annotate.seats import (
    OF_SESSION,
    SEAT_COLUMNS,
    Seat,
    read_seat,
    session_values,
)
from tellapart.annotate.store import tables as t

_A, _T = t.assignment.c, t.task.c
_GIVEN = (
    _A.id.label("given_id"), _A.number, _A.task_id, _A.drawn, _A.state.label("given_state"),
    _T.stage_id.label("task_stage"), _T.role, _T.matter, _T.state.label("task_state"),
)  # fmt: skip
_BY_NUMBER = (
    select(*_GIVEN)
    .join(t.task, _T.id == _A.task_id)
    .where(_A.person_id == bindparam("person"), _A.number == bindparam("number"))
)
_WAITING: ColumnElement[bool] = literal_column("assignment.state IN ('open', 'expired')")
_ARRIVE = (
    select(*SEAT_COLUMNS, *_GIVEN)
    .select_from(
        t.session.join(t.person, t.session.c.person_id == t.person.c.id)
        .outerjoin(t.assignment, (_A.person_id == t.person.c.id) & _WAITING)
        .outerjoin(t.task, _T.id == _A.task_id)
    )
    .where(*OF_SESSION)
    .order_by(_A.number)
    .with_for_update(of=t.person, key_share=True)
)


@dataclass(frozen=True, slots=True)
class Assigned:
    """A person's task: `order` is the order in which they see the options."""

    id: int
    number: int
    task_id: int
    stage: OpenStage
    role: str
    matter: Matter
    order: list[int]
    state: str
    task_state: str

    def form(self) -> Form:
        """What is shown and asked."""
        return self.stage.question.form(self.matter)

    def pictures(self) -> list[int]:
        """The matter's pictures, by their places in it, in the order in which they are shown.

        Addresses go by this order, so that they do not tell a picture's place in the matter.
        """
        form = self.form()
        shown = [one.image for one in form.shown] + [form.options[k].image for k in self.order]
        return [image for image in shown if image is not None]


def find_assigned(conn: Connection, study: OpenStudy, person: int, number: int) -> Assigned | None:
    """A person's task by its number."""
    row = conn.execute(_BY_NUMBER, {"person": person, "number": number}).first()
    return None if row is None else _read(study, row)


def arrive(conn: Connection, study: OpenStudy, session: str) -> tuple[Seat, list[Assigned]]:
    """The person of a session, theirs alone until the transaction ends, and what waits for them.

    Waiting is what they were given and have not answered, also what has run out since.
    """
    rows = conn.execute(_ARRIVE, session_values(study, session)).all()
    seat = read_seat(rows[0] if rows else None)
    return seat, [_read(study, row) for row in rows if row.given_id is not None]


def _read(study: OpenStudy, row: Any) -> Assigned:
    return Assigned(
        id=row.given_id,
        number=row.number,
        task_id=row.task_id,
        stage=study.stage(row.task_stage),
        role=row.role,
        matter=Matter.from_json(json.loads(row.matter)),
        order=json.loads(row.drawn),
        state=row.given_state,
        task_state=row.task_state,
    )

"""A task that was given to a person, as it is read back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select

from tellapart.annotate.opening import OpenStage, OpenStudy
from tellapart.annotate.questions.question import Form, Matter
from tellapart.annotate.store import tables as t

_A, _T = t.assignment.c, t.task.c
GIVEN = select(
    _A.id, _A.number, _A.task_id, _A.drawn, _A.state, _A.expires_at,
    _T.stage_id, _T.role, _T.unit, _T.matter, _T.state.label("task_state"),
).join(t.task, _T.id == _A.task_id)  # fmt: skip
_BY_NUMBER = GIVEN.where(_A.person_id == bindparam("person"), _A.number == bindparam("number"))


@dataclass(frozen=True, slots=True)
class Assigned:
    """A person's task: `order` is the order in which they see the options."""

    id: int
    number: int
    task_id: int
    stage: OpenStage
    role: str
    unit: str
    matter: Matter
    order: list[int]
    state: str
    task_state: str

    def form(self) -> Form:
        """What is shown and asked."""
        return self.stage.rules.question.form(self.matter)

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
    return None if row is None else read_assigned(study, row)


def read_assigned(study: OpenStudy, row: Any) -> Assigned:
    """A row of `GIVEN`."""
    return Assigned(
        id=row.id,
        number=row.number,
        task_id=row.task_id,
        stage=study.stage(row.stage_id),
        role=row.role,
        unit=row.unit,
        matter=Matter.from_json(json.loads(row.matter)),
        order=json.loads(row.drawn),
        state=row.state,
        task_state=row.task_state,
    )

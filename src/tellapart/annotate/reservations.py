"""Reservations: a judgement of a task is held for a person until they answer or time runs out.

`task.held` counts them and is changed in the same transaction as the assignment, so that it never
drifts; a task is `free` while others may take it. A clock that jumps does no harm: what ran out is
taken up again by whoever comes back first, and a reservation from the future runs out at once.
"""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, literal_column, select, update

from tellapart.annotate.assigned import Assigned
from tellapart.annotate.opening import OpenStage, OpenStudy
from tellapart.annotate.store import tables as t

MINUTE = 60_000
JUMP = 5 * MINUTE
"""A reservation that was made so long after now shows that the clock was set back."""
SWEEP = 500
"""Reservations that are given back in one transaction."""

_A, _T = t.assignment.c, t.task.c
_OPEN = literal_column("assignment.state") == literal_column("'open'")
_ROOM = (_T.id == bindparam("_task_id")) & (literal_column("free"))
_HOLD = {
    "sqlite": update(t.task).where(_ROOM).values(held=_T.held + 1).returning(_T.id),
    # one that another transaction is at is passed over: waiting could end in a deadlock
    "postgresql": update(t.task)
    .where(_T.id.in_(select(_T.id).where(_ROOM).with_for_update(skip_locked=True, key_share=True)))
    .values(held=_T.held + 1)
    .returning(_T.id),
}
"""Hold one of the judgements that a task still wants: no row where others have them all."""


def until(study: OpenStudy, stage: OpenStage) -> int:
    """When a reservation that is made now runs out."""
    return study.clock() + int(stage.rules.minutes * MINUTE)


def _hold(conn: Connection, task: int) -> bool:
    return conn.execute(_HOLD[conn.dialect.name], {"_task_id": task}).first() is not None


def is_ours(conn: Connection, study: OpenStudy, given: Assigned) -> bool:
    """Whether a task that was not answered is still the person's.

    What ran out is taken up again where it is still wanted; else it is lost to them for good.
    """
    if given.role != "item":
        return True  # nobody else wants it
    if given.state == "open" and given.task_state == "open":
        return True
    if given.state == "open":  # closed, or undone, while they had it
        _give_back(conn, [(given.task_id, given.id)], "lost")
        return False
    took = _hold(conn, given.task_id)
    conn.execute(
        update(t.assignment)
        .where(_A.id == given.id)
        .values(
            state="open" if took else "lost",
            reserved_at=study.clock(),
            expires_at=until(study, given.stage),
        )
    )
    return took


def release(conn: Connection, person: int, state: str) -> None:
    """Give back all that a person holds, which leaves it `expired` (or `lost` to them)."""
    rows = conn.execute(select(_A.id, _A.task_id).where(_A.person_id == person, _OPEN)).all()
    _give_back(conn, [(row.task_id, row.id) for row in rows], state)


def expire(conn: Connection, study: OpenStudy) -> int:
    """Give back what people left lying; returns how many reservations ran out.

    A transaction of its own: it touches the tasks of many people.
    """
    now = study.clock()
    late = (_A.expires_at < now) | (_A.reserved_at > now + JUMP)
    rows = conn.execute(
        select(_A.id, _A.task_id).where(_OPEN, late).limit(SWEEP).with_for_update(skip_locked=True)
    ).all()
    _give_back(conn, [(row.task_id, row.id) for row in rows], "expired")
    return len(rows)


def _give_back(conn: Connection, held: list[tuple[int, int]], state: str) -> None:
    """End reservations, (task, assignment), in the order of tasks, in which everyone locks them."""
    for task, assignment in sorted(held):
        ended = update(t.assignment).where(_A.id == assignment, _OPEN).values(state=state)
        if conn.execute(ended).rowcount:
            back = update(t.task).where(_T.id == task, _T.role == "item", _T.state != "void")
            conn.execute(back.values(held=_T.held - 1))

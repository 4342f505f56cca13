"""A person at work: who a session belongs to, and where in the study they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from tellapart.annotate.keys import hashed
from tellapart.annotate.opening import OpenStudy
from tellapart.annotate.store import tables as t
from tellapart.errors import TellapartError


class NotAllowed(TellapartError):
    """A token or a session that opens nothing (any more)."""


@dataclass(slots=True)
class Seat:
    """Where a person is; changed in place while they work, then saved.

    `served`, `checks`, `golds` and `trained` count what they were given in the stage `stage_id`.
    `cursor` is a rank below which that stage has nothing for them.
    """

    id: int
    code: str
    state: str
    consented_at: int | None
    stage_id: int | None
    trained: int
    served: int
    checks: int
    golds: int
    cursor: int
    last_number: int

    def place(self) -> dict[str, Any]:
        """What changes while someone works."""
        names = ("stage_id", "trained", "served", "checks", "golds", "cursor", "last_number")
        return {name: getattr(self, name) for name in names}

    def put(self, place: dict[str, Any]) -> None:
        """Go to a place that `place` gave."""
        for name, value in place.items():
            setattr(self, name, value)


_SEAT = (
    select(*(t.person.c[name] for name in Seat.__dataclass_fields__))
    .join(t.session, t.session.c.person_id == t.person.c.id)
    .where(
        t.session.c.hash == bindparam("hash"),
        t.session.c.study_id == bindparam("study"),
        t.session.c.expires_at > bindparam("now"),
    )
)
_LOCKED = _SEAT.with_for_update(of=t.person, key_share=True)


def seat_of(conn: Connection, study: OpenStudy, session: str, lock: bool = True) -> Seat:
    """The person of a session; with `lock` theirs alone until the transaction ends."""
    row = conn.execute(
        _LOCKED if lock else _SEAT,
        {"hash": hashed(session), "study": study.plan.id, "now": study.clock()},
    ).first()
    if row is None or row.state == "revoked":
        raise NotAllowed("you are not signed in", todo="open your personal link again")
    return Seat(*row)


def save(conn: Connection, study: OpenStudy, seat: Seat) -> None:
    """Write down where a person is."""
    conn.execute(
        update(t.person)
        .where(t.person.c.id == seat.id)
        .values(seen_at=study.clock(), **seat.place())
    )


def consent(conn: Connection, study: OpenStudy, seat: Seat) -> None:
    """Note that a person agreed; the first time counts."""
    if seat.consented_at is None:
        seat.consented_at = study.clock()
        conn.execute(
            update(t.person).where(t.person.c.id == seat.id).values(consented_at=seat.consented_at)
        )

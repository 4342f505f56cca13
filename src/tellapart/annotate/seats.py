"""A person at work: who a session belongs to, and where in the study they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from tellapart.annotate.keys import hashed
from tellapart.annotate.opening import OpenStudy
from tellapart.annotate.store import tables as t
from tellapart.annotate.store.steps import new
from tellapart.errors import TellapartError

PLACE = ("stage_id", "trained", "served", "checks", "golds", "last_number")
"""What changes while someone works."""


class NotAllowed(TellapartError):
    """A token or a session that opens nothing (any more)."""


@dataclass(slots=True)
class Seat:
    """Where a person is; changed in place while they work, then saved.

    `served`, `checks`, `golds` and `trained` count what they were given in the stage `stage_id`.
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
    last_number: int

    def place(self) -> dict[str, Any]:
        """What changes while someone works."""
        return {name: getattr(self, name) for name in PLACE}

    def put(self, place: dict[str, Any]) -> None:
        """Go to a place that `place` gave."""
        for name, value in place.items():
            setattr(self, name, value)


SEAT_COLUMNS = tuple(t.person.c[name] for name in Seat.__dataclass_fields__)
OF_SESSION = (
    t.session.c.hash == bindparam("hash"),
    t.session.c.study_id == bindparam("study"),
    t.session.c.expires_at > bindparam("now"),
)
SAVE = (
    update(t.person)
    .where(t.person.c.id == bindparam("_person_id"))
    .values({name: new(t.person.c[name]) for name in ("seen_at", *PLACE)})
)
_SEAT = (
    select(*SEAT_COLUMNS).join(t.session, t.session.c.person_id == t.person.c.id).where(*OF_SESSION)
)
_LOCKED = _SEAT.with_for_update(of=t.person, key_share=True)


def seat_of(conn: Connection, study: OpenStudy, session: str, lock: bool = True) -> Seat:
    """The person of a session; with `lock` theirs alone until the transaction ends."""
    row = conn.execute(_LOCKED if lock else _SEAT, session_values(study, session)).first()
    return read_seat(row)


def session_values(study: OpenStudy, session: str) -> dict[str, Any]:
    """What `OF_SESSION` asks for."""
    return {"hash": hashed(session), "study": study.plan.id, "now": study.clock()}


def read_seat(row: Any) -> Seat:
    """A row that begins with `SEAT_COLUMNS`; no row is nobody."""
    if row is None or row[2] == "revoked":
        raise NotAllowed("you are not signed in", todo="open your personal link again")
    return Seat(*row[: len(SEAT_COLUMNS)])


def seat_values(study: OpenStudy, seat: Seat) -> dict[str, Any]:
    """What `SAVE` asks for."""
    place = {f"_{name}": value for name, value in seat.place().items()}
    return {"_person_id": seat.id, "_seen_at": study.clock(), **place}


def save(conn: Connection, study: OpenStudy, seat: Seat) -> None:
    """Write down where a person is."""
    conn.execute(SAVE, seat_values(study, seat))


def consent(conn: Connection, study: OpenStudy, seat: Seat) -> None:
    """Note that a person agreed; the first time counts."""
    if seat.consented_at is None:
        seat.consented_at = study.clock()
        conn.execute(
            update(t.person).where(t.person.c.id == seat.id).values(consented_at=seat.consented_at)
        )

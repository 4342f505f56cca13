"""Sessions and seats: who has access, and where in the study a person is.

A session starts with a link and ends when the person leaves, when it expires, or when the owner
ends it. A seat is a person's position in the study: their stage, and what they got there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, insert, select, update

from tellapart.errors import TellapartError
from tellapart.study.keys import hashed, new_token, read_keys
from tellapart.study.store import schema as t
from tellapart.study.store.database import new_value
from tellapart.study.study import OpenStudy

DAYS = 60
DAY = 24 * 3600 * 1000
AT_ONCE = 8
"""Maximum number of sessions per person; the oldest ends when another starts."""
PLACE = ("stage_id", "trained", "served", "checks", "golds", "last_number")
"""The columns that change while someone works."""


class NotAllowed(TellapartError):
    """A token or session that is not valid, or no longer valid."""


def begin_session(conn: Connection, study: OpenStudy, person: int | None) -> str:
    """Start a session of a person, or of the owner (None); returns its token."""
    token, now = new_token(), study.clock()
    mine = _of_person(study, person)
    newest = select(t.session.c.hash).where(mine).order_by(t.session.c.made_at.desc())
    oldest = list(conn.execute(newest.offset(AT_ONCE - 1)).scalars())
    gone = t.session.c.hash.in_(oldest) | (t.session.c.expires_at <= now)
    conn.execute(delete(t.session).where(mine, gone))
    conn.execute(
        insert(t.session).values(
            hash=hashed(token),
            study_id=study.plan.id,
            person_id=person,
            made_at=now,
            expires_at=now + DAYS * DAY,
        )
    )
    return token


def end_session(conn: Connection, token: str) -> None:
    """End one session, whoever's it is."""
    conn.execute(delete(t.session).where(t.session.c.hash == hashed(token)))


def end_sessions(conn: Connection, study: OpenStudy, person: int | None) -> None:
    """End all sessions of a person, or of the owner (None)."""
    conn.execute(delete(t.session).where(_of_person(study, person)))


def join_as_owner(conn: Connection, study: OpenStudy, token: str) -> str:
    """Start a session of the owner; the keys are read again, as they may have been renewed."""
    if not read_keys(study.folder).is_owner(token):
        raise NotAllowed("this is not the owner's link", todo="see the output of `study serve`")
    return begin_session(conn, study, None)


def check_owner(conn: Connection, study: OpenStudy, session: str) -> None:
    """Raise unless the session is the owner's."""
    row = conn.execute(
        select(t.session.c.hash).where(
            t.session.c.hash == hashed(session),
            t.session.c.expires_at > study.clock(),
            _of_person(study, None),
        )
    ).first()
    if row is None:
        raise NotAllowed("this is only for the study's owner", todo="open the owner's link")


def _of_person(study: OpenStudy, person: int | None) -> ColumnElement[bool]:
    owner = t.session.c.person_id.is_(None)
    mine = owner if person is None else t.session.c.person_id == person
    return (t.session.c.study_id == study.plan.id) & mine


@dataclass(slots=True)
class Seat:
    """A person's position in the study; changed in place while they work, then saved.

    `served`, `checks`, `golds` and `trained` count their tasks in the stage `stage_id`.
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


SEAT_COLUMNS = tuple(t.person.c[name] for name in Seat.__dataclass_fields__)
OF_SESSION = (
    t.session.c.hash == bindparam("hash"),
    t.session.c.study_id == bindparam("study"),
    t.session.c.expires_at > bindparam("now"),
)
SAVE = (
    update(t.person)
    .where(t.person.c.id == bindparam("_person_id"))
    .values({name: new_value(t.person.c[name]) for name in ("seen_at", *PLACE)})
)
_SEAT = (
    select(*SEAT_COLUMNS).join(t.session, t.session.c.person_id == t.person.c.id).where(*OF_SESSION)
)
# one request per person at a time; "key share" still lets rows that refer to them be inserted
_LOCKED = _SEAT.with_for_update(of=t.person, key_share=True)


def seat_of(conn: Connection, study: OpenStudy, session: str, lock: bool = True) -> Seat:
    """The person of a session; with `lock`, locked until the transaction ends."""
    row = conn.execute(_LOCKED if lock else _SEAT, session_values(study, session)).first()
    return read_seat(row)


def session_values(study: OpenStudy, session: str) -> dict[str, Any]:
    """The parameters of `OF_SESSION`."""
    return {"hash": hashed(session), "study": study.plan.id, "now": study.clock()}


def read_seat(row: Any) -> Seat:
    """The seat in a row that starts with `SEAT_COLUMNS`; raises if there is no row."""
    if row is None or row[2] == "revoked":
        raise NotAllowed("you are not signed in", todo="open your personal link again")
    return Seat(*row[: len(SEAT_COLUMNS)])


def seat_values(study: OpenStudy, seat: Seat) -> dict[str, Any]:
    """The parameters of `SAVE`."""
    place = {f"_{name}": getattr(seat, name) for name in PLACE}
    return {"_person_id": seat.id, "_seen_at": study.clock(), **place}


def consent(conn: Connection, study: OpenStudy, seat: Seat) -> None:
    """Record a person's consent; only the first time counts."""
    if seat.consented_at is None:
        seat.consented_at = study.clock()
        conn.execute(
            update(t.person).where(t.person.c.id == seat.id).values(consented_at=seat.consented_at)
        )

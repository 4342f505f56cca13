"""Who takes part: invitations, sessions, consent, and the person as the server works with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from tellapart.annotate.keys import hashed, new_token
from tellapart.annotate.opening import OpenStudy
from tellapart.annotate.store import tables as t
from tellapart.errors import TellapartError

SESSION_DAYS = 60
SESSIONS = 8
"""Sessions that one person can have at a time; the oldest ends when another begins."""
DAY = 24 * 3600 * 1000


class NotAllowed(TellapartError):
    """A token or session that opens nothing (any more)."""


@dataclass(slots=True)
class Seat:
    """A person at work: where they are in the study. Changed in place, then saved by `save`."""

    id: int
    code: str
    state: str
    consented_at: int | None
    stage_id: int | None
    trained: int
    served: int
    cursor: int
    last_number: int

    def values(self) -> dict[str, Any]:
        """What changes while someone works."""
        return {
            "stage_id": self.stage_id,
            "trained": self.trained,
            "served": self.served,
            "cursor": self.cursor,
            "last_number": self.last_number,
        }


SEAT = tuple(t.person.c[name] for name in Seat.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Invitation:
    """A new person and the token of their link, which is shown once and stored only hashed."""

    code: str
    token: str


def invite(conn: Connection, study: OpenStudy, people: int, label: str = "") -> list[Invitation]:
    """Add people who come by personal links."""
    made = [Invitation(new_code(), new_token()) for _ in range(people)]
    rows = [
        {
            "study_id": study.plan.id,
            "code": one.code,
            "label": label,
            "source": "link",
            "token_hash": hashed(one.token),
            "made_at": study.clock(),
        }
        for one in made
    ]
    conn.execute(insert(t.person), rows)
    return made


def new_code() -> str:
    """A random name for a person, such as `p-k3vq9x2m`, that says nothing about them."""
    import secrets

    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    return "p-" + "".join(secrets.choice(letters) for _ in range(8))


def join(conn: Connection, study: OpenStudy, token: str) -> str:
    """Begin a session for the person whose link this is; returns the session's own token."""
    found = conn.execute(
        select(t.person.c.id, t.person.c.state).where(
            t.person.c.token_hash == hashed(token), t.person.c.study_id == study.plan.id
        )
    ).first()
    if found is None or found.state == "revoked":
        raise NotAllowed("this link does not lead to a study (any more)", todo="ask for a new one")
    return begin_session(conn, study, found.id)


def join_as_owner(conn: Connection, study: OpenStudy, token: str) -> str:
    """Begin a session for the owner."""
    if not study.keys.is_owner(token):
        raise NotAllowed("this is not the owner's link", todo="see what `study serve` printed")
    return begin_session(conn, study, None)


def begin_session(conn: Connection, study: OpenStudy, person: int | None) -> str:
    """A new session; of too many the oldest ends."""
    token, now = new_token(), study.clock()
    mine = t.session.c.person_id == person if person else t.session.c.person_id.is_(None)
    others = (
        select(t.session.c.hash)
        .where(t.session.c.study_id == study.plan.id, mine)
        .order_by(t.session.c.made_at.desc())
        .offset(SESSIONS - 1)
    )
    conn.execute(delete(t.session).where(t.session.c.hash.in_(others)))
    conn.execute(
        insert(t.session).values(
            hash=hashed(token),
            study_id=study.plan.id,
            person_id=person,
            made_at=now,
            expires_at=now + SESSION_DAYS * DAY,
        )
    )
    return token


def seat_of(conn: Connection, study: OpenStudy, session: str) -> Seat:
    """The person of a session, theirs alone until the transaction ends."""
    row = conn.execute(
        select(*SEAT)
        .join(t.session, t.session.c.person_id == t.person.c.id)
        .where(
            t.session.c.hash == hashed(session),
            t.session.c.study_id == study.plan.id,
            t.session.c.expires_at > study.clock(),
        )
        .with_for_update(of=t.person, key_share=True)
    ).first()
    if row is None or row.state == "revoked":
        raise NotAllowed("you are not signed in", todo="open your personal link again")
    return Seat(*row)


def check_owner(conn: Connection, study: OpenStudy, session: str) -> None:
    """Raise unless the session is the owner's."""
    row = conn.execute(
        select(t.session.c.expires_at).where(
            t.session.c.hash == hashed(session),
            t.session.c.study_id == study.plan.id,
            t.session.c.person_id.is_(None),
            t.session.c.expires_at > study.clock(),
        )
    ).first()
    if row is None:
        raise NotAllowed("this page is for the study's owner", todo="open the owner's link")


def consent(conn: Connection, study: OpenStudy, seat: Seat) -> None:
    """Note that a person agreed; the first time counts."""
    if seat.consented_at is None:
        seat.consented_at = study.clock()
        conn.execute(
            update(t.person).where(t.person.c.id == seat.id).values(consented_at=seat.consented_at)
        )


def save(conn: Connection, study: OpenStudy, seat: Seat) -> None:
    """Write down where a person is."""
    conn.execute(
        update(t.person)
        .where(t.person.c.id == seat.id)
        .values(seen_at=study.clock(), **seat.values())
    )

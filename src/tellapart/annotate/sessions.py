"""Sessions: begun with a link, ended by leaving, by time, or by the owner."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, delete, insert, select

from tellapart.annotate.keys import hashed, new_token, read_keys
from tellapart.annotate.opening import OpenStudy
from tellapart.annotate.seats import NotAllowed
from tellapart.annotate.store import tables as t

DAYS = 60
AT_ONCE = 8
"""Sessions that one person can have; the oldest ends when another begins."""
DAY = 24 * 3600 * 1000


def begin_session(conn: Connection, study: OpenStudy, person: int | None) -> str:
    """A new session of a person, or of the owner (None); returns its token."""
    token, now = new_token(), study.clock()
    mine = _of(study, person)
    kept = select(t.session.c.hash).where(mine).order_by(t.session.c.made_at.desc())
    hashes = list(conn.execute(kept.offset(AT_ONCE - 1)).scalars())
    gone = t.session.c.hash.in_(hashes) | (t.session.c.expires_at <= now)
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
    conn.execute(delete(t.session).where(_of(study, person)))


def join_as_owner(conn: Connection, study: OpenStudy, token: str) -> str:
    """Begin a session of the owner; the token may have been renewed since the study was opened."""
    if not read_keys(study.folder).is_owner(token):
        raise NotAllowed("this is not the owner's link", todo="see what `study serve` printed")
    return begin_session(conn, study, None)


def check_owner(conn: Connection, study: OpenStudy, session: str) -> None:
    """Raise unless the session is the owner's."""
    row = conn.execute(
        select(t.session.c.hash).where(
            t.session.c.hash == hashed(session),
            t.session.c.expires_at > study.clock(),
            _of(study, None),
        )
    ).first()
    if row is None:
        raise NotAllowed("this is for the study's owner", todo="open the owner's link")


def _of(study: OpenStudy, person: int | None) -> ColumnElement[bool]:
    owner = t.session.c.person_id.is_(None)
    mine = owner if person is None else t.session.c.person_id == person
    return (t.session.c.study_id == study.plan.id) & mine

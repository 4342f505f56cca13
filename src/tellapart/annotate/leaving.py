"""Pausing, leaving, being excluded or forgotten: what happens to a person's work."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select, update

from tellapart.annotate.events import record
from tellapart.annotate.opening import OpenStudy
from tellapart.annotate.reservations import release
from tellapart.annotate.sessions import end_sessions
from tellapart.annotate.settling import reopen
from tellapart.annotate.store import tables as t
from tellapart.errors import UnknownName

MOST_NAMED = 100
_J, _P, _T = t.judgement.c, t.person.c, t.task.c


def find_person(conn: Connection, study: OpenStudy, code: str) -> int:
    """A person by their code, theirs alone until the transaction ends."""
    mine = _P.study_id == study.plan.id, _P.code == code
    found = conn.execute(select(_P.id).where(*mine).with_for_update(key_share=True)).scalar()
    if found is None:
        known = select(_P.code).where(_P.study_id == study.plan.id).limit(MOST_NAMED)
        raise UnknownName("person", code, conn.execute(known).scalars())
    return int(found)


def pause(conn: Connection, person: int) -> None:
    """Let others have what a person holds; they take up what is left when they come back."""
    release(conn, person, "expired")


def exclude(conn: Connection, study: OpenStudy, code: str) -> None:
    """Count none of a person's judgements, and ask others in their place."""
    person = find_person(conn, study, code)
    release(conn, person, "lost")
    _state(conn, person, "excluded")
    _recount(conn, study, person, void=True)
    record(conn, study, "excluded", code)


def restore(conn: Connection, study: OpenStudy, code: str) -> None:
    """Take an exclusion or a revoked link back."""
    person = find_person(conn, study, code)
    _state(conn, person, "active")
    _recount(conn, study, person, void=False)
    record(conn, study, "restored", code)


def revoke(conn: Connection, study: OpenStudy, code: str) -> None:
    """End a person's link and sessions; what they said stays."""
    person = find_person(conn, study, code)
    release(conn, person, "lost")
    _state(conn, person, "revoked")
    end_sessions(conn, study, person)
    record(conn, study, "revoked", code)


def forget(conn: Connection, study: OpenStudy, code: str) -> None:
    """Delete a person and all that is stored about them; items ask for others in their place."""
    person = find_person(conn, study, code)
    release(conn, person, "lost")
    _recount(conn, study, person, void=True)
    conn.execute(delete(t.event).where(t.event.c.study_id == study.plan.id, t.event.c.who == code))
    conn.execute(delete(t.person).where(_P.id == person))
    record(conn, study, "deleted")


def _state(conn: Connection, person: int, state: str) -> None:
    conn.execute(update(t.person).where(_P.id == person).values(state=state))


def _recount(conn: Connection, study: OpenStudy, person: int, void: bool) -> None:
    tasks = _judged(conn, person)
    mine = _J.person_id == person, _J.task_id.in_(tasks)
    conn.execute(update(t.judgement).where(*mine).values(void=void))
    for task in tasks:
        reopen(conn, study, task)


def _judged(conn: Connection, person: int) -> list[int]:
    """The tasks that count which a person has judged, in the order in which everyone locks them."""
    return list(
        conn.execute(
            select(_T.id)
            .join(t.judgement, _J.task_id == _T.id)
            .where(_J.person_id == person, _T.role == "item", _T.state != "void")
            .order_by(_T.id)
        ).scalars()
    )

"""People: inviting and admitting them; pausing, excluding, revoking and deleting them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select, update

from tellapart.errors import BadInput, UnknownName
from tellapart.study.assignment import release
from tellapart.study.judgements import reopen
from tellapart.study.keys import hashed, new_token
from tellapart.study.participants import ALLOWED_ID, PLATFORM_ID, read_participants
from tellapart.study.sessions import NotAllowed, begin_session, end_sessions
from tellapart.study.store import schema as t
from tellapart.study.study import OpenStudy

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
MOST = 10_000
"""Maximum number of links created at a time."""
MOST_NAMED = 100
_J, _P, _T = t.judgement.c, t.person.c, t.task.c


@dataclass(frozen=True, slots=True)
class Invitation:
    """A new person and the token of their link, which is shown once and stored as a hash."""

    code: str
    token: str


@dataclass(frozen=True, slots=True, repr=False)
class Visitor:
    """A visitor from Prolific: the three ids in its links."""

    person: str
    study: str
    session: str


def invite(conn: Connection, study: OpenStudy, people: int, label: str = "") -> list[Invitation]:
    """Add people who join by personal links."""
    if not 1 <= people <= MOST:
        raise BadInput(f"{people} people", allowed=f"1 to {MOST:,}")
    invited = [Invitation(_new_code(), new_token()) for _ in range(people)]
    same = {"study_id": study.plan.id, "source": "link", "made_at": study.clock(), "label": label}
    rows = [{**same, "code": one.code, "token_hash": hashed(one.token)} for one in invited]
    conn.execute(insert(t.person), rows)
    return invited


def join(conn: Connection, study: OpenStudy, token: str) -> str:
    """Start a session for the person with this link; returns the session's own token."""
    mine = _P.token_hash == hashed(token), _P.study_id == study.plan.id
    person = conn.execute(select(_P.id, _P.state).where(*mine)).first()
    if person is None or person.state == "revoked":
        raise NotAllowed("this link is not valid, or no longer valid", todo="ask for a new one")
    return begin_session(conn, study, person.id)


def join_from_prolific(conn: Connection, study: OpenStudy, visitor: Visitor) -> str:
    """Start a session for a visitor from Prolific, who is recognised by a pseudonym of their id."""
    plan = study.plan
    if not all(map(PLATFORM_ID.fullmatch, (visitor.person, visitor.study, visitor.session))):
        raise BadInput("these are not Prolific ids", allowed=ALLOWED_ID)
    if not plan.takes_prolific or plan.prolific_study != visitor.study:
        raise NotAllowed(
            "this study does not accept participants from there", todo="check the link"
        )
    pseudonym, session = map(study.keys.pseudonym, (visitor.person, visitor.session))
    known = _P.study_id == plan.id, _P.pseudonym == pseudonym
    person = conn.execute(select(_P.id, _P.state, _P.session_pseudonym).where(*known)).first()
    if person is None:
        return begin_session(conn, study, _admit(conn, study, pseudonym, session))
    if person.state == "revoked":
        raise NotAllowed("you have left this study", todo="")
    if person.session_pseudonym != session:
        raise NotAllowed(
            "you have taken part before", todo="use the link that you received the first time"
        )
    return begin_session(conn, study, person.id)


def _admit(conn: Connection, study: OpenStudy, pseudonym: str, session: str) -> int:
    """Give a new Prolific participant one of the places; excluded people occupy none."""
    plan, listed = study.plan, read_participants(study.folder)
    if listed is not None and pseudonym not in listed:
        raise NotAllowed("you are not on the list of participants", todo="check the link")
    # lock the study's row, so that two people cannot both take the last place
    mine = select(t.study.c.id).where(t.study.c.id == plan.id)
    conn.execute(mine.with_for_update(key_share=True))
    holding = _P.study_id == plan.id, _P.source == "prolific", _P.state != "excluded"
    if conn.execute(select(func.count()).where(*holding)).scalar_one() >= plan.places:
        raise NotAllowed("all places of this study are taken", todo="return your submission")
    new = insert(t.person).values(
        study_id=plan.id, code=_new_code(), source="prolific", made_at=study.clock(),
        pseudonym=pseudonym, session_pseudonym=session,
    )  # fmt: skip
    return int(conn.execute(new.returning(_P.id)).scalar_one())


def not_listed(conn: Connection, study: OpenStudy) -> list[str]:
    """The codes of Prolific participants who are not excluded and not on the list."""
    listed = read_participants(study.folder) or frozenset()
    counting = _P.study_id == study.plan.id, _P.source == "prolific", _P.state != "excluded"
    rows = conn.execute(select(_P.code, _P.pseudonym).where(*counting).order_by(_P.id))
    return [row.code for row in rows if row.pseudonym not in listed]


def _new_code() -> str:
    """A random name, such as `p-k3vq9x2m`, that reveals nothing about the person."""
    return "p-" + "".join(secrets.choice(LETTERS) for _ in range(8))


def find_person(conn: Connection, study: OpenStudy, code: str) -> tuple[int, str]:
    """A person (number and code) by code or Prolific id, locked for this transaction."""
    theirs = (_P.code == code) | (_P.pseudonym == study.keys.pseudonym(code))
    mine = _P.study_id == study.plan.id, theirs
    chosen = select(_P.id, _P.code).where(*mine).with_for_update(key_share=True)
    person = conn.execute(chosen).first()
    if person is None:
        known = select(_P.code).where(_P.study_id == study.plan.id).limit(MOST_NAMED)
        raise UnknownName("person", code, conn.execute(known).scalars())
    return person.id, person.code


def pause(conn: Connection, person: int) -> None:
    """Release a person's tasks to others; they get back what is left when they return."""
    release(conn, person, "expired")


def exclude(conn: Connection, study: OpenStudy, code: str) -> None:
    """Void a person's judgements and ask others instead; their Prolific place becomes free."""
    person, code = find_person(conn, study, code)
    release(conn, person, "lost")
    _state(conn, person, "excluded")
    _recount(conn, study, person, void=True)
    study.record(conn, "excluded", code)


def restore(conn: Connection, study: OpenStudy, code: str) -> None:
    """Undo an exclusion or a revocation."""
    person, code = find_person(conn, study, code)
    _state(conn, person, "active")
    _recount(conn, study, person, void=False)
    study.record(conn, "restored", code)


def revoke(conn: Connection, study: OpenStudy, code: str) -> None:
    """Revoke a person's link and sessions; their judgements stay."""
    person, code = find_person(conn, study, code)
    release(conn, person, "lost")
    _state(conn, person, "revoked")
    end_sessions(conn, study, person)
    study.record(conn, "revoked", code)


def forget(conn: Connection, study: OpenStudy, code: str) -> None:
    """Delete a person and all data about them; others are asked instead."""
    person, code = find_person(conn, study, code)
    release(conn, person, "lost")
    _recount(conn, study, person, void=True)
    conn.execute(delete(t.event).where(t.event.c.study_id == study.plan.id, t.event.c.who == code))
    conn.execute(delete(t.person).where(_P.id == person))
    study.record(conn, "deleted")


def _state(conn: Connection, person: int, state: str) -> None:
    conn.execute(update(t.person).where(_P.id == person).values(state=state))


def _recount(conn: Connection, study: OpenStudy, person: int, void: bool) -> None:
    judged = (
        select(_T.id)
        .join(t.judgement, _J.task_id == _T.id)
        .where(_J.person_id == person, _T.role == "item", _T.state != "void")
        .order_by(_T.id)  # the global locking order of tasks, which prevents deadlocks
    )
    tasks = conn.execute(judged).scalars().all()
    mine = _J.person_id == person, _J.task_id.in_(tasks)
    conn.execute(update(t.judgement).where(*mine).values(void=void))
    for task in tasks:
        reopen(conn, study, task)

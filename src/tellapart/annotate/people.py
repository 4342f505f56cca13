"""Who takes part: people with personal links, and people whom a platform sends."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select, update

from tellapart.annotate.keys import hashed, new_token
from tellapart.annotate.opening import OpenStudy
from tellapart.annotate.seats import NotAllowed
from tellapart.annotate.sessions import begin_session
from tellapart.annotate.store import tables as t
from tellapart.errors import BadInput

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
PLATFORM_ID = re.compile(r"[0-9A-Za-z_-]{8,64}")
MOST = 10_000
"""Links that are made at a time."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """A new person and the token of their link, which is shown once and stored only hashed."""

    code: str
    token: str


@dataclass(frozen=True, slots=True, repr=False)
class Visitor:
    """Someone whom Prolific sends: the three ids in its links."""

    person: str
    study: str
    session: str


def invite(conn: Connection, study: OpenStudy, people: int, label: str = "") -> list[Invitation]:
    """Add people who come by personal links."""
    if not 1 <= people <= MOST:
        raise BadInput(f"{people} people", allowed=f"1 to {MOST:,}")
    made = [Invitation(_new_code(), new_token()) for _ in range(people)]
    rows = [
        {
            **_new(study, one.code, "link"),
            "label": label,
            "token_hash": hashed(one.token),
        }
        for one in made
    ]
    conn.execute(insert(t.person), rows)
    return made


def join(conn: Connection, study: OpenStudy, token: str) -> str:
    """Begin a session of the person whose link this is; returns the session's own token."""
    found = conn.execute(
        select(t.person.c.id, t.person.c.state).where(
            t.person.c.token_hash == hashed(token), t.person.c.study_id == study.plan.id
        )
    ).first()
    if found is None or found.state == "revoked":
        raise NotAllowed("this link does not lead to a study (any more)", todo="ask for a new one")
    return begin_session(conn, study, found.id)


def join_from_prolific(conn: Connection, study: OpenStudy, visitor: Visitor) -> str:
    """Begin a session of someone whom Prolific sends; who comes back is known again.

    Only keyed pseudonyms of their ids are stored.
    """
    plan = study.plan
    if not plan.prolific or (plan.prolific_study and plan.prolific_study != visitor.study):
        raise NotAllowed("this study does not take people from there", todo="check the link")
    if not all(map(PLATFORM_ID.fullmatch, (visitor.person, visitor.study, visitor.session))):
        raise BadInput("these are not ids of Prolific", allowed="8 to 64 letters and digits")
    pseudonym = study.keys.pseudonym(visitor.person)
    known = t.person.c.study_id == plan.id, t.person.c.pseudonym == pseudonym
    found = conn.execute(select(t.person.c.id, t.person.c.state).where(*known)).first()
    if found is not None and found.state == "revoked":
        raise NotAllowed("you have left this study", todo="")
    session = {"session_pseudonym": study.keys.pseudonym(visitor.session)}
    if found is not None:
        conn.execute(update(t.person).where(t.person.c.id == found.id).values(**session))
        return begin_session(conn, study, found.id)
    row = {**_new(study, _new_code(), "prolific"), "pseudonym": pseudonym, **session}
    made = conn.execute(insert(t.person).values(**row).returning(t.person.c.id)).scalar_one()
    return begin_session(conn, study, made)


def _new(study: OpenStudy, code: str, source: str) -> dict[str, Any]:
    return {
        "study_id": study.plan.id,
        "code": code,
        "source": source,
        "made_at": study.clock(),
    }


def _new_code() -> str:
    """A random name, such as `p-k3vq9x2m`, that says nothing about the person."""
    return "p-" + "".join(secrets.choice(LETTERS) for _ in range(8))

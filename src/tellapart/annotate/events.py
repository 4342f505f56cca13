"""What happened to a study beside judgements: corrections, exclusions, deletions."""

from __future__ import annotations

import json

from sqlalchemy import Connection, insert

from tellapart.annotate.opening import OpenStudy
from tellapart.annotate.store import tables as t


def record(
    conn: Connection, study: OpenStudy, what: str, who: str = "", **detail: str | int
) -> None:
    """Write an event down; `who` is a person's code, left out where they are being forgotten."""
    conn.execute(
        insert(t.event).values(
            study_id=study.plan.id,
            at=study.clock(),
            what=what,
            who=who,
            detail=json.dumps(detail),
        )
    )

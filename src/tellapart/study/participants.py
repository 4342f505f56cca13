"""Participants of a platform: their ids there, and the list of those who are admitted.

The list is optional. A study stores it as pseudonyms, so its folder does not reveal who was asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tellapart.errors import BadInput
from tellapart.files import read_json, read_table, read_text, require_columns, suffix, write_json
from tellapart.study.keys import Keys

PLATFORM_ID = re.compile(r"[0-9A-Za-z_-]{8,64}")
ALLOWED_ID = "8 to 64 letters, digits, - and _"
COLUMN = "Participant id"
"""The name of the column in Prolific's exports."""
PARTICIPANTS_FILE = "participants.json"


def read_participant_ids(path: Path) -> tuple[str, ...]:
    """The ids in a text file, one per line, or in the column `Participant id` of a table."""
    if suffix(path) in ("csv", "tsv"):
        table = read_table(path)
        require_columns(table, [COLUMN], path)
        ids = [str(one or "").strip() for one in table[COLUMN]]
    else:
        ids = [line.strip() for line in read_text(path).splitlines()]
    for number, one in enumerate(ids, 1):
        if one and not PLATFORM_ID.fullmatch(one):
            raise BadInput(
                f"{one[:80]!r} is not a participant id",
                where=f"{path}, row {number}",
                allowed=ALLOWED_ID,
            )
    found = tuple(dict.fromkeys(one for one in ids if one))
    if not found:
        raise BadInput(f"{path.name} lists nobody", where=str(path), allowed="one id per line")
    return found


def write_participants(folder: Path, keys: Keys, ids: Iterable[str]) -> None:
    """Admit only these people from now on."""
    write_json(folder / PARTICIPANTS_FILE, sorted(map(keys.pseudonym, ids)))


def read_participants(folder: Path) -> frozenset[str] | None:
    """The pseudonyms of admitted people; None if there is no list."""
    path = folder / PARTICIPANTS_FILE
    if not path.exists():
        return None
    stored = read_json(path)
    if not isinstance(stored, list) or not all(isinstance(one, str) for one in stored):
        raise BadInput(f"{path.name} is damaged", where=str(folder))
    return frozenset(stored)

"""The verb `study participants`: who of a platform may take part."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from tellapart.options import Help
from tellapart.verbs import Verb
from tellapart.verbs.study import Database, Folder, opened


@dataclass(frozen=True, slots=True)
class ParticipantList:
    """How many may take part, and the codes of those who are here and not on the list."""

    allowed: int
    others: tuple[str, ...]
    excluded: bool

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)

    def __str__(self) -> str:
        others = f"; {len(self.others):,} here are not on the list" if self.others else ""
        done = ", and were excluded" if self.others and self.excluded else ""
        return f"{self.allowed:,} people of Prolific may take part{others}{done}"

    def notes(self) -> list[str]:
        """What can be done about the others."""
        if not self.others or self.excluded:
            return []
        return [f"not on the list: {', '.join(self.others)}; --exclude-others voids their answers"]


def allow_participants(
    folder: Folder,
    file: Annotated[
        Path | str, Help("Participants' ids, one a line, or the table that Prolific exports.")
    ],
    *,
    exclude_others: Annotated[
        bool, Help("Void the answers of people of Prolific who are not on the list.")
    ] = False,
    database: Database = "",
) -> ParticipantList:
    """Let in only those people of Prolific whom a file lists."""
    with opened(folder, database) as study:
        from tellapart.study.participants import read_participant_ids, write_participants
        from tellapart.study.people import exclude, not_listed

        ids = read_participant_ids(Path(file))
        write_participants(study.folder, study.keys, ids)

        def job(conn: Any) -> list[str]:
            others = not_listed(conn, study)
            for code in others if exclude_others else ():
                exclude(conn, study, code)
            return others

        others = study.database.submit(job).result()
    return ParticipantList(len(ids), tuple(others), exclude_others)


VERB = Verb(
    allow_participants,
    example="tellapart study participants my-study prolific_export.csv --exclude-others",
    notes=ParticipantList.notes,
)

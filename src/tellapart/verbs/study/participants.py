"""The verb `study participants`: which Prolific participants may take part."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from tellapart.options import Help
from tellapart.verbs import Verb
from tellapart.verbs.study import Database, Folder, opened


@dataclass(frozen=True, slots=True)
class ParticipantList:
    """How many may take part, and the codes of present participants who are not on the list."""

    allowed: int
    others: tuple[str, ...]
    excluded: bool

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)

    def __str__(self) -> str:
        others = f"; {len(self.others):,} who joined are not on the list" if self.others else ""
        done = ", and were excluded" if self.others and self.excluded else ""
        return f"{self.allowed:,} Prolific participants may take part{others}{done}"

    def notes(self) -> list[str]:
        """How to handle people who are not on the list."""
        if not self.others or self.excluded:
            return []
        return [f"not on the list: {', '.join(self.others)}; --exclude-others voids their answers"]


def allow_participants(
    folder: Folder,
    file: Annotated[
        Path | str,
        Help("File of participant ids, one per line, or a table exported from Prolific."),
    ],
    *,
    exclude_others: Annotated[
        bool, Help("Void the answers of Prolific participants who are not on the list.")
    ] = False,
    database: Database = "",
) -> ParticipantList:
    """Admit only the Prolific participants listed in a file."""
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

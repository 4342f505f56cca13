"""The verb `study person`: exclude, restore, revoke or delete a person."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

from tellapart.errors import UnknownName
from tellapart.options import Help
from tellapart.verbs import Verb
from tellapart.verbs.study import Database, Folder, check_installed, in_study


@dataclass(frozen=True, slots=True)
class PersonChange:
    """A change made to a person."""

    person: str
    change: str

    def to_json(self) -> dict[str, str]:
        """For `--json`."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.person}: {self.change}"


def change_person(
    folder: Folder,
    code: Annotated[str, Help("The person's code (see `study people`) or Prolific id.")],
    change: Annotated[str, Help("exclude, restore, revoke or delete.")],
    *,
    database: Database = "",
) -> PersonChange:
    """Exclude or restore a person's judgements, revoke their link, or delete their data."""
    check_installed()
    from tellapart.study import people

    changes = {
        "exclude": people.exclude,
        "restore": people.restore,
        "revoke": people.revoke,
        "delete": people.forget,
    }
    if change not in changes:
        raise UnknownName("change", change, changes)
    in_study(folder, database, lambda conn, study: changes[change](conn, study, code))
    return PersonChange(code, change)


VERB = Verb(change_person, example="tellapart study person my-study p-k3vq9x2m exclude")

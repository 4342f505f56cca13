"""The verb `study invite`: personal links."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

from tellapart.options import Help
from tellapart.verbs import Verb
from tellapart.verbs.study import (
    Database,
    Folder,
    PublicUrl,
    address_of,
    check_installed,
    in_study,
)


@dataclass(frozen=True, slots=True)
class PersonalLink:
    """A new person and their link, which is shown once."""

    person: str
    link: str


@dataclass(frozen=True, slots=True)
class PersonalLinks:
    """The links of new people."""

    links: tuple[PersonalLink, ...]

    def to_json(self) -> list[dict[str, str]]:
        """For `--json`."""
        return [asdict(one) for one in self.links]

    def __str__(self) -> str:
        return "\n".join(f"{one.person}  {one.link}" for one in self.links)


def invite_people(
    folder: Folder,
    *,
    people: Annotated[int, Help("How many links to create.")] = 1,
    label: Annotated[str, Help("Your own note about these people.")] = "",
    public_url: PublicUrl = "",
    database: Database = "",
) -> PersonalLinks:
    """Create personal links; each is shown only once, so save the output."""
    check_installed()
    from tellapart.study.people import invite

    invited = in_study(folder, database, lambda conn, study: invite(conn, study, people, label))
    url = address_of(folder, public_url)
    return PersonalLinks(tuple(PersonalLink(one.code, f"{url}/#{one.token}") for one in invited))


VERB = Verb(invite_people, example="tellapart study invite my-study --people 20")

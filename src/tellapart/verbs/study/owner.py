"""The verb `study owner`: the link to the owner's page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tellapart.options import Help
from tellapart.verbs import Verb
from tellapart.verbs.study import Database, Folder, PublicUrl, address_of, opened


@dataclass(frozen=True, slots=True)
class OwnerLink:
    """The link to the owner's page, and the token with which Prometheus reads metrics."""

    link: str
    metrics: str

    def to_json(self) -> dict[str, str]:
        """For `--json`."""
        return {"owner": self.link, "metrics": self.metrics}

    def __str__(self) -> str:
        return self.link


def owner_link(
    folder: Folder,
    *,
    renew: Annotated[bool, Help("Create a new link; the old one and its sessions end.")] = False,
    public_url: PublicUrl = "",
    database: Database = "",
) -> OwnerLink:
    """Show the link to the owner's page, or replace it with a new one."""
    with opened(folder, database) as study:
        from tellapart.study.keys import renew_owner
        from tellapart.study.sessions import end_sessions

        keys = study.keys
        if renew:
            keys = renew_owner(Path(folder))
            study.database.submit(lambda conn: end_sessions(conn, study, None)).result()
    return OwnerLink(f"{address_of(folder, public_url)}/owner#{keys.owner}", keys.metrics)


VERB = Verb(owner_link, example="tellapart study owner my-study --renew")

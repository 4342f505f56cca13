"""The schema's versions: each step takes a database from one to the next, in one transaction."""

from __future__ import annotations

from sqlalchemy import Connection, inspect, insert, select

from tellapart.annotate.store import tables as t
from tellapart.errors import BadInput

LATEST = 1


def migrate(connection: Connection) -> None:
    """Bring a database to the latest version; an empty one is filled with tables."""
    if not inspect(connection).has_table("schema_version"):
        t.metadata.create_all(connection)
        connection.execute(insert(t.schema_version).values(version=LATEST))
    version = connection.execute(select(t.schema_version.c.version)).scalar_one()
    if version > LATEST:
        raise BadInput(
            f"the database is of version {version}",
            allowed=f"up to {LATEST}",
            todo="use the version of tellapart that made it, or a newer one",
        )

"""Changes that belong together: one statement on PostgreSQL, one after the other on SQLite.

Every statement is a journey to PostgreSQL's server and back, which costs more than what it does
there; SQLite has no such journey, and cannot change several tables in one statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import BindParameter, Column, Connection, Executable, bindparam


def new(column: Column[Any]) -> BindParameter[Any]:
    """A parameter for a column's value, `_name`: one called as a column would set that column."""
    return bindparam(f"_{column.name}", type_=column.type)


@dataclass(frozen=True, slots=True)
class Steps:
    """The first step returns a row or finds nothing to change; then the others do not happen.

    On PostgreSQL they may have happened all the same, where the first is not their condition: the
    caller gives the transaction up.
    """

    sqlite: tuple[Executable, ...]
    postgresql: Executable

    def run(self, conn: Connection, values: Mapping[str, Any]) -> Any:
        """The row of the first step; None where it found nothing."""
        if conn.dialect.name == "postgresql":
            return conn.execute(self.postgresql, dict(values)).first()
        first, *others = self.sqlite
        row = conn.execute(first, dict(values)).first()
        if row is not None:
            for step in others:
                conn.execute(step, dict(values))
        return row

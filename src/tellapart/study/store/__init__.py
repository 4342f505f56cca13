"""The database of a study's people, tasks and judgements: SQLite, or PostgreSQL by URL."""

from tellapart.errors import TellapartError

try:
    import sqlalchemy as _sqlalchemy  # noqa: F401
except ImportError as error:
    raise TellapartError(
        f"studies need the package {error.name!r}, which is not installed",
        todo="pip install 'tellapart[study]'",
    ) from error

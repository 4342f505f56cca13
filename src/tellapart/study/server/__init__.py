"""The study's server: pages for annotators and the owner, and their JSON API."""

from tellapart.errors import TellapartError

try:
    import fastapi as _fastapi  # noqa: F401
    import uvicorn as _uvicorn  # noqa: F401
except ImportError as error:
    raise TellapartError(
        f"the study's server needs the package {error.name!r}, which is not installed",
        todo="pip install 'tellapart[study]'",
    ) from error

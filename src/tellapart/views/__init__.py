"""Views: what models got wrong, item by item, in a browser on this machine.

`library` finds benchmarks and runs, `sheet` has one benchmark's outcomes as columns, `query`
filters and sorts them, `app` serves the page in `static/`.
"""

from tellapart.errors import TellapartError

try:
    import fastapi as _fastapi  # noqa: F401
    import uvicorn as _uvicorn  # noqa: F401
except ImportError as error:
    raise TellapartError(
        f"a view needs the package {error.name!r}, which is not installed",
        todo="pip install 'tellapart[view]'",
    ) from error

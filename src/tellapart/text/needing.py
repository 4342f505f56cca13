"""Packages that only some ways of handling text need, imported when they are needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tellapart.errors import TellapartError


def need(module: str, extra: str, what: str) -> Any:
    """A module of an optional package; says what needs it and which extra brings it.

    >>> need("json", "text", "this").dumps([1])
    '[1]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        missing = error.name or module
        raise TellapartError(
            f"{what} needs the package {missing!r}, which is not installed",
            todo=f"pip install 'tellapart[{extra}]'",
        ) from error

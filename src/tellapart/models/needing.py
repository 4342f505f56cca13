"""Packages that only some models need: imported when such a model is made, with a clear error."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tellapart.errors import TellapartError


def need(module: str, extra: str) -> Any:
    """A module of an optional package; says which extra of tellapart brings it.

    >>> need("json", "models").dumps([1])
    '[1]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        missing = error.name or module
        raise TellapartError(
            f"this model needs the package {missing!r}, which is not installed",
            todo=f"pip install 'tellapart[{extra}]'",
        ) from error

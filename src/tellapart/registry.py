"""Looks up objects by name: built-ins and plugins, both through entry points.

A plugin adds a model, measure, builder or corpus reader by naming one object in its
`pyproject.toml`; this package registers its built-ins in the same way:

    [project.entry-points."tellapart.models"]
    mine = "my_package.my_module:MyModel"
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from tellapart.errors import BadInput, TellapartError, UnknownName


@dataclass(frozen=True, slots=True)
class Registry:
    """All objects of one type by name, imported only when requested."""

    group: str
    noun: str
    plural: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "plural", self.plural or f"{self.noun}s")

    def names(self) -> list[str]:
        """All installed names, sorted."""
        return sorted(_found(self.group))

    def get(self, name: str) -> Any:
        """An object by its name; the error for an unknown name suggests similar ones."""
        points = _found(self.group)
        if name not in points:
            raise UnknownName(
                self.noun, name, points, todo=f"list them with: tellapart list {self.plural}"
            )
        try:
            return points[name].load()
        except ImportError as error:
            raise TellapartError(
                f"the {self.noun} {name!r} needs a package that is not installed: {error.name}",
                todo="install it, or the extra of tellapart that includes it (see the README)",
            ) from error

    def describe(self, name: str) -> str:
        """The first line of the object's docstring or `about`."""
        found = self.get(name)
        doc = (found.__doc__ or "") if callable(found) else getattr(found, "about", "")
        return doc.strip().splitlines()[0] if doc.strip() else ""


def read_options(
    owner: str, texts: Iterable[tuple[str, str]], defaults: Mapping[str, Any], where: str
) -> dict[str, Any]:
    """Options of a model or metric, converted from text to the types of their defaults.

    >>> read_options("oracle", [("error", "0.2")], {"error": 0.0, "seed": 0}, "oracle?error=0.2")
    {'error': 0.2}
    """
    options: dict[str, Any] = {}
    for name, text in texts:
        if name not in defaults:
            error = UnknownName(f"option of {owner}", name, defaults)
            error.where = where
            raise error
        options[name] = _convert(name, text, defaults[name], where)
    return options


def _convert(name: str, text: str, default: Any, where: str) -> Any:
    if isinstance(default, bool):
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        raise BadInput(f"{name}={text} is neither true nor false", where=where)
    try:
        return type(default)(text) if isinstance(default, int | float) else text
    except ValueError:
        raise BadInput(
            f"{name}={text} is not a number", where=where, allowed=f"such as {name}={default}"
        ) from None


@cache
def _found(group: str) -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=group)}


models = Registry("tellapart.models", "model")
measures = Registry("tellapart.measures", "measure")
builders = Registry("tellapart.builders", "builder")
readers = Registry("tellapart.readers", "reader")
importers = Registry("tellapart.importers", "importer")
caption_metrics = Registry("tellapart.caption_metrics", "caption-metric")
questions = Registry("tellapart.questions", "question")
backbones = Registry("tellapart.backbones", "backbone")
systems = Registry("tellapart.systems", "system")
tasks = Registry("tellapart.tasks", "task")
analyses = Registry("tellapart.analyses", "analysis", "analyses")
makers = Registry("tellapart.makers", "maker")

REGISTRIES = (
    models,
    measures,
    builders,
    importers,
    readers,
    caption_metrics,
    questions,
    backbones,
    systems,
    tasks,
    analyses,
    makers,
)
"""All registries, in the order of `tellapart list`."""

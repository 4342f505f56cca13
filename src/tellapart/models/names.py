"""Model strings: `name`, `name:rest`, `name:rest?option=value&option=value`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from tellapart import registry
from tellapart.errors import BadInput
from tellapart.models.model import ModelInfo


@dataclass(frozen=True, slots=True)
class ModelName:
    """A parsed model string.

    >>> str(ModelName.parse("oracle?seed=1&error=0.2"))
    'oracle?error=0.2&seed=1'
    """

    scheme: str
    rest: str = ""
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> ModelName:
        """Parse a model string; options are sorted by name."""
        head, _, query = text.partition("?")
        scheme, _, rest = head.partition(":")
        options = tuple(sorted(parse_qsl(query, keep_blank_values=True)))
        names = [name for name, _ in options]
        if len(set(names)) < len(names):
            raise BadInput(f"an option is given twice in {text!r}", todo="give it once")
        return cls(scheme, rest, options)

    def __str__(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.options)
        return self.scheme + (f":{self.rest}" if self.rest else "") + (f"?{query}" if query else "")


def load(text: str) -> Any:
    """The model that a string names, with its options converted and checked.

    A factory gets the part after the colon as its first positional argument (if it has one) and the
    options as keyword arguments with defaults.
    """
    name = ModelName.parse(text)
    return build(name, registry.models.get(name.scheme))


def build(name: ModelName, factory: Callable[..., Any]) -> Any:
    """The model that a factory makes from a model string."""
    return factory_object(name, factory, registry.models)


def factory_object(name: ModelName, factory: Callable[..., Any], known: registry.Registry) -> Any:
    """The object that a factory makes from a string; errors use the noun of `known`."""
    positional, defaults = _parameters(factory)
    options = registry.read_options(name.scheme, name.options, defaults, str(name))
    if positional and not name.rest:
        raise BadInput(
            f"{name.scheme!r} alone does not name a {known.noun}",
            allowed=f"{name.scheme}:{positional[0].upper()}",
            todo=f"see: tellapart list {known.plural}",
        )
    if name.rest and not positional:
        raise BadInput(
            f"{name.scheme!r} takes nothing after the colon, but got {name.rest!r}",
            allowed=name.scheme,
        )
    return factory(name.rest, **options) if positional else factory(**options)


def canonical(
    scheme: str,
    options: Mapping[str, Any],
    rest: str = "",
    factory: Callable[..., Any] | None = None,
) -> str:
    """The string that rebuilds a model: the options that differ from their defaults, sorted.

    `factory` makes it, if that is not the model registered under the name.

    >>> canonical("oracle", {"error": 0.2, "seed": 0})
    'oracle?error=0.2'
    """
    _, defaults = _parameters(factory or registry.models.get(scheme))
    changed = [
        (name, str(value).lower() if isinstance(value, bool) else str(value))
        for name, value in options.items()
        if name not in defaults or value != defaults[name]
    ]
    return str(ModelName(scheme, rest, tuple(sorted(changed))))


def plain_info(scheme: str, **options: Any) -> ModelInfo:
    """The record of a model without weights."""
    return ModelInfo(canonical(scheme, options), options)


def _parameters(factory: Callable[..., Any]) -> tuple[list[str], dict[str, Any]]:
    """The names of a factory's positional parameters, and its options with their defaults."""
    parameters = inspect.signature(factory).parameters.values()
    positional = [
        p.name for p in parameters if p.default is p.empty and p.kind is not p.KEYWORD_ONLY
    ]
    return positional, {p.name: p.default for p in parameters if p.default is not p.empty}

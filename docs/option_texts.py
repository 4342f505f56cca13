"""For the reference of Python: what an option is for, beside its name, type and default.

Read by mkdocstrings. An option's help is said once, as `Annotated[int, Help("...")]`; a page that
printed annotations as they are would show that, and not what people want to read.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

import griffe

import tellapart as ta
from tellapart.cli.commands import Parameter, parameters_of_class, parameters_of_function


def type_text(kind: Any) -> str:
    """A type as it is written, without the modules that its parts come from."""
    text = kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind)
    return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text.replace("NoneType", "None"))


def public_objects(package: griffe.Module) -> Iterator[tuple[Any, griffe.Object]]:
    """Functions and classes that the package makes public, with where they were read."""
    for name in ta.__all__:
        found = getattr(ta, name)
        if inspect.isfunction(found) or inspect.isclass(found):
            inside = f"{found.__module__}.{found.__qualname__}".partition(".")[2]
            yield found, package[inside]


class OptionTexts(griffe.Extension):
    """Writes options' helps into docstrings and their types into signatures."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Go through all that is public, once everything is read."""
        if pkg.name != "tellapart":
            return
        for found, read in public_objects(pkg):
            if inspect.isfunction(found):
                told = list(parameters_of_function(found))
                owners = [read.parameters]
            elif is_dataclass(found):
                told = list(parameters_of_class(found))
                owners = [
                    pkg[f"{one.__module__}.{one.__qualname__}".partition(".")[2]].members
                    for one in found.__mro__
                    if one.__module__.startswith("tellapart")
                ]
            else:
                continue
            self.write(read, told, owners)

    def write(self, read: griffe.Object, told: list[Parameter], owners: list[Any]) -> None:
        """Types where the parameters are declared, texts at the end of the docstring."""
        for one in told:
            for owner in owners:
                if one.name in owner:
                    owner[one.name].annotation = type_text(one.type)
        if told and read.docstring is not None:
            lines = "\n".join(f"    {one.name}: {one.help.text}" for one in told)
            read.docstring.value += f"\n\nArgs:\n{lines}\n"

"""What a verb can be told on the command line, read off its function and its options.

Annotations are read one by one: a type that is only imported for the type checker stands for
itself, and nothing heavy is imported to understand it.
"""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ForwardRef, Union, get_args, get_origin

from tellapart.errors import BadInput, UnknownName
from tellapart.options import Help
from tellapart.verbs.verb import Verb

REQUIRED: Any = inspect.Parameter.empty
CALL, OPTIONS, FLAGS = "call", "options", "flags"
GIVEN_BY_PROGRAM = ("progress", "ready")


USUAL = {**vars(builtins), "Path": Path, "Sequence": Sequence}
"""Known in every module: a type that several verbs share is written as text in one of them."""


class Unloaded:
    """Stands for a type that is not imported at run time."""

    def __class_getitem__(cls, item: Any) -> type:
        return cls


class _Names(dict[str, Any]):
    """The names of a module; one that is only there for the type checker is `Unloaded`."""

    def __missing__(self, name: str) -> Any:
        return USUAL.get(name, Unloaded)


def evaluate_annotation(annotation: Any, module: str) -> Any:
    """An annotation as an object; `module` is where it was written."""
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return annotation
    return eval(annotation, {}, _Names(vars(sys.modules[module])))


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something that a command can be told.

    `goes_to` says what it becomes a part of: the call itself, the verb's options, or its flags.
    """

    name: str
    type: Any
    help: Help
    default: Any
    goes_to: str
    argument: bool

    @property
    def members(self) -> tuple[Any, ...]:
        """The types that are allowed, without None."""
        union = get_origin(self.type) in (Union, UnionType)
        members = get_args(self.type) if union else (self.type,)
        return tuple(one for one in members if one is not NoneType)

    @property
    def element(self) -> Any:
        """The type of one of several values; None where there is one value."""
        for member in self.members:
            origin = get_origin(member)
            if isinstance(origin, type) and issubclass(origin, Sequence | frozenset):
                return get_args(member)[0]
        return None

    @property
    def key(self) -> str:
        """A name that no other parameter of the command has."""
        return self.name if self.goes_to == CALL else f"{self.goes_to}_{self.name}"

    @property
    def flag(self) -> str:
        """The flag, with the one that turns it off where it is on by default."""
        flag = self.help.flag or f"--{self.name.replace('_', '-')}"
        if self.type is bool and self.default is True and not self.turns_off and "/" not in flag:
            return f"{flag}/--no-{flag[2:]}"
        return flag

    @property
    def turns_off(self) -> bool:
        """Whether it is a switch that can only be turned off, such as `--no-cache`."""
        return self.type is bool and self.default is True and self.help.flag.startswith("--no-")

    @property
    def many(self) -> bool:
        """Whether it is given again and again, or as words that follow each other."""
        return self.help.repeat or (self.element is not None and self.argument)

    @property
    def spreads(self) -> bool:
        """Whether its flag takes all words up to the next flag."""
        return not self.argument and self.help.metavar.endswith("...")

    def scalar(self) -> type:
        """The type of one value on the command line: bool, int, float, Path or str."""
        if self.element is not None and not self.many and not self.spreads:
            return str  # separated by commas
        for kind in (bool, int, float):
            if kind in self.members:
                return kind
        plain = {Path, str, Any}
        nouns = [m for m in self.members if m not in plain and m is not frozenset[str]]
        nouns = [m for m in nouns if get_origin(m) is None]
        return Path if Path in self.members and not (nouns and str in self.members) else str

    def value(self, given: Any) -> Any:
        """What the verb gets for what was given on the command line."""
        if self.turns_off:
            return not given
        if is_dataclass(self.type):
            return self._record(given or ())
        if self.many or self.spreads:
            return list(given) if given else self._nothing()
        if self.element is None or not isinstance(given, str):
            return given
        if given == default_text(self.default):
            return self.default
        return tuple(self._numbers(given) if self.element in (int, float) else split(given))

    def _nothing(self) -> Any:
        return () if self.default is REQUIRED else self.default

    def _numbers(self, text: str) -> Iterator[float]:
        kind = self.element
        for part in split(text):
            first, dash, last = part.partition("-")
            try:
                if dash and kind is int and first:
                    yield from range(int(first), int(last) + 1)
                else:
                    yield kind(part)
            except ValueError:
                raise BadInput(
                    f"{self.flag} {text}: {part!r} is not a {'whole ' * (kind is int)}number",
                    allowed=f"{'whole ' * (kind is int)}numbers, separated by commas",
                ) from None

    def _record(self, given: Sequence[str]) -> Any:
        """A dataclass from texts such as `caption=foil`."""
        known = {field.name for field in fields(self.type)}
        values: dict[str, str] = {}
        for text in given:
            ours, mark, theirs = text.partition("=")
            if not mark or not theirs:
                raise BadInput(
                    f"{self.flag} {text!r} does not say which is which",
                    allowed=f"OURS=YOURS, such as {self.flag} {sorted(known)[0]}=mine",
                )
            if ours not in known:
                raise UnknownName(self.flag.lstrip("-"), ours, known)
            values[ours] = theirs
        return self.type(**values)


def split(text: str) -> list[str]:
    """The names in a text that are separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def default_text(default: Any) -> str:
    """Several values as they would be given."""
    return ",".join(map(str, default)) if isinstance(default, Sequence) else ""


def parameters(verb: Verb) -> list[Parameter]:
    """All that a verb can be told, in the order of the help."""
    found = list(_of_call(verb))
    if verb.flags is not None:
        found += _of_dataclass(verb.flags, FLAGS)
    return sorted(found, key=lambda one: (not one.argument, not one.help.first, one.help.last))


def options_class(verb: Verb) -> type | None:
    """The dataclass of a verb's options."""
    parameter = inspect.signature(verb.function).parameters.get("options")
    return None if parameter is None else type(parameter.default)


def _of_call(verb: Verb) -> Iterator[Parameter]:
    module = verb.function.__module__
    for name, one in inspect.signature(verb.function).parameters.items():
        if name == "options":
            yield from _of_dataclass(type(one.default), OPTIONS)
            continue
        known = _annotated(one.annotation, module)
        if known is None or name in GIVEN_BY_PROGRAM:
            continue
        kind, said = known
        positional = one.kind is not inspect.Parameter.KEYWORD_ONLY and not said.flag
        yield Parameter(name, kind, said, one.default, CALL, positional)


def _of_dataclass(owner: type, goes_to: str) -> Iterator[Parameter]:
    for field in fields(owner):
        known = _annotated(field.type, _module_of(field, owner))
        if known is not None:
            kind, said = known
            yield Parameter(field.name, kind, said, _default(field), goes_to, False)


def _module_of(field: Field[Any], owner: type) -> str:
    """The module of the class that declares a field; options inherit from one another."""
    for one in owner.__mro__:
        if field.name in vars(one).get("__annotations__", {}):
            return one.__module__
    raise AssertionError(f"{owner.__name__} has no field {field.name}")


def _default(field: Field[Any]) -> Any:
    if field.default is not MISSING:
        return field.default
    return REQUIRED if field.default_factory is MISSING else field.default_factory()


def _annotated(annotation: Any, module: str) -> tuple[Any, Help] | None:
    """The type and the help of what is annotated with `Help`."""
    found = evaluate_annotation(annotation, module)
    if get_origin(found) is not Annotated:
        return None
    kind, *more = get_args(found)
    said = next((one for one in more if isinstance(one, Help)), None)
    return None if said is None else (evaluate_annotation(kind, module), said)

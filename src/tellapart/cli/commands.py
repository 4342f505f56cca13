"""Verbs become commands: what they can be told, how they are run, what is printed.

What a verb can be told is read off its function and its options. Annotations are read one by one: a
type that is only imported for the type checker stands for itself, so that nothing heavy is imported
to understand it.
"""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, ForwardRef, Union, get_args, get_origin

import typer
from typer.core import TyperCommand

from tellapart.cli.output import emit, note, progress_bars, stoppable
from tellapart.errors import BadInput, UnknownName
from tellapart.options import Help
from tellapart.verbs import Verb

REQUIRED: Any = inspect.Parameter.empty
CALL, OPTIONS, FLAGS = "call", "options", "flags"
GIVEN_BY_PROGRAM = ("progress", "ready")
ALIAS = "older_name_of_"
JSON = typer.Option("--json", help="Print JSON instead of text.")
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
            if isinstance(origin, type) and issubclass(origin, Sequence):
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
        nouns = [m for m in self.members if m not in (Path, str, Any) and get_origin(m) is None]
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
                    f"{self.flag} {text!r} does not say which column is which",
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


def command_of(name: str, verb: Verb) -> Any:
    """The command of a verb."""
    known = parameters(verb)

    def run(**given: Any) -> None:
        as_json = given.pop("as_json")
        for one in known:
            older = given.pop(ALIAS + one.key, None)
            if older is not None:
                given[one.key] = older
        _Call(verb, known, given).run(as_json)

    signature = [p for one in known for p in _typer_parameters(one)]
    signature.append(_parameter("as_json", Annotated[bool, JSON], False))
    run.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in signature}
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    spread = {one.flag for one in known if one.spreads}
    app.command(
        name,
        cls=spreading(spread) if spread else None,
        help=command_help(verb),
        epilog=f"Example: {verb.example}",
    )(run)
    return typer.main.get_command(app)


def command_help(verb: Verb) -> str:
    """The function's docstring up to what it says of Python."""
    text = inspect.getdoc(verb.function) or ""
    return text.split("\n\nIn Python", maxsplit=1)[0]


class _Call:
    """A verb with all that it was told."""

    def __init__(self, verb: Verb, known: list[Parameter], given: dict[str, Any]) -> None:
        parts: dict[str, dict[str, Any]] = {CALL: {}, OPTIONS: {}, FLAGS: {}}
        for one in known:
            parts[one.goes_to][one.name] = one.value(given[one.key])
        self.verb, self.arguments = verb, parts[CALL]
        options = options_class(verb)
        if options is not None:
            self.arguments["options"] = options(**parts[OPTIONS])
        self.given = SimpleNamespace(**self.arguments, **parts[FLAGS])

    def run(self, as_json: bool) -> None:
        """Call the function and print what comes out."""
        takes = inspect.signature(self.verb.function).parameters
        extra: dict[str, Any] = {}
        if "ready" in takes:
            extra["ready"] = lambda result: self._print(result, as_json)
        with ExitStack() as stack:
            if self.verb.resumes:
                stack.enter_context(stoppable())
            if "progress" in takes:
                extra["progress"] = stack.enter_context(progress_bars())
            result = self.verb.function(**self.arguments, **extra)
        if "ready" not in takes:
            self._print(result, as_json)
            code = self._tell(self.verb.code, result)
            if code:
                raise typer.Exit(code)

    def _print(self, result: Any, as_json: bool) -> None:
        for line in self._tell(self.verb.notes, result):
            note(line)
        # What is not asked for is not computed: some texts and JSON take long.
        value = self._tell(self.verb.json, result) if as_json else None
        emit(value, "" if as_json else self._tell(self.verb.text, result), as_json)

    def _tell(self, how: Callable[..., Any], result: Any) -> Any:
        if how is str:
            return str(result)
        two = len(inspect.signature(how).parameters) > 1
        return how(result, self.given) if two else how(result)


def _typer_parameters(one: Parameter) -> list[inspect.Parameter]:
    kind: Any = one.scalar()
    default = one.default
    if one.many or one.spreads:
        kind = list[kind] if default is REQUIRED else list[kind] | None
        default = REQUIRED if default is REQUIRED else None
    elif one.element is not None and default is not REQUIRED:
        default = default_text(default)
    elif one.turns_off:
        default = False
    elif default is None:
        kind = kind | None
    metavar = one.help.metavar or (
        f"<{one.scalar().__name__.lower()}>" if one.help.repeat else None
    )
    if one.argument:
        info: Any = typer.Argument(help=one.help.text, metavar=metavar)
        return [_parameter(one.key, Annotated[kind, info], default)]
    info = typer.Option(one.flag, help=one.help.text, metavar=metavar)
    found = [_parameter(one.key, Annotated[kind, info], default)]
    if one.help.alias:
        older = typer.Option(one.help.alias, hidden=True)
        found.append(_parameter(ALIAS + one.key, Annotated[kind | None, older], None))
    return found


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, annotation=annotation, default=default)


def spreading(flags: set[str]) -> type[TyperCommand]:
    """A command with flags that take all that stands between them and the next one."""

    class Spreading(TyperCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            return super().parse_args(ctx, spread(args, flags))

    return Spreading


def spread(args: list[str], flags: set[str]) -> list[str]:
    """Arguments with the flag before each of the words that follow one, which Click understands.

    >>> spread(["aro", "--from", "a.json", "b.json", "--json"], {"--from"})
    ['aro', '--from', 'a.json', '--from', 'b.json', '--json']
    """
    words: list[str] = []
    inside = ""
    for argument in args:
        option = argument.startswith("-")
        if inside and not option and words[-1] != inside:
            words.append(inside)
        inside = argument if argument in flags else "" if option else inside
        words.append(argument)
    return words

"""Turn verbs into commands: their parameters, how they are run, what is printed.

Parameters are derived from a verb's function and its options. Annotations are evaluated one by
one: a type imported only for the type checker is replaced by a placeholder, so that nothing heavy
has to be imported.
"""

from __future__ import annotations

import builtins
import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, ForwardRef, Union, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from tellapart.cli.output import (
    emit,
    log_as_notes,
    note,
    progress_bars,
    stoppable,
    warnings_as_notes,
)
from tellapart.errors import BadImage, BadInput, PartDone, UnknownName
from tellapart.options import Help
from tellapart.remote import placed_arguments
from tellapart.verbs import Verb

REQUIRED: Any = inspect.Parameter.empty
CALL, OPTIONS, FLAGS = "call", "options", "flags"
GIVEN_BY_PROGRAM = ("progress", "ready")
ALIAS = "older_name_of_"
JSON = typer.Option("--json", help="Print JSON instead of text.")
USUAL = {**vars(builtins), "Path": Path, "Sequence": Sequence}
"""Names known in every module, for shared types that are written as text."""


class Unloaded:
    """Placeholder for a type that is not imported at run time."""

    def __class_getitem__(cls, item: Any) -> type:
        return cls


class _Names(dict[str, Any]):
    """The names of a module; one defined only for the type checker is `Unloaded`."""

    def __missing__(self, name: str) -> Any:
        return USUAL.get(name, Unloaded)


def evaluate_annotation(annotation: Any, module: str) -> Any:
    """Evaluate an annotation; `module` is where it was written."""
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return annotation
    holder = type("Holder", (), {"__annotations__": {"value": annotation}, "__module__": module})
    names = _Names(vars(sys.modules[module]))
    return get_type_hints(holder, localns=names, include_extras=True)["value"]


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument or a flag of a command.

    `goes_to` says where its value is passed: to the call itself, the verb's options, or its flags.
    """

    name: str
    type: Any
    help: Help
    default: Any
    goes_to: str
    argument: bool

    @property
    def members(self) -> tuple[Any, ...]:
        """The allowed types, without None."""
        union = get_origin(self.type) in (Union, UnionType)
        members = get_args(self.type) if union else (self.type,)
        return tuple(one for one in members if one is not NoneType)

    @property
    def element(self) -> Any:
        """The element type if there are several values, else None."""
        for member in self.members:
            origin = get_origin(member)
            if isinstance(origin, type) and issubclass(origin, Sequence):
                return get_args(member)[0]
        return None

    @property
    def key(self) -> str:
        """A name that is unique within the command."""
        return self.name if self.goes_to == CALL else f"{self.goes_to}_{self.name}"

    @property
    def flag(self) -> str:
        """The flag, with its negation if it is on by default."""
        flag = self.help.flag or f"--{self.name.replace('_', '-')}"
        if self.type is bool and self.default is True and not self.turns_off and "/" not in flag:
            return f"{flag}/--no-{flag[2:]}"
        return flag

    @property
    def about(self) -> str:
        """Its help; the values it may have are added where the text does not name them all."""
        allowed = [choice for choice in self.help.choices if choice]
        words = set(re.findall(r"[\w-]+", self.help.text))
        missing = not words.issuperset(allowed)
        return f"{self.help.text} One of: {', '.join(allowed)}." if missing else self.help.text

    @property
    def turns_off(self) -> bool:
        """Whether this switch can only be turned off, such as `--no-cache`."""
        return self.type is bool and self.default is True and self.help.flag.startswith("--no-")

    @property
    def many(self) -> bool:
        """Whether it may be repeated, or takes several words in a row."""
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
        """The value passed to the verb, converted from the command line."""
        if self.turns_off:
            return not given
        if is_dataclass(self.type):
            return self._record(given or ())
        if self.many or self.spreads:
            return list(given) if given else () if self.default is REQUIRED else self.default
        if self.element is None or not isinstance(given, str):
            return given
        if given == default_text(self.default):
            return self.default
        return tuple(self._numbers(given) if self.element in (int, float) else split(given))

    def _numbers(self, text: str) -> Iterator[float]:
        kind = self.element
        number = "whole number" if kind is int else "number"
        for part in split(text):
            first, dash, last = part.partition("-")
            try:
                if dash and kind is int and first:
                    yield from range(int(first), int(last) + 1)
                else:
                    yield kind(part)
            except ValueError:
                problem = f"{self.flag} {text}: {part!r} is not a {number}"
                raise BadInput(problem, allowed=f"{number}s, separated by commas") from None

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
    """The comma-separated names in a text."""
    return [name.strip() for name in text.split(",") if name.strip()]


def default_text(default: Any) -> str:
    """Several default values as written on the command line."""
    return ",".join(map(str, default)) if isinstance(default, Sequence) else ""


def parameters(verb: Verb) -> list[Parameter]:
    """All parameters of a verb's command, in the order of the help."""
    every = list(_of_call(verb))
    if verb.flags is not None:
        every += parameters_of_class(verb.flags, FLAGS)
    return sorted(every, key=lambda one: (not one.argument, not one.help.first, one.help.last))


def _of_call(verb: Verb) -> Iterator[Parameter]:
    known = {one.name: one for one in parameters_of_function(verb.function)}
    for name, one in inspect.signature(verb.function).parameters.items():
        if name == "options":
            yield from parameters_of_class(type(one.default), OPTIONS)
        elif name in known:
            yield known[name]


def parameters_of_function(function: Callable[..., Any]) -> Iterator[Parameter]:
    """The parameters of a function that have a `Help`."""
    for name, one in inspect.signature(function).parameters.items():
        known = _annotated(one.annotation, function.__module__)
        if known is None or name in GIVEN_BY_PROGRAM:
            continue
        kind, help_ = known
        positional = one.kind is not inspect.Parameter.KEYWORD_ONLY and not help_.flag
        yield Parameter(name, kind, help_, one.default, CALL, positional)


def parameters_of_class(owner: type, goes_to: str = OPTIONS) -> Iterator[Parameter]:
    """The fields of a dataclass that have a `Help`, including inherited ones."""
    for field in fields(owner):
        # options inherit from one another: evaluate the annotation in the declaring module
        declares = next(o for o in owner.__mro__ if field.name in inspect.get_annotations(o))
        known = _annotated(field.type, declares.__module__)
        if known is not None:
            default = field.default
            if default is MISSING:
                factory = field.default_factory
                default = REQUIRED if factory is MISSING else factory()
            yield Parameter(field.name, *known, default, goes_to, False)


def _annotated(annotation: Any, module: str) -> tuple[Any, Help] | None:
    """The type and the `Help` of an annotation; None if it has no `Help`."""
    annotated = evaluate_annotation(annotation, module)
    if get_origin(annotated) is not Annotated:
        return None
    kind, *more = get_args(annotated)
    help_ = next((one for one in more if isinstance(one, Help)), None)
    return None if help_ is None else (evaluate_annotation(kind, module), help_)


def command_of(name: str, verb: Verb) -> Any:
    """The command of a verb."""
    known = parameters(verb)

    def run(as_json: bool, **values: Any) -> None:
        for one in known:
            older = values.pop(ALIAS + one.key, None)
            if older is not None:
                values[one.key] = older
        _call(verb, known, values, as_json)

    signature = [p for one in known for p in _typer_parameters(one)]
    signature.append(_parameter("as_json", Annotated[bool, JSON], False))
    run.__signature__ = inspect.Signature(signature)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in signature}
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    spread = {one.flag for one in known if one.spreads}
    help_ = (inspect.getdoc(verb.function) or "").partition("\n\nIn Python")[0]
    cls = spreading(spread) if spread else PlainCommand
    app.command(name, cls=cls, help=help_, epilog=f"Example: {verb.example}")(run)
    return typer.main.get_command(app)


def _call(verb: Verb, known: list[Parameter], values: dict[str, Any], as_json: bool) -> None:
    """Call a verb's function and print the result."""
    parts: dict[str, dict[str, Any]] = {CALL: {}, OPTIONS: {}, FLAGS: {}}
    for one in known:
        parts[one.goes_to][one.name] = one.value(values[one.key])
    takes = inspect.signature(verb.function).parameters
    arguments = parts[CALL]
    if "options" in takes:
        arguments["options"] = type(takes["options"].default)(**parts[OPTIONS])
    arguments = parts[CALL] = placed_arguments(verb.function, arguments)
    given = SimpleNamespace(**arguments, **parts[FLAGS])

    def show(result: Any) -> None:
        for line in _tell(verb.notes, result, given):
            note(line)
        # Compute only the requested form: some texts and JSON take long.
        emit(_tell(verb.json if as_json else verb.text, result, given), as_json)

    with ExitStack() as stack:
        stack.enter_context(log_as_notes())
        stack.enter_context(_own_remedies(known))
        if "ready" not in takes:  # a server's warnings are not kept until it stops
            stack.enter_context(warnings_as_notes())
        if verb.resumes:
            stack.enter_context(stoppable())
        if "progress" in takes:
            arguments["progress"] = stack.enter_context(progress_bars())
        if "ready" in takes:
            verb.function(**arguments, ready=show)
            return
        try:
            result = verb.function(**arguments)
        except PartDone as part:  # not a failure: other processes do the rest
            emit(part.to_json() if as_json else str(part), as_json)
            return
    show(result)
    code = _tell(verb.code, result, given)
    if code:
        raise typer.Exit(code)


@contextmanager
def _own_remedies(known: list[Parameter]) -> Iterator[None]:
    """A broken picture is not to be skipped by a flag that the command does not have."""
    try:
        yield
    except BadImage as error:
        if "--skip-bad" in error.todo and all(one.flag != "--skip-bad" for one in known):
            error.todo = "get the file again, or leave it out"
        raise


def _tell(how: Callable[..., Any], result: Any, given: SimpleNamespace) -> Any:
    if how is str:
        return str(result)
    return how(result, given) if len(inspect.signature(how).parameters) > 1 else how(result)


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
        name = one.help.metavar or one.name.upper()
        info: Any = typer.Argument(help=one.about, metavar=name)
        return [_parameter(one.key, Annotated[kind, info], default)]
    info = typer.Option(one.flag, help=one.about, metavar=metavar)
    options = [_parameter(one.key, Annotated[kind, info], default)]
    if one.help.alias:
        older = typer.Option(one.help.alias, hidden=True)
        options.append(_parameter(ALIAS + one.key, Annotated[kind | None, older], None))
    return options


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, annotation=annotation, default=default)


class PlainCommand(TyperCommand):
    """A command whose usage line shows arguments without braces: `CORPUS [OUT] RUNS...`."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words after the command's name in the usage line."""
        return [re.sub(r"[{}]", "", word) for word in super().collect_usage_pieces(ctx)]

    def get_help(self, ctx: Any) -> str:
        """The help, with flags and examples that can be copied."""
        formatter = unbroken(ctx.make_formatter())
        self.format_help(ctx, formatter)
        return str(formatter.getvalue()).rstrip("\n")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words; Click would quietly keep the last value of a flag given twice."""
        if not ctx.resilient_parsing:
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
            for option, times in Counter(order).items():
                if times > 1 and not option.multiple and not getattr(option, "is_flag", True):
                    raise BadInput(
                        f"{option.opts[0]} is given {times} times",
                        todo="give it once; several names are separated by commas",
                    )
        words = list(args)  # parsing takes them away
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            # Typer says what its library says of a type: "unable to parse string as an integer".
            wanted = next((NUMBERS[sort] for sort in NUMBERS if sort in error.message), None)
            if wanted is None:
                raise
            flags = error.param.opts if error.param is not None else []
            value = next((value for flag in flags if (value := given(words, flag))), "this")
            raise BadInput(f"{' '.join(flags[:1])} {value} is not {wanted}") from None


NUMBERS = {"integer": "a whole number", "number": "a number", "float": "a number"}
"""What an option wants, by a word in what Typer says of another value."""


def given(args: Sequence[str], flag: str) -> str:
    """The value of a flag among the words of a command.

    >>> given(["w", "--scenes", "many"], "--scenes"), given(["w", "--seed=x"], "--seed")
    ('many', 'x')
    """
    for word, after in pairwise([*args, ""]):
        if word == flag:
            return after
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    return ""


def unbroken(formatter: Any) -> Any:
    """Make a help formatter break lines at spaces alone, never within `--item-table`.

    Hyphens are wrapped as characters at which no line breaks. The type of several words is shown
    as that of one: `RUNS <str>`.
    """
    hyphen, kept = "-", "\N{NON-BREAKING HYPHEN}"
    text, rows, value = formatter.write_text, formatter.write_dl, formatter.getvalue

    def cell(said: str) -> str:
        one = re.sub(r"<list\[(\w+)\]>", lambda kind: f"<{kind[1].lower()}>", said)
        return one.replace(hyphen, kept)

    formatter.write_text = lambda said: text(said.replace(hyphen, kept))
    formatter.write_dl = lambda pairs, *more, **named: rows(
        [tuple(map(cell, pair)) for pair in pairs], *more, **named
    )
    formatter.getvalue = lambda: value().replace(kept, hyphen)
    return formatter


def spreading(flags: set[str]) -> type[TyperCommand]:
    """A command class whose given flags take all words up to the next flag."""

    class Spreading(PlainCommand):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            return super().parse_args(ctx, spread(args, flags))

    return Spreading


def spread(args: list[str], flags: set[str]) -> list[str]:
    """Repeat each flag before every word that follows it, which is the form Click understands.

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

"""Verbs become commands: what they are told, how they are run, what is printed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from tellapart.cli.output import emit, note, progress_bars, stoppable
from tellapart.cli.parameters import (
    CALL,
    FLAGS,
    OPTIONS,
    REQUIRED,
    Parameter,
    default_text,
    options_class,
    parameters,
)
from tellapart.verbs.verb import Verb

ALIAS = "older_name_of_"
JSON = typer.Option("--json", help="Print JSON instead of text.")


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
    metavar = one.help.metavar or None
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

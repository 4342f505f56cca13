"""The program `tellapart`: its verbs, and the boundary where errors become messages."""

from __future__ import annotations

import json
import re
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from tellapart._version import __version__
from tellapart.errors import DiskFull, TellapartError, UnknownName, disk_is_full
from tellapart.verbs import ANALYSES, BUILDERS, STUDY, VERBS, WORK, module_of

DEBUG = "--debug"


class VerbGroup(TyperGroup):
    """Verbs, imported only when called or when their help is requested."""

    lines = VERBS

    def list_commands(self, ctx: Any) -> list[str]:
        """The verbs' names."""
        return list(self.lines)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A verb's command; None for an unknown name."""
        if cmd_name == "build":
            return typer.main.get_command(_group(BuilderGroup, cmd_name))
        if cmd_name == "analyse":
            return typer.main.get_command(_group(AnalysisGroup, cmd_name))
        if cmd_name == "study":
            return typer.main.get_command(_group(StudyGroup, cmd_name))
        if cmd_name == "work":
            return typer.main.get_command(_group(WorkGroup, cmd_name))
        return _command(cmd_name, module_of(cmd_name)) if cmd_name in self.lines else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The named command; the error for an unknown name suggests similar ones."""
        name = args[0]
        known = name in self.lines or ctx.resilient_parsing
        if not known and self.get_command(ctx, name) is None:
            raise UnknownName("command", name, self.lines, f"see: {ctx.command_path} --help")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Name each verb with its line of help, without importing it."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lines.items()))


class StudyGroup(VerbGroup):
    """The study verbs."""

    lines = STUDY

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A verb's command; None for an unknown name."""
        known = cmd_name in self.lines
        return _command(cmd_name, f"tellapart.verbs.study.{cmd_name}") if known else None


class WorkGroup(VerbGroup):
    """The verbs for work in shards."""

    lines = WORK

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A verb's command; None for an unknown name."""
        known = cmd_name in self.lines
        return _command(cmd_name, f"tellapart.verbs.work.{cmd_name}") if known else None


class BuilderGroup(VerbGroup):
    """The builders, including those of plugins."""

    lines = BUILDERS

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A builder's command; the error for an unknown name suggests similar ones."""
        from tellapart.cli.commands import command_of
        from tellapart.verbs.build import find_builder

        return command_of(cmd_name, find_builder(cmd_name))


class AnalysisGroup(VerbGroup):
    """The analyses, including those of plugins."""

    lines = ANALYSES

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """An analysis's command; the error for an unknown name suggests similar ones."""
        from tellapart.cli.commands import command_of
        from tellapart.verbs.runs.analyse import analysis_verb

        return command_of(cmd_name, analysis_verb(cmd_name))


def _command(name: str, module: str) -> Any:
    from tellapart.cli.commands import command_of

    return command_of(name, import_module(module).VERB)


def _group(cls: type[VerbGroup], name: str) -> typer.Typer:
    examples = {
        "build": "Example: tellapart build bison my-world my-bison --verifier oracle",
        "analyse": "Example: tellapart analyse by runs --by pair",
    }
    group = typer.Typer(
        name=name,
        cls=cls,
        help=VERBS[name],
        epilog=examples.get(name),
        no_args_is_help=True,
        rich_markup_mode=None,
        add_completion=False,
    )
    group.callback()(lambda: None)
    return group


app = typer.Typer(
    cls=VerbGroup,
    help="Can your vision-language model tell them apart? Build near-miss tests from your own "
    "images and captions, run any model on them, and measure honestly.",
    epilog="Start with: tellapart demo",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tellapart {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option(DEBUG, help="After an error, print the traceback.")
    ] = False,
) -> None:
    """The options before the verb."""


def main() -> None:
    """Run the program; a user's mistake ends with a message and exit code 2."""
    debug = DEBUG in sys.argv
    sys.argv = [word for word in sys.argv if word != DEBUG]  # it may also follow the verb
    try:
        app()
    except Exception as error:
        shown = user_error(error)
        if shown is None:
            raise
        if debug:
            traceback.print_exc()
        if "--json" in sys.argv:
            print(json.dumps({"error": shown.parts()}, ensure_ascii=False, indent=2))
        print(f"error: {shown}", file=sys.stderr)
        if error.__cause__ is not None and not debug and not isinstance(shown, DiskFull):
            print(f"  (use {DEBUG} for a traceback)", file=sys.stderr)
        sys.exit(2)


def user_error(error: Exception) -> TellapartError | None:
    """The error to show to the user; None if it is a bug in the program."""
    if isinstance(error, TellapartError):
        return error
    where = str(getattr(error, "filename", None) or "")
    if disk_is_full(error):
        return DiskFull(where or "standard output, or the temporary folder")
    return path_error(error) if isinstance(error, OSError) else None


UNFINISHED_NAME = re.compile(r"\.(?P<name>.+)\.[a-z0-9_]{8}\.tellapart")
"""What a file or folder is called until it is whole."""


def path_error(error: OSError) -> TellapartError:
    """What the system says about a path, in words; the path is the one that the user gave."""
    given = error.filename2 or error.filename
    if not isinstance(given, str | Path):
        return TellapartError(error.strerror or str(error))
    path = Path(given)
    if unfinished := UNFINISHED_NAME.fullmatch(path.name):
        path = path.with_name(unfinished["name"])
    if isinstance(error, NotADirectoryError | FileExistsError):
        file = next((one for one in (path, *path.parents) if one.is_file()), None)
        if file is not None:
            problem = f"{file} is a file, but a folder is needed here"
            return TellapartError(problem, where=str(path), todo="choose another path")
    if isinstance(error, IsADirectoryError) and path.is_dir():
        problem = f"{path} is a folder, but a file is needed here"
        return TellapartError(problem, todo="name a file in it, or choose another path")
    if isinstance(error, PermissionError):
        problem, todo = "no permission to read or write here", "choose another path, or allow it"
        return TellapartError(problem, where=str(path), todo=todo)
    if isinstance(error, FileNotFoundError):
        return TellapartError("this path cannot be found or created", where=str(path))
    return TellapartError(error.strerror or str(error), where=str(path))


if __name__ == "__main__":
    main()

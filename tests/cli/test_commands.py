"""What a verb can be told is read off its function and its options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from typer.testing import CliRunner

from tellapart.cli.commands import Parameter, command_of, parameters
from tellapart.cli.main import app
from tellapart.errors import BadInput, UnknownName
from tellapart.options import Help
from tellapart.types import Progress, silent
from tellapart.verbs import Verb

if TYPE_CHECKING:
    from nowhere import Noun  # only type checkers would read it


@dataclass(frozen=True, kw_only=True)
class Names:
    image: str = "image"
    caption: str = "caption"


@dataclass(frozen=True, kw_only=True)
class Shared:
    seed: Annotated[int, Help("A seed.")] = 0
    overwrite: Annotated[bool, Help("Replace.", last=True)] = False


@dataclass(frozen=True, kw_only=True)
class Own(Shared):
    sizes: Annotated[tuple[int, ...], Help("Numbers.")] = (1, 2)
    kinds: Annotated[tuple[str, ...], Help("Names.")] = ()
    look: Annotated[bool, Help("Look.", alias="--images/--no-images")] = True
    use_cache: Annotated[bool, Help("Keep nothing.", flag="--no-cache")] = True
    columns: Annotated[Names, Help("Columns.", flag="--column", repeat=True)] = Names()
    ids: Annotated[Path | frozenset[str] | None, Help("A file of ids.")] = None
    for_python: Any = None


@dataclass(frozen=True, kw_only=True)
class Printing:
    loud: Annotated[bool, Help("Shout.")] = False


def work(
    things: Annotated[Noun | Path | str | Sequence[Noun | Path | str], Help("Things.")],
    out: Annotated[Path | str, Help("Where to.", first=True)],
    options: Own = Own(),  # noqa: B008 (frozen)
    progress: Progress = silent,
    *,
    files: Annotated[Sequence[Path | str], Help("Files.", flag="--from", metavar="FILES...")] = (),
) -> list[Any]:
    """Do it.

    In Python: this stands in no help.
    """
    progress("working", 1, 1)
    return [things, out, options, files]


def text(result: list[Any], given: Any) -> str:
    said = f"{result[0]} to {given.out}"
    return said.upper() if given.loud else said


VERB = Verb(work, example="tellapart work", text=text, json=len, flags=Printing)


def told(*words: str) -> Any:
    """What the function gets for some words of the command line."""
    got: list[Any] = []
    verb = Verb(work, example="", text=lambda result: got.append(result) or "", flags=Printing)
    done = CliRunner().invoke(command_line(verb), list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return got[0]


def command_line(verb: Verb) -> Any:
    import typer

    app = typer.Typer()
    app.callback()(lambda: None)

    class Runner(typer.core.TyperGroup):
        def get_command(self, ctx: Any, name: str) -> Any:
            return command_of(name, verb)

    app.info.cls = Runner
    return app


def named(name: str) -> Parameter:
    return next(one for one in parameters(VERB) if one.name == name)


def test_arguments_come_first_and_what_is_last_stands_behind():
    names = [one.name for one in parameters(VERB)]
    assert names == ["out", "things", "seed", "sizes", "kinds", "look", "use_cache", "columns",
                     "ids", "files", "loud", "overwrite"]  # fmt: skip


def test_a_type_that_only_type_checkers_import_is_no_obstacle():
    assert named("things").many and named("things").scalar() is str
    assert named("out").scalar() is Path
    assert named("ids").scalar() is Path and named("ids").value(Path("x")) == Path("x")


def test_values_become_what_the_verb_takes():
    things, out, options, files = told("work", "there", "a", "b")
    assert (things, out, options, files) == (["a", "b"], Path("there"), Own(), ())
    words = ["--sizes", "3,5-7", "--kinds", "x, y", "--no-cache", "--seed", "4", "--no-look"]
    own = told("work", "there", "a", *words, "--column", "image=file")[2]
    assert own == Own(sizes=(3, 5, 6, 7), kinds=("x", "y"), use_cache=False, seed=4, look=False,
                      columns=Names(image="file"))  # fmt: skip
    assert told("work", "there", "a", "--from", "p", "q", "--seed", "1")[3] == ["p", "q"]


def test_an_older_name_of_a_flag_still_works_and_stands_in_no_help():
    assert not told("work", "there", "a", "--no-images")[2].look
    said = CliRunner().invoke(command_line(VERB), ["work", "--help"]).stdout
    assert "--no-look" in said and "--no-images" not in said and "In Python" not in said
    assert "--no-cache" in said and "--use-cache" not in said and "for-python" not in said


def test_the_line_of_usage_names_arguments_as_the_pages_do():
    said = CliRunner().invoke(command_line(VERB), ["work", "--help"]).stdout
    assert re.search(r"work \[OPTIONS\] OUT THINGS\.\.\.\s", said)


@pytest.mark.parametrize("verb", ["get", "measure"])
def test_a_line_of_help_never_ends_within_a_flag_or_a_path(verb):
    said = CliRunner().invoke(app, [verb, "--help"]).stdout
    assert not re.search(r"\w-$", said, re.MULTILINE) and "\N{NON-BREAKING HYPHEN}" not in said
    assert "list[" not in said and re.search(r"--(item-table|images-columns)", said)


def test_help_names_every_value_that_an_option_may_have():
    def about(text: str, *choices: str) -> str:
        return Parameter("way", str, Help(text, choices=choices), "", "", False).about

    assert about("fair, or two-scores.", "fair", "two-scores") == "fair, or two-scores."
    assert about("How.", "", "fair", "two-scores") == "How. One of: fair, two-scores."
    assert about("Two scores.", "two-scores") == "Two scores. One of: two-scores."


def test_a_flag_given_twice_is_an_error_instead_of_its_last_value():
    def outcome(*words: str) -> Any:
        return CliRunner().invoke(command_line(VERB), ["work", "there", "a", *words])

    assert isinstance(outcome("--kinds", "x", "--kinds", "y").exception, BadInput)
    assert isinstance(outcome("--seed", "1", "--seed", "1").exception, BadInput)
    repeatable = ("--column", "image=a", "--column", "caption=b", "--from", "c", "--from", "d")
    assert outcome(*repeatable, "--overwrite", "--overwrite").exit_code == 0


def test_the_result_is_printed_as_the_verb_says():
    app = command_line(VERB)
    assert "['A'] TO THERE" in CliRunner().invoke(app, ["work", "there", "a", "--loud"]).stdout
    assert CliRunner().invoke(app, ["work", "there", "a", "--json"]).stdout == "4\n"


def test_what_cannot_be_read_is_named():
    with pytest.raises(BadInput, match="--sizes 1,many: 'many' is not a whole number"):
        named("sizes").value("1,many")
    with pytest.raises(BadInput, match="does not say which column is which"):
        named("columns").value(["image"])
    with pytest.raises(UnknownName, match="no column called 'picture'"):
        named("columns").value(["picture=file"])

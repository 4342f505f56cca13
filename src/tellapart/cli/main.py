"""The program `tellapart`: its verbs, and the boundary where errors become messages."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from tellapart._version import __version__
from tellapart.cli import (
    auditing,
    benchmarks,
    captioning,
    comparing,
    corpora,
    getting,
    handling,
    listing,
    refining,
    results,
    retrieving,
    scoring,
    showcase,
    studying,
)
from tellapart.cli.building import group as building
from tellapart.errors import TellapartError

app = typer.Typer(
    help="Can your vision-language model tell them apart? Build near-miss tests from your own "
    "images and captions, run any model on them, and measure honestly.",
    epilog="Start with: tellapart demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

VERBS = (
    showcase,
    corpora,
    getting,
    building,
    refining,
    benchmarks,
    handling,
    auditing,
    scoring,
    results,
    comparing,
    retrieving,
    captioning,
    studying,
    listing,
)
for module in VERBS:
    module.register(app)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tellapart {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What stands before the verb."""


def main() -> None:
    """Run the program; a user's mistake ends in a message and exit code 2."""
    try:
        app()
    except TellapartError as error:
        if "--json" in sys.argv:
            print(json.dumps({"error": error.parts()}, ensure_ascii=False, indent=2))
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(f"error: {error.strerror or error}: {error.filename or ''}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()

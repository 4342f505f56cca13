"""The command `build bivlc`."""

from __future__ import annotations

from typing import Annotated

import typer

from tellapart.cli.building.command import add_builder
from tellapart.cli.output import listed


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_builder(app, "bivlc", own, example="bivlc my-world my-bivlc --kinds swap-object")


def own(
    kinds: Annotated[
        str, typer.Option(help="Kinds of near miss, separated by commas (default: all).")
    ] = "",
) -> object:
    """Two images and two captions that differ by a detail, asked both ways."""
    from tellapart.verbs.build.bivlc import BivlcOptions

    return BivlcOptions(kinds=tuple(listed(kinds)))

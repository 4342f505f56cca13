"""The command `build bison`."""

from __future__ import annotations

import typer

from tellapart.cli.building.command import add_builder


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_builder(app, "bison", own, example="bison my-world my-bison --verifier oracle")


def own() -> None:
    """Build a bison benchmark."""

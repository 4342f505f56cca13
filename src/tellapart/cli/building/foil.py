"""The command `build foil`."""

from __future__ import annotations

import typer

from tellapart.cli.building.command import add_builder


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_builder(app, "foil", own, example="foil my-world my-foil --verifier oracle")


def own() -> None:
    """Build a foil benchmark."""

"""The command `build mcic`."""

from __future__ import annotations

import typer

from tellapart.cli.building.command import add_builder


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_builder(app, "mcic", own, example="mcic my-world my-mcic --verifier oracle")


def own() -> None:
    """Build a mcic benchmark."""

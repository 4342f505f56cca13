"""The group `build`: a command for each built-in builder, and for every plugin's as it is asked."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from tellapart.cli.building import bison, bivlc, foil, mcic, negatives
from tellapart.cli.building.command import add_builder

BUILDERS = (bison, mcic, foil, negatives, bivlc)


class Builders(TyperGroup):
    """Looks a name up among the plugins where no built-in builder has it."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The built-in builder's command, else one with the shared options for a plugin's."""
        found = super().get_command(ctx, cmd_name)
        return found if found is not None else _plugin(cmd_name)


def builders_app() -> typer.Typer:
    """The builders that are not verbs yet."""
    group = typer.Typer(
        name="build",
        cls=Builders,
        help="Build a benchmark from a corpus.",
        no_args_is_help=True,
        rich_markup_mode=None,
        epilog="Example: tellapart build bison my-world my-bison --verifier oracle",
    )
    for module in BUILDERS:
        module.register(group)
    return group


def _plugin(name: str) -> Any:
    from tellapart import registry

    about = registry.builders.describe(name)  # an unknown name ends here, with near ones

    def own() -> None:
        """No options of its own."""

    single = typer.Typer(rich_markup_mode=None, add_completion=False)
    add_builder(single, name, own, example=f"{name} CORPUS OUT", about=about)
    return typer.main.get_command(single)

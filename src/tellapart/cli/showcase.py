"""The verb `demo`: everything at once, on the built-in world."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tellapart.cli.output import Json, Seed, emit, progress_bars


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(epilog="Example: tellapart demo")(demo)


def demo(
    out: Annotated[Path, typer.Argument(help="Folder for all that comes out.")] = Path("demo"),
    scenes: Annotated[int, typer.Option(help="How many pictures to draw.")] = 300,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Draw a world, build four benchmarks, run the built-in models, write a report."""
    from tellapart.demonstration import demo as run

    with progress_bars() as progress:
        shown = run(out, scenes=scenes, seed=seed, progress=progress)
    emit(shown.to_json(), str(shown), as_json)

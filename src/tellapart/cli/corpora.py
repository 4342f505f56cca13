"""The verb `world`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from tellapart.cli.output import Json, Overwrite, Seed, emit, progress_bar

OptionalPath = Optional[Path]  # noqa: UP045 (typer reads annotations at run time)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(epilog="Example: tellapart world my-world --scenes 2000 --seed 0")(world)


def world(
    out: Annotated[Path, typer.Argument(help="Folder to write the corpus to.")],
    scenes: Annotated[int, typer.Option(help="How many pictures to draw.")] = 500,
    seed: Seed = 0,
    part: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Keep to one half of all scenes: train or test (they share nothing)."),
    ] = None,
    sprites: Annotated[
        OptionalPath,
        typer.Option(help="Draw with the cut-outs NAME.png (and NAME.txt) of this folder."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Draw a corpus: pictures of a storybook world with five captions each."""
    from tellapart.corpus.world.world import world as draw

    with progress_bar("drawing") as progress:
        corpus = draw(
            out,
            scenes=scenes,
            seed=seed,
            part=part,
            sprites=sprites,
            overwrite=overwrite,
            progress=progress,
        )
    counts = {"images": corpus.images.height, "captions": corpus.captions.height}
    emit({"corpus": str(out), **counts}, f"{corpus}  ->  {out}", as_json)

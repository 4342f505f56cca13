"""Verbs that make things: `world` and `build`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from tellapart.cli.output import (
    Json,
    Overwrite,
    Seed,
    SkipBad,
    emit,
    list_skipped,
    listed,
    progress_bar,
)

OptionalPath = Optional[Path]  # noqa: UP045 (typer reads annotations at run time)


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command(epilog="Example: tellapart world my-world --scenes 2000 --seed 0")(world)
    app.command(epilog="Example: tellapart build bison my-world my-bison --verifier oracle")(build)


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


def build(
    what: Annotated[str, typer.Argument(help="What to build: bison, mcic, foil or bivlc.")],
    corpus: Annotated[Path, typer.Argument(help="A corpus: a folder, COCO JSON, CSV, ...")],
    out: Annotated[Path, typer.Argument(help="Folder to write the benchmark to.")],
    name: Annotated[str, typer.Option(help="The benchmark's name (default: what it is).")] = "",
    items: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="At most so many items."),
    ] = None,
    seed: Seed = 0,
    verifier: Annotated[
        str, typer.Option(help="A model that checks captions, such as oracle (built-in world).")
    ] = "",
    kinds: Annotated[
        str, typer.Option(help="bivlc: kinds of near miss, separated by commas (default: all).")
    ] = "",
    images: Annotated[OptionalPath, typer.Option(help="Folder that holds the pictures.")] = None,
    objects: Annotated[
        OptionalPath, typer.Option(help="File that says which objects each image shows.")
    ] = None,
    image_column: Annotated[str, typer.Option(help="Tables: the column of images.")] = "image",
    caption_column: Annotated[
        str, typer.Option(help="Tables: the column of captions.")
    ] = "caption",
    skip_bad: SkipBad = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Build a benchmark from a corpus."""
    from tellapart.benchmark.benchmark import card_json
    from tellapart.corpus.reading import ReadOptions
    from tellapart.mine.build import build as make
    from tellapart.mine.building import BuildOptions

    reading = ReadOptions(images, objects, image_column, caption_column, skip_bad)
    more: dict[str, Any] = {"kinds": listed(kinds)}
    with progress_bar(f"building {what}") as progress:
        options = BuildOptions(name, seed, items, verifier, overwrite, progress, more)
        benchmark = make(what, corpus, out, options, reading)
    list_skipped(benchmark.card.skipped)
    emit(card_json(benchmark), f"{benchmark}  ->  {out}", as_json)

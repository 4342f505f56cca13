"""The verb `refine`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tellapart.cli.keeping import Cache, NoCache, stoppable
from tellapart.cli.output import Json, Overwrite, Seed, emit, progress_bars


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog="Example: tellapart refine my-negatives refined --plausibility vera --grammar cola"
    )(refine)


def refine(
    source: Annotated[
        str,
        typer.Argument(
            metavar="BENCH", help="A benchmark's folder or name, or a table of scored negatives."
        ),
    ],
    out: Annotated[Path, typer.Argument(help="Folder to write to.")],
    plausibility: Annotated[
        str,
        typer.Option(help="What gives the first score: vera, blind, hf:NAME?head=lm, a run, ..."),
    ] = "",
    grammar: Annotated[
        str,
        typer.Option(help="What gives the second: cola, hf:NAME?head=classifier, a run, ..."),
    ] = "",
    keep: Annotated[float, typer.Option(help="The share of each kind that is chosen.")] = 0.35,
    bins: Annotated[int, typer.Option(help="Bins of the gaps by each score, from -1 to 1.")] = 50,
    scale: Annotated[
        str, typer.Option(help="rank, or given where scores are probabilities already.")
    ] = "rank",
    folds: Annotated[
        int, typer.Option(help="Images are held out in so many parts; 1: exact, nothing held out.")
    ] = 10,
    seed: Seed = 0,
    name: Annotated[str, typer.Option(help="The new benchmark's name.")] = "",
    batch_size: Annotated[int, typer.Option(help="Captions at a time.")] = 64,
    cache: Cache = None,
    no_cache: NoCache = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Keep the negatives that two text-only scores cannot tell from the truth.

    The best of each kind by both scores, without duplicates and malformed ones; then as many
    whose original is ahead as whose negative is, in every cell of a grid of gaps.
    """
    from tellapart.mine.refine import RefineOptions
    from tellapart.mine.refine import refine as work
    from tellapart.mine.refinement import RefineRecipe

    options = RefineOptions(
        plausibility=plausibility,
        grammar=grammar,
        recipe=RefineRecipe(keep, bins, scale, folds, seed),
        name=name,
        overwrite=overwrite,
        batch_size=batch_size,
        cache=cache,
        use_cache=not no_cache,
    )
    with stoppable(), progress_bars() as progress:
        found = work(source, out, options, progress)
    emit({"out": str(out), **found.to_json()}, f"{found}\n->  {out}", as_json)

"""Verbs for benchmarks: `show` and `validate`."""

from __future__ import annotations

from typing import Annotated

import typer

from tellapart.cli.output import Json, Seed, emit, progress_bar

Bench = Annotated[str, typer.Argument(help="A benchmark's folder, or its name.")]


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command(epilog="Example: tellapart show my-bison --items 5")(show)
    app.command(epilog="Example: tellapart validate my-bison")(validate)


def show(
    benchmark: Bench,
    items: Annotated[int, typer.Option(help="How many items to print.")] = 3,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Print a benchmark's card and some of its items."""
    from tellapart.benchmark.showing import show as look

    shown = look(benchmark, items=items, seed=seed)
    emit(shown.to_json(), str(shown), as_json)


def validate(
    benchmark: Bench,
    images: Annotated[bool, typer.Option(help="Also open every picture.")] = True,
    as_json: Json = False,
) -> None:
    """Check that a benchmark is whole and that its pictures can be read."""
    from tellapart.benchmark.validating import validate as check

    with progress_bar("opening pictures") as progress:
        verdict = check(benchmark, images=images, progress=progress)
    found = {
        "benchmark": verdict.benchmark,
        "good": verdict.good,
        "items": verdict.items,
        "images": verdict.images,
        "problems": [problem.parts() for problem in verdict.problems],
        "remarks": list(verdict.remarks),
    }
    emit(found, str(verdict), as_json)
    if not verdict.good:
        raise typer.Exit(1)

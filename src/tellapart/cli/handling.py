"""Verbs that make benchmarks from benchmarks: `subset`, `merge`, `diff`, `export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from tellapart.cli.output import Json, Overwrite, Seed, emit, listed

Bench = Annotated[str, typer.Argument(help="A benchmark's folder, or its name.")]
Out = Annotated[Path, typer.Argument(help="Folder to write to.")]
OptionalPath = Optional[Path]  # noqa: UP045 (typer reads annotations at run time)


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command(epilog="Example: tellapart subset bivlc swaps --kinds swap-object,swap-attribute")(
        subset
    )
    app.command(epilog="Example: tellapart merge both my-bison my-mcic --name both")(merge)
    app.command(epilog="Example: tellapart diff my-bison my-bison-2")(diff)
    app.command(epilog="Example: tellapart export my-bison for-the-hub")(export)


def subset(
    benchmark: Bench,
    out: Out,
    kinds: Annotated[str, typer.Option(help="Kinds to keep, separated by commas.")] = "",
    ids: Annotated[OptionalPath, typer.Option(help="A file with one item id a line.")] = None,
    with_images: Annotated[
        bool, typer.Option("--with-images", help="Only items whose pictures are here.")
    ] = False,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Each question once.")
    ] = False,
    items: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="A random sample of so many items."),
    ] = None,
    seed: Seed = 0,
    name: Annotated[str, typer.Option(help="The new benchmark's name.")] = "",
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Keep some of a benchmark's items."""
    from tellapart.benchmark.handling import Choice
    from tellapart.benchmark.handling import subset as keep
    from tellapart.tables import read_text

    named = frozenset(read_text(ids).split()) if ids else None
    wanted = tuple(listed(kinds))
    choice = Choice(wanted, named, with_images, drop_duplicates, items, seed)
    _emit(keep(benchmark, out, choice, name=name, overwrite=overwrite), out, as_json)


def merge(
    out: Out,
    benchmarks: Annotated[list[str], typer.Argument(help="Two or more benchmarks.")],
    name: Annotated[str, typer.Option(help="The new benchmark's name.")],
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Put the items of several benchmarks together."""
    from tellapart.benchmark.handling import merge as join

    _emit(join(benchmarks, out, name=name, overwrite=overwrite), out, as_json)


def diff(first: Bench, second: Bench, as_json: Json = False) -> None:
    """Say what sets two benchmarks apart, item by item."""
    from tellapart.benchmark.handling import diff as compare

    found = compare(first, second)
    emit(found.to_json(), str(found), as_json)


def export(
    benchmark: Bench,
    out: Out,
    images: Annotated[bool, typer.Option(help="Put the pictures into the file.")] = True,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Write a benchmark for the Hugging Face hub, with Croissant metadata."""
    from tellapart.benchmark.exporting import export as write

    folder = write(benchmark, out, images=images, overwrite=overwrite)
    emit({"export": str(folder)}, f"export  ->  {folder}", as_json)


def _emit(benchmark: Any, out: Path, as_json: bool) -> None:
    from tellapart.benchmark.benchmark import card_json

    emit(card_json(benchmark), f"{benchmark}  ->  {out}", as_json)

"""How a builder becomes a command: the options that all share, and its own beside them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional, get_type_hints

import typer

from tellapart.cli.output import (
    Json,
    Overwrite,
    Seed,
    SkipBad,
    emit,
    list_skipped,
    progress_bar,
)

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark

OptionalPath = Optional[Path]  # noqa: UP045 (typer reads annotations at run time)


def shared(
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
    """What every builder can be told; the signature is what counts."""


def add_builder(
    app: typer.Typer,
    what: str,
    own: Callable[..., Any],
    *,
    example: str,
    about: str = "",
    tell: Callable[[Benchmark], str] = str,
) -> None:
    """Add the command `build WHAT`.

    `own` has the builder's own options as its parameters and makes of them what goes into
    `BuildOptions.own` (annotated as `object`, so that nothing heavy is imported for it); its
    docstring is the command's help. `tell` is what is printed of the benchmark.
    """

    def command(**given: Any) -> None:
        names = inspect.signature(own).parameters
        mine = {key: value for key, value in given.items() if key in names}
        rest = {key: value for key, value in given.items() if key not in names}
        _build(what, own(**mine), tell, **rest)

    wrapped: Any = command
    both = [*_parameters(shared), *_parameters(own)]
    both.sort(key=lambda parameter: parameter.name in _LAST)
    wrapped.__signature__ = inspect.Signature(both)
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in both}
    wrapped.__doc__ = about or own.__doc__
    app.command(what, epilog=f"Example: tellapart build {example}")(command)


_LAST = ("images", "objects", "image_column", "caption_column", "skip_bad", "overwrite", "as_json")
"""Shared options that stand behind a builder's own in its help."""


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(function, include_extras=True)
    return [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[parameter.name])
        for parameter in inspect.signature(function).parameters.values()
    ]


def _build(
    what: str,
    own: Any,
    tell: Callable[[Benchmark], str],
    *,
    corpus: Path,
    out: Path,
    name: str,
    items: int | None,
    seed: int,
    verifier: str,
    overwrite: bool,
    as_json: bool,
    **reading: Any,
) -> None:
    from tellapart.benchmark.benchmark import card_json
    from tellapart.corpus.reader import ReadOptions
    from tellapart.mine.build import build
    from tellapart.mine.building import BuildOptions

    with progress_bar(f"building {what}") as progress:
        options = BuildOptions(name, seed, items, verifier, overwrite, progress, own)
        benchmark = build(what, corpus, out, options, ReadOptions(**reading))
    list_skipped(benchmark.card.skipped)
    emit(card_json(benchmark), f"{tell(benchmark)}  ->  {out}", as_json)

"""The command `build foil`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tellapart.cli.building.command import OptionalPath, add_builder

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark


def register(app: typer.Typer) -> None:
    """Add the command."""
    example = "foil captions_val2014.json my-foil --objects instances_val2014.json"
    add_builder(app, "foil", own, example=example, tell=tell)


def own(
    categories: Annotated[
        OptionalPath,
        typer.Option(help="Table of word, category, supercategory (default: COCO's, the world's)."),
    ] = None,
    split: Annotated[
        str, typer.Option(help="Pairs: paper (256:216), none (all), or a table of target, foil.")
    ] = "paper",
    part: Annotated[str, typer.Option(help="Which part of the split: train or test.")] = "test",
    mentions: Annotated[
        int, typer.Option(help="Captions of the image that must have the target.")
    ] = 2,
    absence: Annotated[
        str, typer.Option(help="What tells that a foil is absent: objects, or captions alone.")
    ] = "objects",
    hardest: Annotated[
        str,
        typer.Option(
            help="Who picks the hardest: a model, language (of the captions), random; auto: "
            "language, but random on the built-in world."
        ),
    ] = "auto",
    per: Annotated[
        str,
        typer.Option(
            help="Keep a foil for each caption or image; auto: caption, but image "
            "on the built-in world."
        ),
    ] = "auto",
    parser: Annotated[
        str, typer.Option(help="A spaCy pipeline, or none (the built-in world needs none).")
    ] = "auto",
    plain: Annotated[
        bool, typer.Option("--plain", help="Replace words as the paper does, grammar or not.")
    ] = False,
) -> object:
    """Captions with one wrong word: is it right, which word is wrong, what should it be?"""
    from tellapart.verbs.build.foil import FoilOptions

    return FoilOptions(
        categories=categories if categories is None else Path(categories),
        split=split,
        part=part,
        mentions=mentions,
        absence=absence,
        hardest=hardest,
        per=per,
        parser=parser,
        plain=plain,
    )


def tell(benchmark: Benchmark) -> str:
    """The counts by supercategory and the chance levels, then what came out."""
    from tellapart.mine.foil.items import table

    return f"{table(benchmark.card.made)}\n\n{benchmark}"

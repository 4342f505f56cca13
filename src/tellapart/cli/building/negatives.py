"""The command `build negatives`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from tellapart.cli.building.command import add_builder
from tellapart.cli.output import listed

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_builder(
        app,
        "negatives",
        own,
        example="negatives captions.json my-negatives --kinds swap-object,add-attribute",
        tell=tell,
    )


def own(
    kinds: Annotated[
        str, typer.Option(help="Kinds of near miss, separated by commas (default: all seven).")
    ] = "",
    by: Annotated[str, typer.Option(help="Who writes them: rules, or llm:MODEL.")] = "rules",
    per_caption: Annotated[int, typer.Option(help="At most so many of each kind a caption.")] = 1,
    lists_from: Annotated[
        Optional[Path],  # noqa: UP045 (typer reads annotations at run time)
        typer.Option(help="rules: learn the word lists from this corpus, not from the captions."),
    ] = None,
    as_written: Annotated[
        bool, typer.Option("--as-written", help="Keep capitals and final marks as they are.")
    ] = False,
    parser: Annotated[str, typer.Option(help="The spaCy pipeline.")] = "en_core_web_sm",
) -> object:
    """A caption beside one that differs by a detail and is false: seven kinds of hard negative."""
    from tellapart.verbs.build.negatives import NegativesOptions

    return NegativesOptions(
        kinds=tuple(listed(kinds)),
        by=by,
        per_caption=per_caption,
        lists_from=lists_from,
        as_written=as_written,
        parser=parser,
    )


def tell(benchmark: Benchmark) -> str:
    """How many of each kind, and for how many captions there is none, by the reason."""
    from tellapart.verbs.build.negatives import table

    return f"{table(benchmark)}\n{benchmark}"

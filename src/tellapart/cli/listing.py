"""The verb `list`: what is there, with a line of explanation each."""

from __future__ import annotations

from typing import Annotated

import typer

from tellapart.cli.output import Json, emit
from tellapart.errors import UnknownName


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("list", epilog="Example: tellapart list models")(list_)


def list_(
    what: Annotated[
        str,
        typer.Argument(
            help="models, benchmarks, measures, caption-metrics, builders, importers or readers."
        ),
    ],
    as_json: Json = False,
) -> None:
    """List what there is, with a line of explanation each."""
    found = _benchmarks() if what == "benchmarks" else _registered(what)
    width = max((len(name) for name in found), default=0)
    text = "\n".join(f"{name.ljust(width)}  {about}" for name, about in found.items())
    nothing = "none yet: build one, or put benchmarks under TELLAPART_HOME"
    emit(found, text or nothing, as_json)


def _registered(what: str) -> dict[str, str]:
    from tellapart import registry

    every = (
        registry.models,
        registry.measures,
        registry.builders,
        registry.importers,
        registry.readers,
        registry.caption_metrics,
    )
    sorts = {f"{one.noun}s": one for one in every}
    if what not in sorts:
        raise UnknownName("list", what, [*sorts, "benchmarks"])
    return {name: sorts[what].describe(name) for name in sorts[what].names()}


def _benchmarks() -> dict[str, str]:
    from tellapart.benchmark.homes import home
    from tellapart.tables import read_json

    cards = {path.parent.name: read_json(path) for path in sorted(home().glob("*/benchmark.json"))}
    return {
        name: f"{card['counts']['items']:,} items, {card['about']}" for name, card in cards.items()
    }

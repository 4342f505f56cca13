"""The verb `compare`."""

from __future__ import annotations

from typing import Annotated

import typer

from tellapart.cli.output import Json, Seed, emit, listed
from tellapart.cli.results import Measures, On, Runs, Ties


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(epilog="Example: tellapart compare runs --measure Group --by-kind")(compare)


def compare(
    runs: Runs,
    measures: Measures = "",
    ties: Ties = "wrong",
    by_kind: Annotated[
        bool, typer.Option("--by-kind", help="Also the macro average and each kind of item.")
    ] = False,
    on: On = None,
    resamples: Annotated[
        int, typer.Option(help="Bootstrap resamples, and as many sign flips.")
    ] = 10_000,
    seed: Seed = 0,
    latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table instead.")] = False,
    as_json: Json = False,
) -> None:
    """Compare runs, every two on what both cover: is the difference real or noise?"""
    from tellapart.measures.comparing import compare as contrast

    names = listed(measures) or None
    found = contrast(
        list(runs),
        measures=names,
        ties=ties,
        by_kind=by_kind,
        on=on,
        resamples=resamples,
        permutations=resamples,
        seed=seed,
    )
    emit(found.to_json(), found.to_latex() if latex else str(found), as_json)

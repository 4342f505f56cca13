"""Verbs that read runs: `measure` and `report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from tellapart.cli.output import Json, SkipBad, emit, listed, progress_bars

Runs = Annotated[list[Path], typer.Argument(help="Runs, or folders of runs.")]
Ties = Annotated[str, typer.Option(help="A tie counts as: wrong (strict), half, right, drop.")]
On = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(help="The runs' benchmark, where it is not where it was."),
]
Measures = Annotated[
    str, typer.Option("--measure", help="Names, separated by commas (default: the benchmark's).")
]
OptionalPath = Optional[Path]  # noqa: UP045


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command(epilog="Example: tellapart measure runs --ties half")(measure)
    app.command(epilog="Example: tellapart report runs --out report.html")(report)


def measure(
    runs: Runs,
    measures: Measures = "",
    ties: Ties = "wrong",
    by_kind: Annotated[bool, typer.Option(help="Also each kind of item.")] = True,
    on: On = None,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples for the intervals.")] = 2_000,
    guessable: Annotated[
        bool, typer.Option(help="Beside each score what captions alone give away (ties halved).")
    ] = True,
    as_json: Json = False,
) -> None:
    """Measure runs: score, interval, chance level and ties, overall and by kind."""
    from tellapart.measures.scores import measure as estimate
    from tellapart.measures.scores import read_runs

    names = listed(measures) or None
    read = read_runs(list(runs), on)
    scores = estimate(read, measures=names, ties=ties, by_kind=by_kind, resamples=resamples)
    guesses = _guesses([run.benchmark for run in read]) if guessable else None
    rows = [
        {**row, **({"guessable": guesses.get(_key(row), "")} if guesses is not None else {})}
        for row in scores.to_json()
    ]
    emit(rows, scores.to_text(guesses), as_json)


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["benchmark"], row["measure"], row["kind"]


def _guesses(benchmarks: list[Any]) -> dict[tuple[str, str, str], str]:
    """What can be guessed from captions alone, by benchmark, measure and kind."""
    from tellapart.audits.guesses import guessable

    found = {}
    for benchmark in {b.sha256: b for b in benchmarks}.values():
        for best in guessable(benchmark, resamples=100).rows:
            own = best.estimate
            key = (own.benchmark, own.measure, own.kind)
            found[key] = f"{100 * own.value:.1f} by {best.cue}"
    return found


def report(
    runs: Runs,
    out: Annotated[Path, typer.Option(help="The HTML file to write.")],
    title: Annotated[str, typer.Option(help="The page's title.")] = "tellapart report",
    ties: Ties = "wrong",
    gallery: Annotated[int, typer.Option(help="How many items to show with pictures.")] = 300,
    charts: Annotated[
        OptionalPath, typer.Option(help="Folder for each chart as PNG, SVG and PDF.")
    ] = None,
    latex: Annotated[OptionalPath, typer.Option(help="Folder for each table as LaTeX.")] = None,
    on: On = None,
    skip_bad: SkipBad = False,
    as_json: Json = False,
) -> None:
    """Write a report: one HTML file that needs nothing else."""
    from tellapart.reports.report import ReportOptions
    from tellapart.reports.report import report as write

    with progress_bars() as progress:
        options = ReportOptions(
            title=title,
            ties=ties,
            gallery=gallery,
            charts=charts,
            latex=latex,
            on=Path(on) if on else None,
            skip_bad=skip_bad,
            progress=progress,
        )
        path = write(list(runs), out, options)
    emit({"report": str(path)}, f"report  ->  {path}", as_json)

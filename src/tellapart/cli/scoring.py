"""Verbs that make runs: `evaluate` and `import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from tellapart.cli.keeping import Cache, CacheSize, NoCache, stoppable
from tellapart.cli.output import (
    Json,
    Overwrite,
    Seed,
    SkipBad,
    emit,
    list_skipped,
    note,
    progress_bars,
)  # fmt: skip


def register(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command(epilog="Example: tellapart evaluate chance oracle --on my-bison --out runs")(
        evaluate
    )
    app.command(
        "import", epilog="Example: tellapart import my-bison scores.csv --name mine --out runs/mine"
    )(import_)


def evaluate(
    models: Annotated[list[str], typer.Argument(help="Model strings; see: tellapart list models")],
    on: Annotated[list[str], typer.Option(help="A benchmark's folder or name; may be repeated.")],
    out: Annotated[Path, typer.Option(help="Folder for the runs: OUT/benchmark/model.")],
    limit: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Only a random sample of so many items."),
    ] = None,
    seed: Seed = 0,
    batch_size: Annotated[int, typer.Option(help="Inputs at a time.")] = 64,
    trials: Annotated[int, typer.Option(help="Choosers: how often each question is asked.")] = 1,
    cache: Cache = None,
    no_cache: NoCache = False,
    cache_gb: CacheSize = 8.0,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Ask again what failed in runs that are there.")
    ] = False,
    skip_bad: SkipBad = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Put models through benchmarks.

    A command that was stopped, or killed, goes on where it was when it is given again.
    """
    from tellapart.score.evaluate import EvaluateOptions
    from tellapart.score.evaluate import evaluate as run_all

    options = EvaluateOptions(
        limit=limit,
        seed=seed,
        batch_size=batch_size,
        trials=trials,
        skip_bad=skip_bad,
        overwrite=overwrite,
        cache=cache,
        use_cache=not no_cache,
        cache_gb=cache_gb,
        retry_failed=retry_failed,
    )
    with stoppable(), progress_bars() as progress:
        runs = run_all(models, on, out, options, progress)
    for run in runs:
        list_skipped(tuple(f"item {f.item}, {f.part}: {f.reason}" for f in run.failures))
    _emit_runs(runs, as_json)


def import_(
    benchmark: Annotated[str, typer.Argument(help="A benchmark's folder, or its name.")],
    table: Annotated[Path, typer.Argument(help="CSV, TSV, JSONL or Parquet, also .gz.")],
    name: Annotated[str, typer.Option(help="What to call the model.")],
    out: Annotated[Path, typer.Option(help="Folder to write the run to.")],
    scored_cells: Annotated[
        bool,
        typer.Option(
            "--scored-cells",
            help="Choices and outcomes follow from scores of cells (chance level).",
        ),
    ] = False,
    skip_bad: SkipBad = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Make a run from answers that were computed elsewhere.

    Columns: item, image, caption, score (a row a cell); or item and a column a cell (0,0 0,1 ...);
    or item, question, choice; or item (or caption, negative_caption) and a column of true and false
    for each question (caption@0 or Ipos2T ... or correct); or BISON's predictions file.
    """
    from tellapart.score.importing import import_scores

    run = import_scores(
        benchmark,
        table,
        name=name,
        out=out,
        scored_cells=scored_cells,
        skip_bad=skip_bad,
        overwrite=overwrite,
    )
    missing = len(run.benchmark.items) - len(run.covered)
    if missing:
        note(f"{missing:,} items of {run.benchmark.name} are not in the table")
    _emit_runs([run], as_json)


def _emit_runs(runs: list[Any], as_json: bool) -> None:
    facts = [
        {
            "run": str(run.folder),
            "model": run.model,
            "benchmark": run.benchmark.name,
            "items": len(run.covered),
            "failures": len(run.failures),
        }
        for run in runs
    ]
    emit(facts, "\n".join(f"{run}  ->  {run.folder}" for run in runs), as_json)

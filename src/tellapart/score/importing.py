"""The verb `import`: answers that were computed elsewhere become a run like any other.

Read from CSV, TSV, JSONL or Parquet (also gzipped), or a JSON list of objects: scores (a row or a
column a cell), choices, outcomes (right or wrong for each question) and BISON's predictions file;
see `forms/`.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tellapart.benchmark.benchmark import Benchmark, load_benchmark
from tellapart.errors import BadInput, Problems
from tellapart.score.engine import versions
from tellapart.score.forms.choices import BisonPredictions, Choices
from tellapart.score.forms.form import Form
from tellapart.score.forms.outcomes import Outcomes
from tellapart.score.forms.scores import LongScores, WideScores
from tellapart.score.run import Run, RunCard, answers_frame, save_run, scores_frame
from tellapart.tables import read_json, read_table, require_columns, suffix, table_of

FORMS: tuple[type[Form], ...] = (LongScores, Choices, BisonPredictions, WideScores, Outcomes)


def import_scores(
    benchmark: Benchmark | Path | str,
    table: Path | str,
    *,
    name: str,
    out: Path | str,
    scored_cells: bool = False,
    skip_bad: bool = False,
    overwrite: bool = False,
) -> Run:
    """Make a run called `name` from a table.

    Every cell (or question) of every item must be there once. With `skip_bad` rows that fit
    nothing are left out and listed, cells that are missing are recorded as failures, and items
    that are missing altogether are not covered by the run. `scored_cells` says that choices or
    outcomes follow from scores of cells, which decides the chance level of joint measures.
    """
    benchmark = benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark)
    path = Path(table)
    rows = _rows(path)
    problems = Problems(skip=skip_bad)
    form = _form(rows, path)(benchmark, path, problems)
    kept = form.read(rows)
    failures = form.missing()
    problems.settle()
    scorer = form.kind == "scorer"
    card = RunCard(
        model=name,
        kind=form.kind,
        benchmark=benchmark.name,
        benchmark_sha256=benchmark.sha256,
        made_by=f"import of {path.name}",
        scored_cells=scorer or scored_cells,
        versions=versions(),
    )
    run = Run(
        card,
        benchmark,
        scores_frame(kept if scorer else []),
        answers_frame([] if scorer else kept),
        tuple(failures),
    )
    return save_run(run, Path(out), overwrite=overwrite)


def _rows(path: Path) -> pl.DataFrame:
    if suffix(path) != "json":
        return read_table(path)
    rows = read_json(path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows) or not rows:
        raise BadInput(
            f"{path.name} is not a list of objects",
            where=str(path),
            allowed='such as [{"bison_id": 0, "predicted_image_id": 143961}, ...]',
        )
    return table_of(rows, path)


def _form(rows: pl.DataFrame, path: Path) -> type[Form]:
    for form in FORMS:
        if form.fits(rows.columns):
            return form
    if {"question", "choice"} & set(rows.columns):
        require_columns(rows, Choices.columns, path)
    require_columns(rows, LongScores.columns, path)
    raise AssertionError("unreachable")

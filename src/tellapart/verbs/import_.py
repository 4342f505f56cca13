"""The verb `import`: answers that were computed elsewhere become a run like any other.

Read from CSV, TSV, JSONL or Parquet (also gzipped), or a JSON list of objects: scores (a row or a
column a cell), choices, outcomes (right or wrong for each question) and BISON's predictions file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tellapart.errors import BadInput, Problems
from tellapart.options import Help, Overwrite, SkipBad
from tellapart.verbs import BenchmarkSource, Verb, open_benchmark
from tellapart.verbs.evaluate import runs_json, runs_text

if TYPE_CHECKING:
    import polars as pl

    from tellapart.score.answer_tables import AnswerTable
    from tellapart.score.run import Run


def import_scores(
    benchmark: BenchmarkSource,
    table: Annotated[Path | str, Help("CSV, TSV, JSONL or Parquet, also .gz.")],
    *,
    name: Annotated[str, Help("What to call the model.")],
    out: Annotated[Path | str, Help("Folder to write the run to.")],
    scored_cells: Annotated[
        bool, Help("Choices and outcomes follow from scores of cells (chance level).")
    ] = False,
    skip_bad: SkipBad = False,
    overwrite: Overwrite = False,
) -> Run:
    """Make a run from answers that were computed elsewhere.

    Columns: item, image, caption, score (a row a cell); or item and a column a cell (0,0 0,1 ...);
    or item, question, choice; or item (or caption, negative_caption) and a column of true and false
    for each question (caption@0 or Ipos2T ... or correct); or BISON's predictions file.

    In Python as on the command line every cell (or question) of every item is needed once. With
    `skip_bad` rows that fit nothing are left out and listed, missing cells are recorded as
    failures, and missing items are not covered by the run. `scored_cells` decides the chance
    level of joint measures.
    """
    from tellapart.score.engine import versions
    from tellapart.score.run import Run, RunCard, answers_frame, save_run, scores_frame

    benchmark = open_benchmark(benchmark)
    path = Path(table)
    rows = _rows(path)
    problems = Problems(skip=skip_bad)
    form = _form(rows, path)(benchmark, path, problems)
    scorer = form.kind == "scorer"
    frame, failures = form.whole(rows), []
    if frame is None:
        kept = form.read(rows)
        failures = form.missing()
        problems.settle()
        frame = scores_frame(kept) if scorer else answers_frame(kept)
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
        frame if scorer else scores_frame([]),
        answers_frame([]) if scorer else frame,
        tuple(failures),
    )
    return save_run(run, Path(out), overwrite=overwrite)


def _rows(path: Path) -> pl.DataFrame:
    from tellapart.files import read_json, read_table, suffix, table_of

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


def _form(rows: pl.DataFrame, path: Path) -> type[AnswerTable]:
    from tellapart.files import require_columns
    from tellapart.score.answer_tables import FORMS, Choices, LongScores

    for form in FORMS:
        if form.fits(rows.columns):
            return form
    if {"question", "choice"} & set(rows.columns):
        require_columns(rows, Choices.columns, path)
    require_columns(rows, LongScores.columns, path)
    raise AssertionError("unreachable")


def _notes(run: Run) -> list[str]:
    missing = len(run.benchmark.items) - run.size
    return [f"{missing:,} items of {run.benchmark.name} are not in the table"] if missing else []


VERB = Verb(
    import_scores,
    example="tellapart import my-bison scores.csv --name mine --out runs/mine",
    text=lambda run: runs_text([run]),
    json=lambda run: runs_json([run]),
    notes=_notes,
)

"""The verb `import`: answers computed elsewhere become a run like any other.

Read from CSV, TSV, JSONL or Parquet (also gzipped), or a JSON list of objects: scores (one row or
column per cell), choices, outcomes (right or wrong for each question) and BISON's predictions file.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from tellapart.errors import BadInput, Problems, UnknownName
from tellapart.options import Help, Overwrite, SkipBad
from tellapart.verbs import BenchmarkSource, Verb, open_benchmark, skipped_notes
from tellapart.verbs.runs.evaluate import runs_json, runs_text

if TYPE_CHECKING:
    import polars as pl

    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.score.answer_tables import AnswerTable, Order
    from tellapart.score.run import Run

ORDERS = ("", "shown", "source")
OWN_COLUMNS = {"edit", "reply"}
"""Columns found only in tables of a run, whose option numbers are the benchmark's own."""
JOINT = "Group"
"""The measure whose chance level depends on how answers came about."""


def import_scores(
    benchmark: BenchmarkSource,
    table: Annotated[Path | str, Help("CSV, TSV, JSONL or Parquet, also .gz.")],
    *,
    name: Annotated[str, Help("Name of the model.")],
    out: Annotated[Path | str, Help("Folder to write the run to.")],
    scored_cells: Annotated[
        bool,
        Help("Choices and outcomes were derived from cell scores (this affects the chance level)."),
    ] = False,
    order: Annotated[
        str,
        Help(
            "How options are numbered, if they were shuffled: as in the authors' files (source), "
            "or as in this benchmark (shown).",
            choices=("shown", "source"),
        ),
    ] = "",
    threshold: Annotated[
        float | None,
        Help(
            "Scores above this mean that a caption is true: a classifier's own decision (T1@own)."
        ),
    ] = None,
    skip_bad: SkipBad = False,
    overwrite: Overwrite = False,
) -> Run:
    """Make a run from answers computed elsewhere.

    Columns: item, image, caption, score (one row per cell); or item and one column per cell (0,0
    0,1 ...); or item, question, choice; or item (or caption, negative_caption) and a column of true
    and false for each question (caption@0 or Ipos2T or text_score_i0 ... or correct); or BISON's
    predictions file. Choices may have columns trial and order (of the options, as shown).

    In Python: every cell (or question) of every item is needed once. With `skip_bad`, rows that
    match nothing are skipped and listed, missing cells are recorded as failures, and missing items
    are not covered by the run; the card's `notes` list and count them. `scored_cells` decides the
    chance level of joint measures. `order` is required if options are given by number and were
    shuffled when the benchmark was imported.
    """
    from tellapart.score.run import save_run

    if order not in ORDERS:
        raise UnknownName("order", order, ORDERS[1:])
    path = Path(table)
    run = _run(open_benchmark(benchmark), path, cast("Order", order), skip_bad)
    scorer = run.card.kind == "scorer"
    card = replace(
        run.card,
        model=name,
        threshold=threshold if scorer else None,
        scored_cells=scorer or scored_cells,
    )
    return save_run(replace(run, card=card), Path(out), overwrite=overwrite)


def _run(benchmark: Benchmark, path: Path, order: Order, skip_bad: bool) -> Run:
    """What the table says of a benchmark, as a run of a model without a name."""
    from tellapart.score.engine import versions
    from tellapart.score.run import Run, RunCard, answers_frame, scores_frame

    rows = _rows(path)
    problems = Problems(skip=skip_bad)
    own = not OWN_COLUMNS.isdisjoint(rows.columns)
    form = _form(rows, path)(benchmark, path, problems, "shown" if own else order)
    scorer = form.kind == "scorer"
    frame, failures, skipped = form.whole(rows), [], {}
    if frame is None:
        kept = form.read(rows)
        skipped = _skipped(problems, rows.height)
        failures = form.missing()
        problems.settle()
        frame = scores_frame(kept) if scorer else answers_frame(kept)
    card = RunCard(
        model="",
        kind=form.kind,
        benchmark=benchmark.name,
        benchmark_sha256=benchmark.sha256,
        made_by=f"import of {path.name}",
        versions=versions(),
        notes=skipped,
    )
    return Run(
        card,
        benchmark,
        frame if scorer else scores_frame([]),
        answers_frame([]) if scorer else frame,
        tuple(failures),
    )


def _skipped(problems: Problems, rows: int) -> dict[str, Any]:
    """The notes of the run's card about skipped rows."""
    if not len(problems):
        return {}
    listed = [f"{problem.what} ({problem.where})" for problem in problems.found]
    return {"skipped_rows": len(problems), "of_rows": rows, "skipped": listed}


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
    from tellapart.score.answer_tables import LongChoices, LongScores
    from tellapart.score.outcome_tables import FORMS

    for form in FORMS:
        if form.fits(rows.columns):
            return form
    if {"question", "choice"} & set(rows.columns):
        require_columns(rows, LongChoices.columns, path)
    require_columns(rows, LongScores.columns, path)
    raise AssertionError("unreachable")


def _notes(run: Run) -> list[str]:
    """Which rows of the table are not in the run, and which items are not in the table."""
    notes, lines = run.card.notes, list[str]()
    joint = JOINT in run.benchmark.card.measures
    if joint and not run.card.scored_cells:
        lines.append(
            f"the answers count as given one by one, which lowers the chance level of {JOINT}; if "
            "they follow from scores of pairs, add --scored-cells"
        )
    if notes:
        lines += skipped_notes(tuple(notes["skipped"]))
        lines.append(f"{notes['skipped_rows']:,} of {notes['of_rows']:,} rows were skipped")
    if run.failures:
        lines.append(f"{len(run.failures):,} answers to items in the table are missing")
    missing = len(run.benchmark.items) - run.size
    if missing:
        lines.append(f"{missing:,} items of {run.benchmark.name} are not in the table")
    return lines


VERB = Verb(
    import_scores,
    example="tellapart import my-bison scores.csv --name mine --out runs/mine",
    text=lambda run: runs_text([run]),
    json=lambda run: runs_json([run]),
    notes=_notes,
)

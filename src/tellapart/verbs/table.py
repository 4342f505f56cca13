"""The verb `table`: a paper's tables with ours beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tellapart.errors import BadInput
from tellapart.options import Help
from tellapart.types import Progress, silent
from tellapart.verbs import TableFlags, Verb, table_text

if TYPE_CHECKING:
    from tellapart.corpus.corpus import Corpus
    from tellapart.measures.captions.metric_scores import CaptionScore
    from tellapart.papers.figures import PublishedTable
    from tellapart.papers.table import PaperTables
    from tellapart.score.run import Run


def table(
    name: Annotated[str, Help("A published table such as bison-2, or all of a paper: bison.")],
    progress: Progress = silent,
    *,
    runs: Annotated[
        Sequence[Run | Path | str], Help("Runs, or folders of runs; may be repeated.", repeat=True)
    ] = (),
    captions: Annotated[
        Sequence[Path | str],
        Help(
            "Results files named after the systems that wrote them; may be repeated.", repeat=True
        ),
    ] = (),
    references: Annotated[
        Corpus | Path | str, Help("What people wrote of the captions' images: any corpus.")
    ] = "",
    metrics: Annotated[
        Sequence[str], Help("Only these metrics of captions (default: all that can be computed).")
    ] = (),
    retrieval: Annotated[
        Sequence[Path | str], Help("Files of retrieve --json; may be repeated.", repeat=True)
    ] = (),
) -> PaperTables:
    """Print a paper's tables with our systems beside the published ones.

    Runs, captions and retrieval of one system are joined; several trainings of one system are
    averaged. What ours depart in (training set, features, items, images) stands below.
    """
    from tellapart.measures.scores import measure_runs
    from tellapart.papers.figures import tables_named
    from tellapart.papers.table import (
        PaperTables,
        caption_figures,
        join_table,
        retrieval_figures,
        run_figures,
    )

    wanted = tables_named(name)
    of_runs = _fitting(runs, wanted) if runs else {}
    judged = _judged(wanted, captions, references, metrics, progress) if captions else ()
    every = {row.system for one in wanted for row in one.rows if row.system}
    made = []
    for published in wanted:
        measures = [column.measure for column in published.columns if column.measure]
        own = of_runs.get(published.benchmark, [])
        measured = measure_runs(own, measures=measures).rows if own else ()
        figures = [
            *run_figures(published, measured),
            *caption_figures(published, judged),
            *retrieval_figures(published, map(Path, retrieval)),
        ]
        made.append(join_table(published, figures, every).with_notes(_built(own)))
    return PaperTables(tuple(made))


def _built(runs: Sequence[Run]) -> list[str]:
    """What to know of runs on benchmarks that were built here the paper's way."""
    from tellapart.papers.figures import builder_of

    built = {run.benchmark.sha256: run.benchmark for run in runs if builder_of(run.benchmark)}
    return [
        f"ours: on {len(one.items):,} items that {one.card.made['by']} made of "
        f"{one.card.made.get('corpus', 'a corpus')}, not on the published ones"
        for one in built.values()
    ]


def _fitting(
    runs: Sequence[Run | Path | str], wanted: Sequence[PublishedTable]
) -> dict[str, list[Run]]:
    """The runs of the tables' own benchmarks, or of benchmarks that were built as theirs were."""
    from tellapart.measures.scores import read_runs
    from tellapart.papers.figures import builder_of, importer_of

    read = read_runs(list(runs), None)
    of: dict[str, list[Run]] = {}
    for run in read:
        of.setdefault(importer_of(run.benchmark) or builder_of(run.benchmark), []).append(run)
    benchmarks = sorted({table.benchmark for table in wanted})
    if not set(benchmarks) & set(of):
        raise BadInput(
            "no run is of the benchmark that the table is about",
            where=", ".join(sorted({run.benchmark.name for run in read})),
            allowed=" or ".join(
                f"runs of what `tellapart get {one}` or `tellapart build {one}` gives"
                for one in benchmarks
            ),
        )
    return of


def _judged(
    wanted: Sequence[PublishedTable],
    captions: Sequence[Path | str],
    references: Corpus | Path | str,
    metrics: Sequence[str],
    progress: Progress,
) -> tuple[CaptionScore, ...]:
    from tellapart.measures.captions.judge import judge_captions
    from tellapart.measures.options import CaptionOptions
    from tellapart.text.caption_metrics.metric import metric_of

    named = [column.metric for table in wanted for column in table.columns if column.metric]
    if not named:
        raise BadInput(f"{wanted[0].name} has no captions in it", todo="leave --captions out")
    if references == "":
        raise BadInput("no references were given", todo="name a corpus with --references")
    chosen = [name for name in named if not metrics or name in metrics]
    able = tuple(name for name in chosen if metric_of(name).lacking() is None)
    options = CaptionOptions(metrics=able)
    return judge_captions(list(captions), references, options, progress).scores


VERB = Verb(
    table,
    example="tellapart table bison --runs runs --captions updown.json --references captions.json",
    text=table_text,
    flags=TableFlags,
)

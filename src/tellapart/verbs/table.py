"""The verb `table`: a paper's table with ours beside it."""

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
    from tellapart.papers.figures import PublishedTable
    from tellapart.papers.table import OwnFigure, PaperTable
    from tellapart.score.run import Run


def table(
    name: Annotated[str, Help("A published table: bison-2, bison-3, foil-2, mcic-3, bivlc-3.")],
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
) -> PaperTable:
    """Print a paper's table with our systems beside the published ones.

    Runs, captions and retrieval of one system are joined; several trainings of one system are
    averaged. What ours depart in (training set, features, items, images) stands below.
    """  # fmt: skip
    from tellapart.measures.scores import measure_runs, read_runs
    from tellapart.papers.figures import published_table
    from tellapart.papers.table import join_table, retrieval_figures, run_figures

    published = published_table(name)
    figures: list[OwnFigure] = []
    if runs:
        wanted = [one.measure for one in published.columns if one.measure]
        read = _fitting(read_runs(list(runs), None), published)
        figures += run_figures(published, measure_runs(read, measures=wanted).rows)
    if captions:
        figures += _judged(published, captions, references, metrics, progress)
    figures += retrieval_figures(published, map(Path, retrieval))
    return join_table(published, figures)


def _fitting(runs: Sequence[Run], published: PublishedTable) -> list[Run]:
    """The runs of the table's own benchmark."""
    from tellapart.papers.figures import importer_of

    kept = [run for run in runs if importer_of(run.benchmark) == published.benchmark]
    if not kept:
        names = ", ".join(sorted({run.benchmark.name for run in runs}))
        raise BadInput(
            f"no run is of the benchmark that {published.name} is about",
            where=names,
            allowed=f"runs of what `tellapart get {published.benchmark}` gives, or of a part of it",
        )
    return kept


def _judged(
    published: PublishedTable,
    captions: Sequence[Path | str],
    references: Corpus | Path | str,
    metrics: Sequence[str],
    progress: Progress,
) -> list[OwnFigure]:
    from tellapart.measures.caption_judge import judge_captions
    from tellapart.measures.options import CaptionOptions
    from tellapart.papers.table import caption_figures
    from tellapart.text.caption_metrics.metric import metric_of

    wanted = [one.metric for one in published.columns if one.metric]
    if not wanted:
        raise BadInput(f"{published.name} has no captions in it", todo="leave --captions out")
    if references == "":
        raise BadInput("no references were given", todo="name a corpus with --references")
    chosen = [name for name in wanted if not metrics or name in metrics]
    able = tuple(name for name in chosen if metric_of(name).lacking() is None)
    judged = judge_captions(list(captions), references, CaptionOptions(metrics=able), progress)
    return caption_figures(published, judged.scores)


VERB = Verb(
    table,
    example="tellapart table bison-2 --runs runs --captions updown.json --references captions.json",
    text=table_text,
    flags=TableFlags,
)

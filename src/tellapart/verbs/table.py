"""The verb `table`: a paper's tables with our results beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tellapart.errors import BadInput
from tellapart.options import Help
from tellapart.types import Progress, silent
from tellapart.verbs import TableFlags, Verb, table_text

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus
    from tellapart.measures.captions.metric_scores import CaptionScore
    from tellapart.measures.options import CaptionOptions
    from tellapart.measures.scores import Estimate
    from tellapart.papers.figures import FigureColumn, PublishedTable
    from tellapart.papers.pairs import PairsTable, PublishedPairs
    from tellapart.papers.table import OwnFigure, PaperTable, PaperTables
    from tellapart.score.run import Run


def table(
    name: Annotated[
        str, Help("A published table such as bison-2, or a paper for all of its tables: bison.")
    ],
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
        Corpus | Path | str, Help("Reference captions of the images: any corpus.")
    ] = "",
    words_from: Annotated[
        Path | None,
        Help("For tables that replace rare words by one token: the corpus to count words in."),
    ] = None,
    metrics: Annotated[
        Sequence[str], Help("Only these caption metrics (default: all that can be computed).")
    ] = (),
    retrieval: Annotated[
        Sequence[Path | str], Help("Output files of retrieve --json; may be repeated.", repeat=True)
    ] = (),
) -> PaperTables:
    """Print a paper's tables with our systems beside the published ones.

    Runs, captions and retrieval results of one system are joined; several trainings of one system
    are averaged. Notes below each table say how our setup departs from the paper's (training set,
    features, items, images).
    """
    from tellapart.measures.options import CaptionOptions
    from tellapart.papers.figures import tables_named
    from tellapart.papers.pairs import pairs_named, pairs_table
    from tellapart.papers.table import PaperTables, caption_figures, retrieval_figures

    pairs = pairs_named(name)
    wanted = tables_named(name) if not pairs or name != pairs[0].name else ()
    of_runs = _runs_by_benchmark(runs, [*wanted, *pairs]) if runs else {}
    judged: tuple[CaptionScore, ...] = ()
    if captions:
        prepare = next((one.prepare for one in wanted if one.prepare), "")
        how = CaptionOptions(
            metrics=_computable_metrics(wanted, metrics),
            prepare=prepare,
            words_from=words_from if prepare else None,
        )
        judged = _score_captions(captions, references, how, progress)
    systems = {row.system for one in wanted for row in one.rows if row.system}
    tables: list[PaperTable | PairsTable] = []
    for published in wanted:
        figures = [
            *caption_figures(published, judged),
            *retrieval_figures(published, map(Path, retrieval)),
        ]
        tables.append(_joined(published, figures, of_runs, systems, progress))
    tables += [pairs_table(one, of_runs.get((one.benchmark, ""), [])) for one in pairs]
    return PaperTables(tuple(tables))


def _joined(
    published: PublishedTable,
    figures: Sequence[OwnFigure],
    of_runs: Mapping[tuple[str, str], list[Run]],
    systems: set[str],
    progress: Progress,
) -> PaperTable:
    """One table with the figures that are given, and those of the runs on its benchmarks."""
    from tellapart.papers.pairs import facts_of
    from tellapart.papers.table import join_table, run_figures

    found = list(figures)
    alone: dict[FigureColumn, float] = {}
    for built in dict.fromkeys(one.built for one in published.columns if one.measure):
        own = of_runs.get((published.benchmark, built), [])
        if own:
            found += run_figures(published, _measured(published, own), built)
        if built and own:
            alone |= _text_alone(published, built, own[0].benchmark, progress)
    own = of_runs.get((published.benchmark, ""), [])
    beside = facts_of(own, progress) if published.builds else ()
    return join_table(published, found, systems, beside, alone)


def _measured(table: PublishedTable, runs: Sequence[Run]) -> Sequence[Estimate]:
    """The runs' scores on a table's measures, by kind if the table has columns of kinds.

    Ties of models that never look are halved, as wherever they stand beside others.
    """
    from tellapart.measures.contestants import is_reference
    from tellapart.measures.scores import measure_runs

    measures = list(dict.fromkeys(column.measure for column in table.columns if column.measure))
    by = "kind" if any(column.kind for column in table.columns) else ""
    rows = measure_runs(runs, measures=measures, by=by).rows
    if not any(is_reference(row.model) for row in rows):
        return rows
    halved = measure_runs(runs, measures=measures, by=by, ties="half").rows
    lines = [row for row in halved if is_reference(row.model)]
    return [*(row for row in rows if not is_reference(row.model)), *lines]


def _runs_by_benchmark(
    runs: Sequence[Run | Path | str], wanted: Sequence[PublishedTable | PublishedPairs]
) -> dict[tuple[str, str], list[Run]]:
    """The runs on the tables' own benchmarks, by how the benchmarks were built."""
    from tellapart.measures.scores import read_runs
    from tellapart.mine.mcic import PAPER
    from tellapart.papers.figures import source_of

    read = read_runs(list(runs), None)
    builds = {table.benchmark for table in wanted if table.builds}
    of: dict[tuple[str, str], list[Run]] = {}
    for run in read:
        made_by, built = source_of(run.benchmark)
        # A benchmark from a paper's authors counts as built the paper's way.
        ways = {built, ""} if built and made_by in builds else {built} if built else {"", PAPER}
        for way in ways:
            of.setdefault((made_by, way), []).append(run)
    asked = {(table.benchmark, "") for table in wanted}
    for table in wanted:
        asked |= {(table.benchmark, column.built) for column in table.columns}
    if not asked & set(of):
        raise BadInput(
            "none of the runs is on the table's benchmark",
            where=", ".join(sorted({run.benchmark.name for run in read})),
            allowed=" or ".join(
                f"runs on the benchmark from `tellapart get {one}`, or on part of it"
                + (f"; or on one from `tellapart build {one}`" if one in builds else "")
                for one in sorted({table.benchmark for table in wanted})
            ),
        )
    return of


def _text_alone(
    table: PublishedTable, built: str, benchmark: Benchmark, progress: Progress
) -> dict[FigureColumn, float]:
    """What the text alone reveals of a benchmark, in percent, for the columns about it."""
    from tellapart.attack.text_alone import read_by, text_alone

    known = text_alone(benchmark, progress=progress)
    if known is None:
        return {}
    return {
        column: 100 * known.overall.value
        for column in table.columns
        if column.built == built and column.measure in read_by(benchmark)
    }


def _computable_metrics(
    wanted: Sequence[PublishedTable], metrics: Sequence[str]
) -> tuple[str, ...]:
    """The tables' metrics that were requested and can be computed."""
    from tellapart.text.caption_metrics.metric import metric_of

    named = [column.metric for table in wanted for column in table.columns if column.metric]
    if not named:
        raise BadInput(f"{wanted[0].name} has no caption metrics", todo="omit --captions")
    chosen = [name for name in named if not metrics or name in metrics]
    return tuple(name for name in chosen if metric_of(name).lacking() is None)


def _score_captions(
    captions: Sequence[Path | str],
    references: Corpus | Path | str,
    options: CaptionOptions,
    progress: Progress,
) -> tuple[CaptionScore, ...]:
    from tellapart.measures.captions.judge import judge_captions

    if references == "":
        raise BadInput("no references were given", todo="name a corpus with --references")
    return judge_captions(list(captions), references, options, progress).scores


VERB = Verb(
    table,
    example="tellapart table bison --runs runs --captions updown.json --references captions.json",
    text=table_text,
    flags=TableFlags,
)

"""Writing a report: one HTML page about runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tellapart.errors import BadInput
from tellapart.files import write_text
from tellapart.measures.scores import read_runs
from tellapart.measures.ties import check_rule
from tellapart.reports.charts import (
    MAX_SERIES,
    kinds_chart,
    main_chart,
    overview_chart,
    write_charts,
)
from tellapart.reports.curves import training_curves
from tellapart.reports.gallery import chosen_items, make_gallery
from tellapart.reports.options import ReportOptions
from tellapart.reports.page import Page, Section, render
from tellapart.reports.picks import verdict_measure
from tellapart.reports.provenance import provenance
from tellapart.reports.results import (
    BenchmarkResults,
    StepCounter,
    group_runs,
    measure_runs,
    overview,
    steps_for,
)
from tellapart.reports.score_tables import kinds_tables, measures_table, write_latex
from tellapart.reports.showcase import showcase
from tellapart.reports.summary import BenchmarkSummary, summarise
from tellapart.score.run import Run, find_runs
from tellapart.types import Progress


def write_report(
    runs: Run | Path | str | Sequence[Run | Path | str],
    out: Path | str,
    options: ReportOptions,
    progress: Progress,
) -> Path:
    """Write a report on some runs (or folders of runs) and return its path.

    The page is one file that includes pictures, charts and a small script, and loads nothing from
    the network. The same runs give the same bytes.
    """
    ties = check_rule(options.ties)
    if options.gallery < 0:
        raise BadInput(f"a gallery of {options.gallery} items is not possible", allowed="0 or more")
    readable, left_out = _read(runs, options)
    grouped = group_runs(readable)
    available = sum(len(set[str]().union(*(run.covered for run in group))) for group in grouped)
    steps = StepCounter(steps_for(grouped) + min(options.gallery, available), progress)
    benchmarks = measure_runs(readable, ties, options.skip_bad, steps)
    chosen = chosen_items(benchmarks, options.gallery)
    table = overview(benchmarks)
    opening = showcase(benchmarks) if options.gallery else []
    summary = summarise(benchmarks, table)
    sections = tuple(_section(s, f) for s, f in zip(benchmarks, summary.benchmarks, strict=True))
    page = Page(
        title=options.title,
        summary=summary,
        sections=sections,
        overview=table,
        chart=overview_chart(table),
        gallery=make_gallery(benchmarks, chosen, steps, opening),
        judged_by=tuple(
            (results.label, verdict_measure(results.measures).name) for results in benchmarks
        ),
        ties=ties,
        provenance=provenance(benchmarks, ties, left_out),
        curves=training_curves(readable),
    )
    if options.charts is not None:
        own = (one for s in sections for one in (s.chart, s.kinds_chart))
        charts = [one for one in (page.chart, *own) if one is not None]
        write_charts(charts, Path(options.charts))
    if options.latex is not None:
        write_latex([t for s in sections for t in (s.table, *s.by_kind)], Path(options.latex))
    out = Path(out)
    write_text(out, render(page))
    return out


def _read(
    runs: Run | Path | str | Sequence[Run | Path | str], options: ReportOptions
) -> tuple[list[Run], list[str]]:
    """The runs, and with `skip_bad` the problems of those that cannot be read."""
    readable: list[Run] = []
    left_out: list[str] = []
    if not options.skip_bad:
        readable = read_runs(runs, options.on)
    else:
        for source in runs if isinstance(runs, Sequence) and not isinstance(runs, str) else [runs]:
            try:
                parts = [source] if isinstance(source, Run) else find_runs([source])
            except BadInput as error:
                left_out.append(error.what)
                continue
            for part in parts:
                try:
                    readable += read_runs(part, options.on)
                except BadInput as error:
                    left_out.append(f"{part}: {error.what}")
    if not readable:
        raise BadInput(
            "there are no runs to report on" + (f": {left_out[0]}" if left_out else ""),
            allowed="at least one run",
            todo="create one with: tellapart evaluate MODEL --on BENCH --out RUNS",
        )
    return readable, left_out


def _section(results: BenchmarkResults, summary: BenchmarkSummary) -> Section:
    shown = min(MAX_SERIES - 1, len(results.entries))
    note = ""
    if shown < len(results.entries):
        main = results.shown(results.main.name)
        note = f"The {shown} models with the highest {main} of {len(results.entries)}."
    return Section(
        summary=summary,
        results=results,
        table=measures_table(results),
        by_kind=tuple(kinds_tables(results)),
        chart=main_chart(results),
        kinds_chart=kinds_chart(results),
        kinds_note=note,
    )

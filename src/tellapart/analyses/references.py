"""`analyse references`: captioning scores with fewer references (BISON, Figure 4)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import polars as pl

from tellapart.analyses.analysis import Analysis, AnalysisKind, AnalysisOptions, ResultTable
from tellapart.analyses.figure import Figure, Panel
from tellapart.analyses.sources import ResultFiles, paths_of
from tellapart.errors import BadInput
from tellapart.measures.captions.judge import judge_captions
from tellapart.measures.options import CaptionOptions
from tellapart.options import Help
from tellapart.types import Progress, silent

METRICS = ("BLEU-4", "CIDEr-D", "ROUGE-L")
LEAST = 0.005
"""A score below this is printed as 0.00, and a share of it says nothing."""
FORMS = {"score": ".2f", "spread": ".2f", "relative": ".3f"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceOptions(AnalysisOptions):
    """How many references to use."""

    references: Annotated[Path | None, Help("Captions by people: any corpus.")] = None
    metrics: Annotated[tuple[str, ...], Help("Caption metrics, separated by commas.")] = METRICS
    used: Annotated[tuple[int, ...], Help("Numbers of references, such as 1-5.")] = (1, 2, 3, 4, 5)
    repeats: Annotated[int, Help("How many times to draw random references.")] = 5


def analyse_references(
    results: ResultFiles,
    options: ReferenceOptions = ReferenceOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Analysis:
    """How captioning scores depend on the number of references, relative to all of them.

    References are drawn at random, the same for every system; the band is two standard deviations
    over draws.
    """
    if options.references is None:
        raise BadInput("no references were given", todo="name a corpus with --references")
    chosen = CaptionOptions(
        metrics=options.metrics, references_used=options.used, repeats=options.repeats,
        resamples=1, permutations=1, seed=options.seed, skip_bad=True,
    )  # fmt: skip
    found = judge_captions(paths_of(results), options.references, chosen, progress)
    shown = {(row.system, row.metric): row.value for row in found.scores
             if row.scale * row.value >= LEAST}  # fmt: skip
    frame = pl.DataFrame(
        [
            {
                "system": row.system, "metric": row.metric, "references": row.used,
                "score": row.scale * row.value, "spread": row.scale * row.spread,
                "relative": row.value / shown[row.system, row.metric],
                "band": 2 * row.spread / shown[row.system, row.metric],
            }
            for row in found.fewer
            if (row.system, row.metric) in shown
        ]
    )  # fmt: skip
    if not frame.height:
        raise BadInput("every score is 0, so references make no difference that can be shown")
    sentences = [
        f"{row.system}: {row.metric} is 0.00 with all references, so fewer cannot be compared."
        for row in found.scores
        if (row.system, row.metric) not in shown
    ]
    draws = "± {:.2f} over draws" if options.repeats > 1 else "a single draw"
    for (system, metric), rows in frame.group_by("system", "metric", maintain_order=True):
        first, last = rows.row(0, named=True), rows.row(-1, named=True)
        sentences.append(
            f"{system}: {metric} with {first['references']} reference"
            f"{'' if first['references'] == 1 else 's'} is {first['score']:.2f} "
            f"({draws.format(first['spread'])}), {100 * first['relative']:.0f}% of its "
            f"{last['score']:.2f} with {last['references']}."
        )
    panels = []
    for (system,), rows in frame.group_by("system", maintain_order=True):
        points = tuple(
            {
                "x": r["references"], "y": r["relative"], "series": r["metric"],
                "low": r["relative"] - r["band"], "high": r["relative"] + r["band"],
            }
            for r in rows.iter_rows(named=True)
        )  # fmt: skip
        panels.append(
            Panel(
                "lines", points, "references", "score relative to all", str(system), reference=1.0
            )
        )
    title = "Captioning scores by the number of references"
    figure = Figure(title, f"{title}. {' '.join(sentences)}", tuple(panels))
    tables = (ResultTable("references", title, frame.drop("band"), FORMS),)
    return Analysis("references", title, tuple(sentences), tables, figure, found.remarks)


ANALYSIS = AnalysisKind(
    analyse_references, "tellapart analyse references updown.json --references captions.json"
)

"""`analyse scores`: captioning scores of rightly and wrongly answered items (BISON, Figure 7)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from tellapart.analyses.analysis import Analysis, AnalysisKind, ResultTable
from tellapart.analyses.figure import Figure, Panel
from tellapart.analyses.units import Sources, UnitOptions, UnitTable, unit_table
from tellapart.corpus.coco import coco_id
from tellapart.errors import BadInput
from tellapart.files import read_table, require_columns
from tellapart.measures.captions.judge import judge_captions
from tellapart.measures.options import CaptionOptions
from tellapart.options import Help
from tellapart.stats.roc import auc
from tellapart.types import Bools, Floats, Ints, Progress, silent

BINS = 12
RIGHT, WRONG = "rightly answered", "wrongly answered"
METRICS = ("BLEU-4", "CIDEr-D", "ROUGE-L")
FORMS = {
    **dict.fromkeys(("AUC", "low"), ".3f"),
    **dict.fromkeys(("mean_right", "mean_wrong"), ".3g"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions(UnitOptions):
    """Where the captioning scores come from."""

    captions: Annotated[
        Path | None, Help("The system's captions: a COCO results file or a table.")
    ] = None
    references: Annotated[Path | None, Help("Captions by people: any corpus.")] = None
    metrics: Annotated[tuple[str, ...], Help("Caption metrics, separated by commas.")] = METRICS
    per_image: Annotated[
        Path | None,
        Help("Instead of both: a table with one row per image, as captions --per-image writes."),
    ] = None


def analyse_scores(
    runs: Sources,
    options: ScoreOptions = ScoreOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Analysis:
    """Are captions better where answers are right? Captioning scores of both, and the AUC.

    An item's captioning score is that of the caption the system wrote for its image (the true
    image, if it has several). The AUC is the chance that a rightly answered item has a higher
    score than a wrongly answered one: 0.5 if captioning scores say nothing about grounding.
    """
    units = unit_table(runs, options)
    per_image = _per_image(options, progress)
    metrics = [name for name, kind in per_image.schema.items() if kind.is_numeric()]
    scores = _of_units(units, per_image, metrics)
    rows: list[dict[str, Any]] = []
    panels: list[Panel] = []
    sentences: list[str] = []
    without: list[str] = []
    for run, model in enumerate(units.models):
        values, clusters, at = units.of(run)
        for metric in metrics:
            own = scores[metric][at]
            known = np.isfinite(own)
            if not known.all():
                left = f"{(~known).sum():,} of {len(known):,} answers have no {metric}"
                without.append(f"{model}: {left} of their image and are left out")
            right = values[known] >= 0.5
            row = _separation(model, metric, own[known], right, clusters[known])
            rows.append(row)
            sentences.append(_sentence(row))
            if run == 0:
                panels.append(_panel(metric, own[known], right))
    frame = pl.DataFrame(rows)
    table = ResultTable(
        "separation", "Captioning scores by whether the answer is right", frame, FORMS
    )
    title = f"{units.benchmark.name}: captioning scores of right and wrong answers"
    words = f"{title}. {' '.join(sentences)}"
    methods = (
        "interval: Obuchowski 1997, over groups of items that share images",
        *dict.fromkeys(without),
    )
    figure = Figure(title, words, tuple(panels), columns=2)
    return Analysis("scores", title, tuple(sentences), (table,), figure, methods)


def _per_image(options: ScoreOptions, progress: Progress) -> pl.DataFrame:
    """One row per image: `image` and its score by each metric."""
    if options.per_image is not None:
        table = read_table(options.per_image)
        require_columns(table, ["image"], options.per_image)
        numbers = [
            pl.col(name).cast(pl.Float64, strict=False)
            for name in table.columns if name not in ("image", "caption", "system")
        ]  # fmt: skip
        table = table.select(pl.col("image").cast(pl.String), *numbers)
    elif options.captions is None or options.references is None:
        raise BadInput(
            "no captioning scores were given",
            allowed="--captions RESULTS with --references CORPUS, or --per-image TABLE",
        )
    else:
        chosen = CaptionOptions(metrics=options.metrics, resamples=1, permutations=1, skip_bad=True)
        table = judge_captions(options.captions, options.references, chosen, progress).per_image
        table = table.drop("system", "caption")
    if table["image"].is_duplicated().any():
        raise BadInput(
            "an image has two captions: the table has several systems",
            allowed="one system, one row per image",
        )
    return table


def _of_units(units: UnitTable, table: pl.DataFrame, metrics: list[str]) -> dict[str, Floats]:
    """The scores of each unit's image; NaN if it has no caption."""
    images = [item.images[min(item.true)[0]] for item in units.benchmark.items]
    known = {name: k for k, name in enumerate(table["image"])}
    places = np.array([known.get(name, known.get(coco_id(name) or "", -1)) for name in images])
    if (places < 0).all():
        raise BadInput(
            f"no image of {units.benchmark.name} has a captioning score",
            allowed=f"captions of images such as {images[0]}",
        )
    at = places[units.item]
    made = {}
    for metric in metrics:
        column = np.append(table[metric].cast(pl.Float64).to_numpy(), np.nan)
        made[metric] = column[at]
    return made


def _separation(
    model: str, metric: str, scores: Floats, right: Bools, clusters: Ints
) -> dict[str, Any]:
    if right.all() or not right.any():
        raise BadInput(
            f"{len(right):,} answers of {model} have a captioning score, and all are "
            + ("right" if right.all() else "wrong"),
            allowed="some of each",
        )
    area, interval = auc(scores[right], scores[~right], clusters[right], clusters[~right])
    return {
        "model": model, "metric": metric, "right": int(right.sum()), "wrong": int((~right).sum()),
        "mean_right": float(scores[right].mean()), "mean_wrong": float(scores[~right].mean()),
        "AUC": area, "low": interval.low, "high": interval.high,
    }  # fmt: skip


def _sentence(row: dict[str, Any]) -> str:
    ends = (
        f"AUC {row['AUC']:.3f} ({row['low']:.3f} to {row['high']:.3f}; {row['right']:,} right, "
        f"{row['wrong']:,} wrong)"
    )
    if row["low"] <= 0.5 <= row["high"]:
        return (
            f"{row['model']}: {row['metric']} is not shown to differ between right and wrong "
            f"answers, {ends}."
        )
    way = "higher" if row["AUC"] > 0.5 else "lower"
    return f"{row['model']}: {row['metric']} is {way} where the answer is right, {ends}."


def _panel(metric: str, scores: Floats, right: Bools) -> Panel:
    """Shares of right and wrong items by score range; the last range includes the maximum."""
    top = float(np.quantile(scores, 0.98)) or float(scores.max()) or 1.0
    edges = np.linspace(0, top, BINS + 1)
    digits = max(2, 1 - int(np.floor(np.log10(edges[1]))))
    rows = []
    for series, own in ((RIGHT, scores[right]), (WRONG, scores[~right])):
        counts = np.histogram(np.minimum(own, top), edges)[0]
        rows += [
            {
                "label": f"{edge:.{digits}f}",
                "y": float(100 * n / max(1, len(own))),
                "series": series,
            }
            for edge, n in zip(edges, counts, strict=False)
        ]
    return Panel("bars", tuple(rows), f"{metric} from", "% of items", metric)


ANALYSIS = AnalysisKind(
    analyse_scores,
    "tellapart analyse scores runs/bison/updown --captions updown.json --references captions.json",
)

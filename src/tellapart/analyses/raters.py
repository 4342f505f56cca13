"""`analyse raters`: how much people agree, pair by pair (BiVLC, Table 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import polars as pl

from tellapart.analyses.analysis import Analysis, AnalysisKind, AnalysisOptions, ResultTable
from tellapart.analyses.figure import Figure, Panel, dot_rows
from tellapart.analyses.sources import StudyExports, paths_of
from tellapart.errors import BadInput
from tellapart.files import read_json
from tellapart.options import Help
from tellapart.types import Progress, silent

COHEN = "Cohen's kappa"
RESULTS = "results.json"
FORMS = {"value": ".2f", "low": ".2f"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterOptions(AnalysisOptions):
    """Which definition of the same answer to use."""

    same: Annotated[str, Help("Only this definition of the same answer (see the table).")] = ""


def analyse_raters(
    results: StudyExports,
    options: RaterOptions = RaterOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Analysis:
    """How much people agree: every coefficient of a study, and Cohen's kappa pair by pair.

    Read from the folders that study export writes.
    """
    rows: list[dict[str, Any]] = []
    for path in paths_of(results):
        file = path / RESULTS if path.is_dir() else path
        stored = read_json(file) if file.is_file() else None
        if not isinstance(stored, dict) or "agreement" not in stored:
            raise BadInput(
                f"{file} has no agreement figures" if stored else f"there is no file {file}",
                allowed="results.json of a folder that tellapart study export wrote",
            )  # fmt: skip
        rows += [{"study": stored.get("study", path.name), **row} for row in stored["agreement"]]
    rows = [row for row in rows if options.same in ("", row["about"])]
    if not rows:
        raise BadInput(
            "no task has two judgements, so agreement cannot be computed",
            allowed="a study with several judgements of some tasks",
        )
    frame = pl.DataFrame(rows).select(
        "study", "stage", pl.col("about").alias("the same"), pl.col("measure").alias("agreement"),
        "people", "value", "low", "high", "items",
    )  # fmt: skip
    pairs = frame.filter(pl.col("agreement") == COHEN)
    sentences = []
    for (study, same), own in pairs.group_by("study", "the same", maintain_order=True):
        kappas = own["value"].to_list()
        if len(kappas) == 1:
            (pair,) = own.iter_rows(named=True)
            sentences.append(
                f"{study}: Cohen's kappa ({same}) of the one pair of people is {pair['value']:.2f} "
                f"({pair['low']:.2f} to {pair['high']:.2f}) over {pair['items']:,} items."
            )
            continue
        sentences.append(
            f"{study}: Cohen's kappa ({same}) averages {sum(kappas) / len(kappas):.2f} over "
            f"{own.height:,} pairs of people, from {min(kappas):.2f} to {max(kappas):.2f}."
        )
    for row in frame.filter(pl.col("agreement") != COHEN).iter_rows(named=True):
        pairs_of_people = "pairs" in row["people"]
        over = f"{row['people']} of people" if pairs_of_people else f"{row['items']:,} items"
        sentences.append(
            f"{row['study']}: {row['agreement']} ({row['the same']}) is {row['value']:.2f} "
            f"({row['low']:.2f} to {row['high']:.2f}) over {over}."
        )
    value, low, high = (frame[c].to_list() for c in ("value", "low", "high"))
    title = "Agreement between people"
    panel = Panel("dots", tuple(dot_rows(_labels(frame), value, low, high)[:30]),
                  "agreement (bar: 95% interval)", reference=0.0,
                  domain=(min(0.0, *low), 1.0))  # fmt: skip
    figure = Figure(title, f"{title}. {' '.join(sentences)}", (panel,))
    table = ResultTable("raters", title, frame, FORMS)
    methods = (
        "interval: bootstrap over groups of items; where two people always agree it has no width "
        "and says nothing about other items",
    )
    return Analysis("raters", title, tuple(sentences), (table,), figure, methods)


def _labels(frame: pl.DataFrame) -> list[str]:
    """A label for each row that no other row has; what all rows share is left out."""
    apart = [name for name in ("study", "stage", "the same") if frame[name].n_unique() > 1]
    labels = []
    for row in frame.iter_rows(named=True):
        name = row["agreement"]
        if name == COHEN:
            name = row["people"].replace(" and ", " / ").replace("p-", "")
        elif "pairs" in row["people"]:
            name = f"mean of {row['people']}"
        labels.append(", ".join([name, *(row[one] for one in apart)]))
    return labels


ANALYSIS = AnalysisKind(analyse_raters, "tellapart analyse raters results")

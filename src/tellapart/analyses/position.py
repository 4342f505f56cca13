"""`analyse position`: does the position of the foil matter (FOIL, section 5)?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.analyses.analysis import Analysis, AnalysisKind, ResultTable, plain
from tellapart.analyses.figure import BAND, Figure, Panel
from tellapart.analyses.units import Sources, UnitOptions, unit_table
from tellapart.errors import BadInput
from tellapart.options import Help
from tellapart.stats.intervals import mean_interval
from tellapart.stats.rank_correlation import Correlation, rank_correlations
from tellapart.text.table_text import percent
from tellapart.types import Floats, Ints, Progress, silent

FEWEST = 10
MOST_PLACES = 15
FORMS = {**dict.fromkeys(("tau_b", "tau_low", "spearman", "spearman_low"), ".3f"),
         "value": "percent"}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionOptions(UnitOptions):
    """Which numeric fact of an item to correlate with."""

    fact: Annotated[
        str, Help("A numeric fact: foil_position, right_place, caption_length, ...")
    ] = "foil_position"


def analyse_position(
    runs: Sources,
    options: PositionOptions = PositionOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Analysis:
    """Does accuracy depend on the foil's position, or on any other number? Rank correlations.

    Kendall's tau-b and Spearman's rho of right or wrong with the number, over all answers; the
    intervals are over groups of items that share images.
    """
    units = unit_table(runs, options, ("T1-foil",))
    column = units.fact(options.fact)
    if not column.dtype.is_numeric():
        raise BadInput(
            f"{options.fact} is not a number",
            allowed="a numeric fact",
            todo="name one with --fact",
        )
    numbers = column.cast(pl.Float64).to_numpy()
    rows: list[dict[str, Any]] = []
    places: list[pl.DataFrame] = []
    sentences: list[str] = []
    for run, model in enumerate(units.models):
        values, clusters, at = units.of(run)
        known = np.isfinite(numbers[at])
        x, y, own = numbers[at][known], values[known], clusters[known]
        if len(x) < FEWEST or len(np.unique(x)) < 2:
            raise BadInput(
                f"too little data: {len(x):,} answers of {model} have {len(np.unique(x)):,} "
                f"values of {options.fact}",
                allowed=f"at least {FEWEST} answers and 2 values",
            )
        if y.min() == y.max():
            tau = rho = Correlation(0.0, None, None)
            sentences.append(
                f"{model}: {units.measure.name} is the same for every answer "
                f"({percent(y[0])}%, n = {len(x):,}), so no correlation with "
                f"{plain(options.fact)} can be tested."
            )
        else:
            found = rank_correlations(y, x, own, seeds.rng(options.seed, "position", model))
            tau, rho = found.tau_b, found.spearman
            sentences.append(_sentence(model, units.measure.name, options.fact, tau, len(x)))
        rows.append(_row(model, len(x), tau, rho))
        places.append(_by_place(model, x, y, own, options))
    table = ResultTable(
        "correlations", f"Rank correlations of right answers with {plain(options.fact)}",
        pl.DataFrame(rows), FORMS,
    )  # fmt: skip
    title = f"{units.benchmark.name}: {units.measure.name} by {plain(options.fact)}"
    by_place = ResultTable("places", f"{units.measure.name} by {plain(options.fact)}",
                           _without_single(pl.concat(places)), FORMS)  # fmt: skip
    methods = ("interval of a correlation: jackknife over groups of items that share images",)
    return Analysis(
        "position", title, tuple(sentences), (table, by_place),
        _figure(title, options.fact, by_place.frame, units.measure.name), methods,
    )  # fmt: skip


def _row(model: str, n: int, tau: Correlation, rho: Correlation) -> dict[str, Any]:
    return {
        "model": model, "n": n, "tau_b": tau.value, "tau_low": tau.low, "tau_high": tau.high,
        "spearman": rho.value, "spearman_low": rho.low, "spearman_high": rho.high,
    }  # fmt: skip


def _sentence(model: str, measure: str, fact: str, tau: Correlation, n: int) -> str:
    name = plain(fact)
    if tau.low is None or tau.high is None:
        return f"{model}: all answers share images, so no correlation with {name} can be tested."
    ends = f"tau-b {tau.value:+.3f} ({tau.low:+.3f} to {tau.high:+.3f}, n = {n:,})"
    if tau.low <= 0 <= tau.high:
        return f"{model}: no correlation between {measure} and {name} is shown, {ends}."
    way = "rises" if tau.value > 0 else "falls"
    return f"{model}: {measure} {way} with {name}, {ends}."


def _without_single(places: pl.DataFrame) -> pl.DataFrame:
    """Without the ends of the ranges, if each is a single value."""
    if (places["from"] == places["to"]).all():
        return places.drop("from", "to")
    return places


def _by_place(
    model: str, x: Floats, y: Floats, clusters: Ints, options: PositionOptions
) -> pl.DataFrame:
    """The share of right answers at each value, or by ranges where there are many values."""
    values = np.unique(x)
    ends = values if len(values) <= MOST_PLACES else np.unique(
        np.quantile(x, np.linspace(0, 1, MOST_PLACES + 1)[1:], method="lower")
    )  # fmt: skip
    code = np.searchsorted(ends, x, "left")
    rows = []
    for k in np.unique(code):
        here = code == k
        rng = seeds.rng(options.seed, "position", model, int(k))
        interval = mean_interval(y[here], clusters[here], rng, options.resamples)
        rows.append({
            "model": model, options.fact: float(x[here].mean()),
            "from": float(x[here].min()), "to": float(x[here].max()), "n": int(here.sum()),
            "value": float(y[here].mean()), "low": interval.low, "high": interval.high,
        })  # fmt: skip
    return pl.DataFrame(rows)


def _figure(title: str, fact: str, places: pl.DataFrame, measure: str) -> Figure:
    several = places["model"].n_unique() > 1
    rows = tuple(
        {
            "x": row[fact], "y": 100 * row["value"], "low": 100 * row["low"],
            "high": 100 * row["high"], "series": row["model"] if several else "",
        }
        for row in places.iter_rows(named=True)
    )  # fmt: skip
    told = ", ".join(f"{r['series']} {r['x']:.3g}: {r['y']:.1f}%".strip() for r in rows)
    panel = Panel("lines", rows, fact.replace("_", " "), f"{measure}, %{BAND}", domain=(0, 100))
    return Figure(title, f"{title}. {told}.", (panel,))


ANALYSIS = AnalysisKind(analyse_position, "tellapart analyse position runs --measure T1-foil")

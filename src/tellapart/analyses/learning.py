"""`analyse learning`: score against a setting (MCIC Tables 4 and 5; learning curves)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.analyses.analysis import Analysis, AnalysisKind, ResultTable
from tellapart.analyses.figure import BAND, Figure, Panel
from tellapart.analyses.rankings import tau_b
from tellapart.analyses.units import Sources, UnitOptions, UnitTable, unit_table
from tellapart.errors import BadInput
from tellapart.files import read_table, require_columns
from tellapart.measures.contestants import labels
from tellapart.measures.scores import read_runs
from tellapart.options import Help
from tellapart.score.run import Run
from tellapart.stats.differences import weight_chunks
from tellapart.stats.intervals import mean_interval
from tellapart.types import Progress, silent

MODEL = "model"
FORMS = {"value": "percent", "low": "percent", "difference": "percent", "tau": ".2f"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningOptions(UnitOptions):
    """Which setting of the runs to plot against."""

    setting: Annotated[
        str,
        Help("The setting: an option in the model string (name?images=1000), or a column of "
             "--settings."),
    ] = ""  # fmt: skip
    settings: Annotated[
        Path | None,
        Help("A table with a column model, columns of settings, and columns of further scores "
             "(CIDEr, ...) to show as well."),
    ] = None  # fmt: skip
    series: Annotated[str, Help("A second setting, with one curve for each of its values.")] = ""
    log: Annotated[bool, Help("Draw the setting on a logarithmic axis.")] = False


def analyse_learning(
    runs: Sources,
    options: LearningOptions = LearningOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Analysis:
    """Score against training size or another setting, with bands and the gain from low to high.

    Every run is one point. Kendall's tau, with items resampled, shows whether the score rises with
    the setting; the difference between the lowest and the highest setting is paired.
    """
    if not options.setting:
        raise BadInput("no setting was named", todo="name one, such as --setting images")
    read, left = _with_setting(read_runs(runs, options.on), options)
    units = unit_table(read, options)
    settings, further = _settings(read, units, options)
    curves = dict.fromkeys(one["series"] for one in settings)
    rows: list[dict[str, Any]] = []
    for run, own in enumerate(settings):
        values, clusters, _ = units.of(run)
        rng = seeds.rng(options.seed, "learning", units.models[run])
        interval = mean_interval(values, clusters, rng, options.resamples)
        rows.append({
            "series": own["series"], options.setting: own["x"], "model": units.models[run],
            "n": len(values), "value": float(values.mean()), "low": interval.low,
            "high": interval.high, **further[run],
        })  # fmt: skip
    frame = pl.DataFrame(rows, infer_schema_length=None).sort("series", options.setting)
    sentences = [_sentence(units, settings, name, options) for name in curves]
    frame = frame if len(curves) > 1 else frame.drop("series")
    title = f"{units.benchmark.name}: {units.measure.name} by {options.setting}"
    table = ResultTable("learning", title, frame, FORMS)
    figure = _figure(title, frame, units.measure.name, options, sorted(further[0]))
    methods = ["interval: over groups of items; for tau: bootstrap over groups"]
    if left:
        methods.append(f"left out, as they have no {options.setting}: {', '.join(left)}")
    return Analysis("learning", title, tuple(sentences), (table,), figure, tuple(methods))


def _with_setting(
    runs: Sequence[Run], options: LearningOptions
) -> tuple[Sequence[Run], dict[str, None]]:
    """The runs that have the setting, and the names of the others; if none has it, all runs."""
    table = _table(options)
    names = labels(runs)
    has = [
        _row(name, run, table).get(options.setting) is not None
        for name, run in zip(names, runs, strict=True)
    ]
    if not any(has):
        return runs, {}
    pairs = list(zip(runs, names, has, strict=True))
    return [run for run, _, own in pairs if own], {name: None for _, name, own in pairs if not own}


def _table(options: LearningOptions) -> pl.DataFrame | None:
    if options.settings is None:
        return None
    given = read_table(options.settings)
    require_columns(given, [MODEL], options.settings)
    return given


def _row(label: str, run: Run | None, table: pl.DataFrame | None) -> dict[str, Any]:
    """All settings of a run; those of the table count most."""
    rows = table.filter(pl.col(MODEL).cast(pl.String) == label) if table is not None else None
    own = rows.row(-1, named=True) if rows is not None and rows.height else {}
    return {**_of_name(label), **_of_card(run), **own}


def _settings(
    runs: Sequence[Run], units: UnitTable, options: LearningOptions
) -> tuple[list[dict[str, Any]], list[dict[str, float | None]]]:
    """Each run's setting and curve, and its further scores from the table."""
    cards = {run.model: run for run in runs}
    given = _table(options)
    scores: list[str] = []
    if given is not None:
        used = {MODEL, options.setting, options.series}
        scores = [name for name in given.columns if name not in used and _is_number(given[name])]
    made, further = [], []
    for label in units.models:
        row = _row(label, cards.get(label), given)
        x = _number(row.get(options.setting))
        if x is None:
            value = row.get(options.setting)
            raise BadInput(
                f"{label} has no {options.setting}" if value is None
                else f"{label}: {options.setting} is not a number: {value!r}",
                allowed=f"a number in the model string, such as {label}?{options.setting}=1000, "
                "or in a row of the table --settings",
                where=f"its settings: {', '.join(sorted(map(str, row))) or 'none'}",
            )  # fmt: skip
        series = row.get(options.series) if options.series else None
        made.append({"x": x, "series": f"{options.series} {series}" if options.series else ""})
        further.append({name: _number(row.get(name)) for name in scores})
    if len({one["x"] for one in made}) < 2:
        raise BadInput(
            f"all runs have the same {options.setting}: {made[0]['x']:g}",
            allowed="two values or more",
        )
    return made, further


def _of_name(label: str) -> dict[str, str]:
    """Settings in a model string.

    >>> _of_name("vec2seq?lambda_gen=0.1&size=64")
    {'lambda_gen': '0.1', 'size': '64'}
    """
    return dict(re.findall(r"[?&]([\w-]+)=([^&\s]+)", label))


def _of_card(run: Run | None) -> dict[str, Any]:
    return {} if run is None else {**run.card.options, **run.card.notes}


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


def _is_number(column: pl.Series) -> bool:
    return column.cast(pl.Float64, strict=False).is_not_null().any()


def _sentence(
    units: UnitTable, settings: list[dict[str, Any]], series: str, options: LearningOptions
) -> str:
    """Whether the score rises with the setting, and the gain from lowest to highest."""
    own = [k for k, one in enumerate(settings) if one["series"] == series]
    x = np.array([settings[k]["x"] for k in own])
    covered = units.covered[:, own].all(axis=1)
    name = f"{series}: " if series else ""
    if len(own) < 2 or not covered.any():
        return f"{name}a single run says nothing about {options.setting}."
    values = units.value[covered][:, own]
    codes = np.unique(units.cluster[covered], return_inverse=True)[1]
    sums = np.stack([np.bincount(codes, column) for column in values.T], axis=1)
    sizes = np.bincount(codes).astype(float)
    drawn = np.empty((options.resamples, len(own)))
    for rows, weights in weight_chunks(
        len(sizes), options.resamples, seeds.rng(options.seed, "learning")
    ):
        drawn[rows] = (weights @ sums) / (weights @ sizes)[:, None]
    tau = float(tau_b(x, values.mean(axis=0)))
    taus = tau_b(np.broadcast_to(x, drawn.shape), drawn)
    low, high = np.quantile(taus, [0.025, 0.975])
    top, bottom = int(np.argmax(x)), int(np.argmin(x))
    gap = values.mean(axis=0)[top] - values.mean(axis=0)[bottom]
    ends = np.quantile(drawn[:, top] - drawn[:, bottom], [0.025, 0.975])
    best = int(np.argmax(values.mean(axis=0)))
    shown = "rises" if ends[0] > 0 else "falls" if ends[1] < 0 else "is not shown to change"
    return (
        f"{name}{units.measure.name} {shown} between {options.setting} {x[bottom]:g} and "
        f"{x[top]:g}: "
        f"{100 * gap:+.1f} points ({100 * ends[0]:+.1f} to {100 * ends[1]:+.1f}); tau with "
        f"{options.setting} {tau:.2f} ({low:.2f} to {high:.2f}) over {len(own)} runs; highest at "
        f"{x[best]:g} ({100 * values.mean(axis=0)[best]:.1f}%), n = {len(values):,}."
    )


def _figure(
    title: str, frame: pl.DataFrame, measure: str, options: LearningOptions, further: Sequence[str]
) -> Figure:
    several = "series" in frame.columns
    log = options.log and bool((frame[options.setting] > 0).all())

    def points(column: str, scale: float, low: str, high: str) -> tuple[dict[str, Any], ...]:
        return tuple(
            {
                "x": row[options.setting], "y": scale * row[column], "low": scale * row[low],
                "high": scale * row[high], "series": row["series"] if several else "",
            }
            for row in frame.iter_rows(named=True)
            if row[column] is not None
        )  # fmt: skip

    axis = f"{measure}, %{BAND}"
    panels = [Panel("lines", points("value", 100.0, "low", "high"), options.setting, axis, log=log)]
    panels += [
        Panel("lines", points(name, 1.0, name, name), options.setting, name, log=log)
        for name in further
    ]
    told = ", ".join(
        f"{row[options.setting]:g}: {100 * row['value']:.1f}%"
        for row in frame.iter_rows(named=True)
    )
    return Figure(title, f"{title}. {told}.", tuple(panels))


ANALYSIS = AnalysisKind(
    analyse_learning, "tellapart analyse learning runs --setting lambda_gen --settings recipes.csv"
)

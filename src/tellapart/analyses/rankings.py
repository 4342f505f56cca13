"""`analyse rankings`: do two measures or benchmarks rank systems alike? (BISON 6.2, BiVLC)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations
from math import factorial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from tellapart import registry, seeds
from tellapart.analyses.analysis import Analysis, AnalysisKind, AnalysisOptions, ResultTable, told_p
from tellapart.analyses.figure import Figure, Panel
from tellapart.analyses.units import Sources
from tellapart.errors import BadInput
from tellapart.files import read_table, require_columns
from tellapart.measures.contestants import benchmark_labels, is_reference
from tellapart.measures.contrast import paired_units
from tellapart.measures.scores import read_runs
from tellapart.options import Help
from tellapart.score.run import Run
from tellapart.stats.differences import weight_chunks
from tellapart.types import Floats, Ints, Progress, silent

FEWEST = 3
MOST_PERMUTED = 8
"""Up to this many systems, the test goes through all orders."""
DRAWN = 20_000
SYSTEM = "system"
FORMS = {"tau": ".3f", "low": ".3f", "p": ".3g", "same_order": "percent"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingOptions(AnalysisOptions):
    """What to rank systems by."""

    measures: Annotated[
        tuple[str, ...], Help("Measures, separated by commas (default: each benchmark's first).")
    ] = ()
    scores: Annotated[
        Path | None,
        Help("A table with a column system and one for each further score, such as recall or "
             "CIDEr; systems are named as the models of the runs."),
    ] = None  # fmt: skip
    lines: Annotated[bool, Help("Also rank models that never look.")] = False
    on: Annotated[Path | None, Help("The runs' benchmark, if it has moved.")] = None


@dataclass(frozen=True)
class _Ranking:
    """Systems' scores by one measure; with `sums` and `counts` they can be resampled.

    `sums` and `counts` have the shape (clusters, systems); `place` is their benchmark.
    """

    name: str
    place: str
    systems: tuple[str, ...]
    values: Floats
    sums: Floats | None = None
    counts: Floats | None = None

    @cached_property
    def at(self) -> dict[str, int]:
        return {name: k for k, name in enumerate(self.systems)}

    @property
    def axis(self) -> str:
        """The title of an axis: shares of runs are in percent, others as they were given."""
        return self.name if self.sums is None else f"{self.name}, %"

    def shown(self, system: str) -> float:
        """A system's score on that axis."""
        return float(self.values[self.at[system]]) * (1 if self.sums is None else 100)

    def drawn(self, systems: Sequence[str], options: RankingOptions) -> Floats:
        """Scores of resampled items, (resamples, systems); the same items for all measures."""
        columns = [self.at[name] for name in systems]
        if self.sums is None or self.counts is None:
            return np.tile(self.values[columns], (options.resamples, 1))
        rng = seeds.rng(options.seed, "rankings", self.place)
        made = np.empty((options.resamples, len(columns)))
        both = np.concatenate([self.sums[:, columns], self.counts[:, columns]], axis=1)
        for rows, weights in weight_chunks(len(both), options.resamples, rng):
            totals = weights @ both
            made[rows] = totals[:, : len(columns)] / np.maximum(totals[:, len(columns) :], 1e-9)
        return made


def analyse_rankings(
    runs: Sources = (),
    options: RankingOptions = RankingOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Analysis:
    """Do two measures or benchmarks rank systems alike? Kendall's tau with a bootstrap interval.

    Groups of items that share images are resampled, the same ones for all measures of a benchmark;
    systems are fixed. The p-value is the share of random orders of the systems that agree as
    strongly. Scores from elsewhere come in a table (--scores) and are not resampled.
    """
    rankings = [*_of_runs(runs, options), *_of_table(options)]
    if len(rankings) < 2:
        raise BadInput(
            f"too few rankings to compare: {len(rankings)}", allowed="two or more",
            todo="give runs on two benchmarks, two measures with --measures A,B, or a table of "
            "scores with --scores",
        )  # fmt: skip
    rows = []
    panels = []
    for first, second in combinations(rankings, 2):
        systems = [name for name in first.systems if name in second.at]
        if len(systems) >= FEWEST:
            rows.append(_compared(first, second, systems, options))
            panels.append(_panel(first, second, systems))
    if not rows:
        raise BadInput(
            f"no two of {', '.join(one.name for one in rankings)} have {FEWEST} systems in common",
            allowed=f"{FEWEST} systems or more in both, under the same names",
        )
    frame = pl.DataFrame(rows, infer_schema_length=None)
    sentences = tuple(map(_sentence, rows))
    title = "Agreement between rankings of systems"
    figure = Figure(title, f"{title}. {' '.join(sentences)}", tuple(panels[:6]))
    methods = ["tau-b (Kendall 1945); p: permutation of the systems"]
    if frame["low"].drop_nulls().len():
        methods.append(
            f"interval: bootstrap over items, {options.resamples:,} resamples, shifted to correct "
            "for the noise that resampling adds"
        )
    if any(one.sums is None for one in rankings):
        methods.append("scores from a table have no items to resample, so they count as exact")
    shares = {one.name: ".6g" if one.sums is None else "percent" for one in rankings}
    tables = (
        ResultTable("rankings", title, frame, FORMS),
        ResultTable("scores", "Scores", _score_table(rankings), shares),
    )
    return Analysis("rankings", title, sentences, tables, figure, tuple(methods))


def _of_runs(runs: Any, options: RankingOptions) -> list[_Ranking]:
    given = [runs] if isinstance(runs, str | Path | Run) else list(runs)
    read = read_runs(given, options.on) if given else []
    by_benchmark: dict[str, list[Run]] = {}
    for run, label in zip(read, benchmark_labels(read), strict=True):
        if options.lines or not is_reference(run.model):
            by_benchmark.setdefault(label, []).append(run)
    made = []
    for label, own in by_benchmark.items():
        for name in options.measures or own[0].benchmark.card.measures[:1]:
            places, units = paired_units(own, registry.measures.get(name), "wrong")
            if not places:
                continue
            several = len(by_benchmark) > 1
            clusters = np.unique(units.cluster, return_inverse=True)[1]
            sums, counts = (_summed(clusters, table) for table in
                            (units.value * units.covered, units.covered.astype(float)))  # fmt: skip
            made.append(_Ranking(
                f"{label} {name}" if several else name, label,
                tuple(own[k].model for k in places), sums.sum(0) / counts.sum(0), sums, counts,
            ))  # fmt: skip
    return made


def _summed(clusters: Ints, table: Floats) -> Floats:
    return np.stack([np.bincount(clusters, column) for column in table.T], axis=1)


def _of_table(options: RankingOptions) -> list[_Ranking]:
    if options.scores is None:
        return []
    table = read_table(options.scores)
    require_columns(table, [SYSTEM], options.scores)
    made = []
    for name in table.columns:
        if name == SYSTEM:
            continue
        column = table[name].cast(pl.Float64, strict=False)
        known = column.is_not_null()
        if known.sum():
            _check_numbers(table, name, column, options.scores)
            systems = table[SYSTEM].cast(pl.String).filter(known).to_list()
            values = column.filter(known).to_numpy()
            made.append(_Ranking(name, str(options.scores), tuple(systems), values))
    return made


def _check_numbers(table: pl.DataFrame, name: str, column: pl.Series, path: Path) -> None:
    """A column of scores may have empty cells, but nothing else that is not a number."""
    empty = table[name].is_null()
    if table[name].dtype == pl.String:
        empty |= table[name].str.strip_chars() == ""
    for row in np.flatnonzero((~(column.is_finite().fill_null(False) | empty)).to_numpy()):
        raise BadInput(
            f"{name} of {table[SYSTEM][int(row)]} is not a number: {table[name][int(row)]}",
            where=f"{path}, row {row + 1}",
            allowed="numbers, and empty cells where a system has no such score",
        )


def tau_b(x: Floats, y: Floats) -> Floats:
    """Kendall's tau-b along the last axis; 0 if either is constant."""
    size = x.shape[-1]
    i, j = np.triu_indices(size, 1)
    a, b = np.sign(x[..., i] - x[..., j]), np.sign(y[..., i] - y[..., j])
    below = np.sqrt((a**2).sum(-1) * (b**2).sum(-1))
    above = (a * b).sum(-1)
    return np.asarray(np.divide(above, below, out=np.zeros_like(below), where=below > 0))


def _compared(
    first: _Ranking, second: _Ranking, systems: list[str], options: RankingOptions
) -> dict[str, Any]:
    x = first.values[[first.at[name] for name in systems]]
    y = second.values[[second.at[name] for name in systems]]
    tau = float(tau_b(x, y))
    row: dict[str, Any] = {"first": first.name, "second": second.name, "systems": len(systems),
                           "tau": tau, "low": None, "high": None,
                           "p": _order_p(x, y, options.seed), "same_order": None}  # fmt: skip
    if first.sums is not None or second.sums is not None:
        a, b = first.drawn(systems, options), second.drawn(systems, options)
        taus = tau_b(a, b)
        # Resampled scores are noisier than the scores themselves, which pulls tau towards 0: the
        # percentiles are shifted by the distance from their median to the estimate.
        shift = max(0.0, tau - float(np.median(taus))) if tau > 0 else min(
            0.0, tau - float(np.median(taus)))  # fmt: skip
        low, high = np.quantile(taus, [0.025, 0.975])
        row |= {"low": max(-1.0, float(low) - max(0.0, -shift)),
                "high": min(1.0, float(high) + max(0.0, shift)),
                "same_order": float((taus > 1 - 1e-9).mean())}  # fmt: skip
    return row


def _order_p(x: Floats, y: Floats, seed: int) -> float:
    """The share of random orders of the systems with a tau at least as far from 0 (two-sided)."""
    size = len(x)
    seen = abs(float(tau_b(x, y))) - 1e-9
    if size <= MOST_PERMUTED:
        orders = np.array(list(permutations(range(size))))
        return float((np.abs(tau_b(np.tile(x, (factorial(size), 1)), y[orders])) >= seen).mean())
    rng = seeds.rng(seed, "rankings", "orders")
    drawn = rng.permuted(np.tile(y, (DRAWN, 1)), axis=1)
    return float(((np.abs(tau_b(np.tile(x, (DRAWN, 1)), drawn)) >= seen).sum() + 1) / (DRAWN + 1))


def _sentence(row: dict[str, Any]) -> str:
    ends = "" if row["low"] is None else f" ({row['low']:.2f} to {row['high']:.2f})"
    what = (
        "rank systems alike" if row["p"] < 0.05 and row["tau"] > 0
        else "rank systems in opposite orders" if row["p"] < 0.05
        else "are not shown to rank systems alike"
    )  # fmt: skip
    few = " (with so few systems, no order could be significant)" if row["systems"] < 4 else ""
    return (
        f"{row['first']} and {row['second']} {what}: tau {row['tau']:.2f}{ends} over "
        f"{row['systems']} systems, {told_p(row['p'])}{few}."
    )


def _score_table(rankings: list[_Ranking]) -> pl.DataFrame:
    systems = list(dict.fromkeys(name for one in rankings for name in one.systems))
    columns = {
        one.name: [float(one.values[one.at[s]]) if s in one.at else None for s in systems]
        for one in rankings
    }
    return pl.DataFrame({SYSTEM: systems, **columns})


def _panel(first: _Ranking, second: _Ranking, systems: list[str]) -> Panel:
    rows = tuple({"x": first.shown(s), "y": second.shown(s), "label": s} for s in systems)
    return Panel("points", rows, first.axis, second.axis)


ANALYSIS = AnalysisKind(
    analyse_rankings, "tellapart analyse rankings runs --measures accuracy --scores recall.csv"
)

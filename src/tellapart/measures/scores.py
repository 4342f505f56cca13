"""Estimates: a value with its interval and chance level, and tables of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tellapart import registry, seeds
from tellapart.benchmark.benchmark import load_benchmark
from tellapart.errors import BadInput
from tellapart.measures.contestants import benchmark_labels, is_reference, labels
from tellapart.measures.contrast import ROUNDING
from tellapart.measures.item_columns import Breakdown, breakdown
from tellapart.measures.measure import Measure, Outcomes, Resampling
from tellapart.measures.overview import (
    Overview,
    ReferenceLine,
    chance_lines,
    overview_of,
    reference_line,
    shown_measure,
    text_alone_line,
    way_behind,
)
from tellapart.measures.ties import TieRule, check_rule
from tellapart.questions import Ask
from tellapart.score.run import Run, find_runs, is_run_of, load_run
from tellapart.stats.intervals import (
    FEW_CLUSTERS,
    RESAMPLES,
    Interval,
    resampled_interval,
    strata_interval,
)
from tellapart.text.table_text import aligned
from tellapart.types import Floats, Ints


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measured share (0 to 1) with its 95% interval and counts.

    `kind` is a kind of item, "micro" for all units alike, or "macro" for the mean of the kinds'
    means; `by` names the column whose values replace the kinds. `n` counts units, `clusters`
    counts groups of items that share images.
    """

    benchmark: str
    model: str
    measure: str
    kind: str
    value: float
    low: float
    high: float
    chance: float
    n: int
    clusters: int
    ties: int
    failed: int
    tie_rule: TieRule
    method: str
    decided_by: str = ""
    by: str = "kind"

    @property
    def shown(self) -> str:
        """The measure's name with the procedure that decided the run's answers."""
        return shown_as(self.measure, self.decided_by)

    @property
    def too_few(self) -> bool:
        """Whether the interval is based on too few groups to say much."""
        return self.clusters < FEW_CLUSTERS

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {**asdict(self), "too_few_groups": self.too_few}


def shown_as(measure: str, decided_by: str) -> str:
    """A measure's name with the procedure that decided, unless the name has it.

    >>> shown_as("T1", "own"), shown_as("T1@fitted", "fitted"), shown_as("accuracy", "")
    ('T1@own', 'T1@fitted', 'accuracy')
    """
    return f"{measure}@{decided_by}" if decided_by and "@" not in measure else measure


def estimates(
    run: Run,
    measure: Measure,
    ties: TieRule = "wrong",
    *,
    by_kind: bool = True,
    by: Breakdown | None = None,
    label: str = "",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Estimate]:
    """Micro average first, then macro and each kind if there are several kinds.

    `by` replaces kinds by the values of another column; `label` is the name of the run. The result
    is empty if the measure does not apply to the run, or if its questions were never asked.
    """
    everything = measure.outcomes(run, ties)
    never_asked = not measure.asks <= set(run.card.asks) and bool(everything.failed.all())
    if not len(everything.item) or never_asked:
        return []
    if by is None:
        by = Breakdown("kind", *run.benchmark.items.kinds)
    estimator = _Estimator(run, measure, ties, by, label or run.model, resamples, seed)
    made = [estimator.estimate("micro", everything)]
    kind = by.code[everything.item]
    kinds = np.unique(kind)
    if by_kind and len(kinds) > 1:
        counted = np.isin(kind, [k for k in kinds if by.names[k] not in by.apart])
        if counted.any():
            made.append(estimator.estimate("macro", everything.where(counted)))
        made += [estimator.estimate(by.names[k], everything.where(kind == k)) for k in kinds]
    return made


@dataclass(frozen=True)
class _Estimator:
    """Turns outcomes into an estimate; the same for every kind of item."""

    run: Run
    measure: Measure
    ties: TieRule
    by: Breakdown
    label: str
    resamples: int
    seed: int

    def estimate(self, kind: str, outcomes: Outcomes) -> Estimate:
        """The mean over the outcomes of a kind, with its interval and counts."""
        kept = outcomes.kept(self.ties)
        clusters = _renumbered(self.run.benchmark.items.groups[1][kept.item])
        value, chance, interval = (
            0.0,
            0.0,
            Interval(0.0, 1.0, "every unit is a tie and is left out"),
        )
        if len(kept.item):
            value, chance, interval = self._mean(kind, kept, clusters)
        return Estimate(
            benchmark=self.run.benchmark.name,
            model=self.label,
            measure=self.measure.name,
            kind=kind,
            value=value,
            low=interval.low,
            high=interval.high,
            chance=chance,
            n=len(kept.item),
            clusters=int(clusters.max()) + 1 if len(clusters) else 0,
            ties=int(outcomes.tied.sum()),
            failed=int(outcomes.failed.sum()),
            tie_rule=self.ties,
            method=interval.method,
            decided_by=self.measure.decided_by(self.run) or "",
            by=self.by.column,
        )

    def _mean(self, kind: str, kept: Outcomes, clusters: Ints) -> tuple[float, float, Interval]:
        rng = seeds.rng(self.seed, "bootstrap", self.run.benchmark.sha256, self.measure.name, kind)
        if kind == "macro":
            strata = _renumbered(self.by.code[kept.item])
            interval = self._macro_interval(kept.value, strata, clusters, rng)
            return self._macro(kept.value, strata), self._macro(kept.chance, strata), interval
        resampling = Resampling(clusters, rng, self.resamples, whole=kind == "micro")
        interval = self.measure.interval(self.run, self.ties, kept, resampling)
        return self.measure.reduce(kept.value), self.measure.reduce(kept.chance), interval

    def _macro(self, values: Floats, strata: Ints) -> float:
        """The mean of the kinds' values."""
        if self.measure.is_mean:
            return float(np.mean(np.bincount(strata, values) / np.bincount(strata)))
        return self.measure.reduce_by(strata, values)

    def _macro_interval(
        self, values: Floats, strata: Ints, clusters: Ints, rng: np.random.Generator
    ) -> Interval:
        if self.measure.is_mean:
            return strata_interval(values, strata, clusters, rng, self.resamples)
        return resampled_interval(
            lambda rows: self.measure.reduce_by(strata[rows], values[rows]),
            clusters,
            rng,
            self.resamples,
        )


def _renumbered(codes: Ints) -> Ints:
    """Codes renumbered from 0 without gaps, in order."""
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def measures_of(run: Run, names: Sequence[str] | None = None) -> list[Measure]:
    """The measures asked for, or those that the run's benchmark names."""
    return [registry.measures.get(name) for name in names or run.benchmark.card.measures]


def asks_of(measures: Sequence[str]) -> frozenset[Ask]:
    """The questions that some measures read."""
    return frozenset().union(*(registry.measures.get(name).asks for name in measures))


@dataclass(frozen=True, slots=True)
class Scores:
    """Estimates, ordered by benchmark, measure, kind and model, with an overview."""

    rows: tuple[Estimate, ...]
    overview: Overview | None = None

    def to_frame(self) -> pl.DataFrame:
        """One row per estimate."""
        return pl.DataFrame([asdict(row) for row in self.rows])

    def to_json(self) -> list[dict[str, Any]]:
        """For `--json`."""
        return [row.to_json() for row in self.rows]

    def only(self, **wanted: str) -> Scores:
        """The rows with the given fields.

        For example `scores.only(model="chance?seed=0", kind="micro")`.
        """
        return Scores(
            tuple(r for r in self.rows if all(getattr(r, k) == v for k, v in wanted.items()))
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.rows)

    def __repr__(self) -> str:
        models = len({row.model for row in self.rows})
        return f"<Scores: {len(self.rows):,} estimates of {models} models>"

    def _repr_html_(self) -> str:
        return self.to_frame()._repr_html_()

    def value(self, **wanted: str) -> float:
        """The value of the one row with the given fields."""
        (row,) = self.only(**wanted).rows
        return row.value

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, guesses: Mapping[tuple[str, str, str], str] | None = None) -> str:
        """The overview, then a table; `guesses` adds a column by (benchmark, measure, kind)."""
        first = [f"{self.overview}\n"] if self.overview else []
        by = next((row.by for row in self.rows), "kind")
        heads = ("benchmark", "measure", by, "model", "score", "95% interval", "chance",
                 "ties", "failed", "n", "groups")  # fmt: skip
        lines = [heads, *(_cells(row) for row in self.rows)]
        if guesses is not None:
            told = (guesses.get((r.benchmark, r.measure, r.kind), "") for r in self.rows)
            column = ["guessable without looking", *told]
            lines = [(*line, cell) for line, cell in zip(lines, column, strict=True)]
        table = aligned(lines, (*range(4), len(heads)))
        return "\n".join([*first, table, *self._remarks()])

    def _remarks(self) -> list[str]:
        few = sum(row.too_few for row in self.rows if row.n)
        if not few:
            return []
        return [
            f"\n* too few groups: {few:,} of these intervals are based on fewer than "
            f"{FEW_CLUSTERS} groups of items that share images, so they are wide and say little."
        ]


def _cells(row: Estimate) -> tuple[str, ...]:
    few = "*" if row.too_few else ""
    # Without units there is no score, and 0.00 would look like one.
    numbers = ("-", "-", "-") if not row.n else (
        f"{100 * row.value:.2f}",
        f"{100 * row.low:.1f} - {100 * row.high:.1f}{few}",
        f"{100 * row.chance:.2f}",
    )  # fmt: skip
    counts = (row.ties, row.failed, row.n, row.clusters)
    model = f"- {row.model}" if is_reference(row.model) else row.model
    names = (row.benchmark, row.shown, row.kind, model)
    return (*names, *numbers, *(f"{count:,}" for count in counts))


def measure_runs(
    runs: Iterable[Run],
    *,
    measures: Sequence[str] | None = None,
    ties: str = "wrong",
    by: str = "",
    own: pl.DataFrame | None = None,
    resamples: int = RESAMPLES,
) -> Scores:
    """Measure runs, by the measures named or by each benchmark's own.

    `by` is a column to break the scores down by, of the items or of the table `own`.
    """
    rule = check_rule(ties)
    found: list[Estimate] = []
    known: dict[tuple[int, frozenset[Ask]], Breakdown] = {}
    lines: list[ReferenceLine] = []
    mains: dict[str, str] = {}
    every = list(runs)
    benchmarks = benchmark_labels(every)
    for run, label, place in zip(every, labels(every), benchmarks, strict=True):
        asked = measures_of(run, measures)
        if place not in mains:
            mains[place] = asked[0].name
            lines += filter(None, [text_alone_line(run.benchmark, place, asked[0].name)])
        for one in asked:
            key = (id(run.benchmark.items), one.asks)
            if by and key not in known:
                known[key] = breakdown(run.benchmark, by, own, one.asks)
            rows = estimates(
                run, one, rule, by_kind=bool(by), by=known.get(key), label=label,
                resamples=resamples,
            )  # fmt: skip
            found += (replace(row, benchmark=place) for row in rows)
        if is_reference(run.model):
            halved = estimates(run, asked[0], "half", by_kind=False, resamples=resamples)
            lines += (reference_line(row, label, place) for row in halved)
    if known and not any(one.has_values for one in known.values()):
        raise BadInput(f"no item of these runs has a value in column {by}")
    _all_apply(measures or (), found, every)
    ordered = _ordered(found)
    main = [row for row in ordered if mains[row.benchmark] == row.measure and row.kind == "micro"]
    return Scores(tuple(ordered), overview_of(main, [*chance_lines(main), *lines]))


def _all_apply(asked: Sequence[str], found: Sequence[Estimate], runs: Sequence[Run]) -> None:
    """A measure that was asked for by name, and of which no run has a question, is an error."""
    measured = {row.measure for row in found}
    if runs and (idle := [name for name in asked if name not in measured]):
        own = {one.name: None for run in runs for one in measures_of(run)}
        raise BadInput(
            f"{', '.join(idle)}: no question of these runs is read by this measure",
            allowed=f"the benchmarks' own: {', '.join(own)}",
            todo="see what each reads with: tellapart list measures",
        )


def read_runs(
    runs: Run | Path | str | Sequence[Run | Path | str], on: Path | str | None = None
) -> list[Run]:
    """Runs, from runs or paths; `on` says where their benchmark is, if it has moved."""
    given = runs if isinstance(runs, Sequence) and not isinstance(runs, str) else [runs]
    known = load_benchmark(on) if on is not None else None
    ready = [one for one in given if isinstance(one, Run)]
    paths = [one for one in given if not isinstance(one, Run)]
    read: list[Run] = []
    for path in find_runs(paths) if paths else []:
        # Runs of one benchmark share it, so it is read once.
        where = known or next((r.benchmark for r in read if is_run_of(path, r.benchmark)), None)
        read.append(load_run(path, where))
    return ready + read


def _ordered(found: Iterable[Estimate]) -> list[Estimate]:
    """Rows ordered by benchmark, measure and kind, models as they came, lines last."""
    rows = list(found)
    places = {
        name: {value: k for k, value in enumerate(dict.fromkeys(getattr(r, name) for r in rows))}
        for name in ("benchmark", "measure", "kind", "model")
    }

    def place(row: Estimate) -> tuple[int, ...]:
        first, second, third, fourth = (places[n][getattr(row, n)] for n in places)
        return first, second, third, int(is_reference(row.model)), fourth

    return sorted(rows, key=place)


def side_by_side(strict: Scores, halved: Scores, guesses: Iterable[ReferenceLine] = ()) -> str:
    """Micro averages, contestants as columns; if items tie, followed by the score with ties halved.

    `0.0 ~50.0` means 0.0 as the papers count (a tie is wrong), and 50.0 with ties broken at random.
    The last column has the best score without looking, of a run or of `guesses`, if it is above
    chance.
    """
    guessed: dict[tuple[str, str], list[ReferenceLine]] = {}
    for guess in guesses:
        guessed.setdefault((guess.benchmark, guess.measure), []).append(guess)
    rows = strict.only(kind="micro").rows
    half = {_key(row): row for row in halved.rows}
    models = list(dict.fromkeys(row.model for row in rows if not is_reference(row.model)))
    lines: list[Sequence[str]] = [("benchmark", "measure", *models, "chance", "without looking")]
    together: dict[tuple[str, str], dict[str, Estimate]] = {}
    for row in rows:
        together.setdefault((row.benchmark, row.measure), {})[row.model] = row
    for (benchmark, measure), found in together.items():
        own = [row for row in found.values() if not is_reference(row.model)]
        blind = [half[_key(row)] for row in found.values() if is_reference(row.model)]
        level = next(iter(found.values())).chance
        shown = shown_measure(measure, own)
        cells = (_cell(found.get(model), half, shown) for model in models)
        without = [reference_line(row, row.model, benchmark) for row in blind if row.n]
        told = _without_looking([*without, *guessed.get((benchmark, measure), [])], level)
        lines.append((benchmark, shown, *cells, f"{100 * level:.1f}", told))
    never_look = dict.fromkeys(r.model for r in rows if is_reference(r.model))
    never_look |= dict.fromkeys(one.label for every in guessed.values() for one in every)
    legend = (
        [f"without looking: the best of {', '.join(never_look)} (ties halved); - if none is above "
         "chance"] if never_look else []
    )  # fmt: skip
    if any(row.ties for row in rows if not is_reference(row.model)):
        legend.append("~: the score with ties halved (before it, a tie counts as wrong)")
    return "\n".join([aligned(lines, range(2)), "", *legend])


def _without_looking(lines: Sequence[ReferenceLine], chance: float) -> str:
    """The strongest score without looking, if its whole interval is above chance."""
    above = [one for one in lines if one.low is not None and one.low > chance + ROUNDING]
    best = max(above, key=lambda one: one.value, default=None)
    return "-" if best is None else f"{best.label} {100 * best.value:.1f}"


def _key(row: Estimate) -> tuple[str, str, str, str]:
    return row.benchmark, row.measure, row.kind, row.model


def _cell(row: Estimate | None, half: dict[tuple[str, str, str, str], Estimate], head: str) -> str:
    if row is None:
        return "-"
    if not row.ties:
        return f"{100 * row.value:.1f}{way_behind(row, head)}"
    share = "all tie" if row.ties == row.n else f"{row.ties} tie"
    return f"{100 * row.value:.1f} ~{100 * half[_key(row)].value:.1f} ({share})"

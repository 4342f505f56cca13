"""Results: for each benchmark, its measured runs, with the text-only model beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from tellapart import registry
from tellapart.audits.guesses import BestGuess, guessable
from tellapart.benchmark.benchmark import Benchmark
from tellapart.measures.comparison import ComparedPair, compare_runs
from tellapart.measures.contestants import benchmark_labels, is_reference, labels
from tellapart.measures.measure import Measure, was_asked
from tellapart.measures.overview import (
    TEXT_ALONE,
    Overview,
    ReferenceLine,
    chance_lines,
    overview_of,
    reference_line,
    shown_measure,
    text_alone_line,
)
from tellapart.measures.scores import Estimate, asks_of, estimates
from tellapart.measures.ties import TieRule
from tellapart.models.baselines import Blind
from tellapart.score.engine import Settings, run_model
from tellapart.score.run import Run
from tellapart.types import Progress

TEXT_ONLY_TIES: TieRule = "half"


class StepCounter:
    """Counts steps for a progress bar; `total` is known from the start."""

    def __init__(self, total: int, progress: Progress) -> None:
        self.done, self.total, self._progress = 0, total, progress

    def step(self) -> None:
        """Count one more step."""
        self.done += 1
        self._progress("report", self.done, self.total)


@dataclass(frozen=True, eq=False)
class Entry:
    """One run with its estimates by measure and kind; `label` is its name on the page."""

    label: str
    run: Run
    found: Mapping[tuple[str, str], Estimate]

    def estimate(self, measure: str, kind: str = "micro") -> Estimate | None:
        """The estimate, or None if the measure does not apply or was not asked."""
        return self.found.get((measure, kind))


@dataclass(frozen=True, eq=False)
class BenchmarkResults:
    """One benchmark with all its runs.

    `text_only` never sees a picture; `computed` means that it was run for this report. Its ties are
    always halved: it cannot distinguish pictures, and a rule that counts that as wrong would make a
    guessable benchmark look safe. `entries` are the contestants, `lines` other models that never
    look, also with ties halved. `cues` are the best guesses from the form of captions, by measure
    and kind; `pairs` compare every two contestants by the main measure.
    """

    label: str
    benchmark: Benchmark
    measures: tuple[Measure, ...]
    entries: tuple[Entry, ...]
    text_only: Entry
    computed: bool
    cues: Mapping[tuple[str, str], BestGuess] = field(default_factory=dict)
    pairs: tuple[ComparedPair, ...] = ()
    lines: tuple[Entry, ...] = ()

    @property
    def main(self) -> Measure:
        """The benchmark's first measure."""
        return self.measures[0]

    @property
    def guess(self) -> Entry:
        """The strongest guess without looking, for charts: the attackers', if there are any."""
        known = self.cues.get((self.main.name, "micro"))
        if known is None or not known.source:
            return replace(self.text_only, label="text-only")
        found = {key: best.estimate for key, best in self.cues.items()}
        return Entry(TEXT_ALONE, self.text_only.run, found)

    def shown(self, measure: str) -> str:
        """A measure's name, with the decision rule if all models share it (`T1@own`)."""
        found = (entry.estimate(measure) for entry in self.looked_at or (self.text_only,))
        return shown_measure(measure, (one for one in found if one is not None))

    @property
    def looked_at(self) -> tuple[Entry, ...]:
        """The entries whose answers are shown: the contestants, or the lines if there are none."""
        return self.entries or self.lines

    def pair(self, first: str, second: str) -> ComparedPair | None:
        """How two contestants compare by the main measure, in either order."""
        wanted = {first, second}
        return next((pair for pair in self.pairs if {pair.first, pair.second} == wanted), None)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of items, sorted."""
        return self.benchmark.items.kinds[0]

    def partial(self, entry: Entry) -> bool:
        """Whether a run covers only part of the benchmark."""
        return len(entry.run.covered) < len(self.benchmark.items)


def group_runs(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs by benchmark (name and items), in their original order."""
    together: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        together.setdefault((run.benchmark.name, run.benchmark.sha256), []).append(run)
    return list(together.values())


def measure_runs(
    runs: Sequence[Run], ties: TieRule, skip_bad: bool, steps: StepCounter
) -> list[BenchmarkResults]:
    """Measure every run (see `steps_for`)."""
    grouped: dict[str, list[tuple[Run, str]]] = {}
    for run, label, benchmark in zip(runs, labels(runs), benchmark_labels(runs), strict=True):
        grouped.setdefault(benchmark, []).append((run, label))
    return [_results(name, rows, ties, skip_bad, steps) for name, rows in grouped.items()]


def _results(
    name: str, rows: list[tuple[Run, str]], ties: TieRule, skip_bad: bool, steps: StepCounter
) -> BenchmarkResults:
    runs = [run for run, _ in rows]
    benchmark = runs[0].benchmark
    measures = tuple(registry.measures.get(name) for name in benchmark.card.measures)
    blind = next((run for run in runs if is_blind(run)), None)
    models = [row for row in rows if not is_reference(row[0].model)]
    others = [row for row in rows if is_reference(row[0].model) and row[0] is not blind]

    def measured(some: list[tuple[Run, str]], rule: TieRule) -> Iterator[Entry]:
        for run, label in some:
            yield _entry(label, run, measures, rule)
            steps.step()

    entries, lines = tuple(measured(models, ties)), tuple(measured(others, TEXT_ONLY_TIES))
    contestants = [run for run, _ in models]
    looked = contestants or [run for run, _ in others]
    without_looking = blind or _run_blind(benchmark, looked, skip_bad)
    text_only = _entry(without_looking.model, without_looking, measures, TEXT_ONLY_TIES)
    steps.step()
    cues = {(b.estimate.measure, b.estimate.kind): b for b in guessable(benchmark).rows}
    pairs = None
    if len(models) > 1:
        called = [label for _, label in models]
        pairs = compare_runs(contestants, measures=[measures[0].name], ties=ties, names=called)
    return BenchmarkResults(
        label=name,
        benchmark=benchmark,
        measures=measures,
        entries=entries,
        text_only=text_only,
        computed=blind is None,
        cues=cues,
        pairs=pairs.only(kind="micro").pairs if pairs else (),
        lines=lines,
    )


def overview(benchmarks: Sequence[BenchmarkResults]) -> Overview:
    """Models by benchmarks, with all lines: the same table as at the top of `measure`."""
    rows: list[Estimate] = []
    lines: list[ReferenceLine] = []
    for results in benchmarks:
        main, label = results.main.name, results.label
        own = [(entry, entry.estimate(main)) for entry in results.looked_at]
        here = [replace(one, benchmark=label, model=entry.label) for entry, one in own if one]
        rows += here if results.entries else []
        blind = results.text_only.estimate(main)
        lines += chance_lines(here or ([replace(blind, benchmark=label)] if blind else []))
        for entry in (results.text_only, *results.lines):
            one = entry.estimate(main)
            lines += [reference_line(one, entry.label, label)] if one is not None and one.n else []
        lines += filter(None, [text_alone_line(results.benchmark, label, main)])
    cues = [
        best.line(results.label)
        for results in benchmarks
        for best in results.cues.values()
        if best.estimate.kind == "micro"
    ]
    return overview_of(rows, lines).with_guesses(cues)


def steps_for(grouped: Sequence[Sequence[Run]]) -> int:
    """The number of steps of `measure_runs`: all models, and each benchmark's text-only one."""
    return sum(len(group) + (not any(map(is_blind, group))) for group in grouped)


def is_blind(run: Run) -> bool:
    """Whether a run is by the text-only model."""
    return run.model.partition("?")[0] == "blind"


def _entry(label: str, run: Run, measures: Sequence[Measure], ties: TieRule) -> Entry:
    found = {
        (one.measure, one.kind): one
        for measure in measures
        if was_asked(run, measure.asks)
        for one in estimates(run, measure, ties)
    }
    return Entry(label, run, found)


def _run_blind(benchmark: Benchmark, models: Sequence[Run], skip_bad: bool) -> Run:
    """Run the text-only model on the items that any model was given."""
    settings = Settings(asks=asks_of(benchmark.card.measures), skip_bad=skip_bad)
    run = run_model(Blind(), benchmark, settings)
    covered = frozenset[str]().union(*(model.covered for model in models))
    if len(covered) == len(benchmark.items):
        return run
    return replace(run, scores=run.scores.filter(pl.col("item").is_in(sorted(covered))))

"""Results: for each benchmark its runs, measured, with the text-only model beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from tellapart import registry
from tellapart.audits.guesses import BestGuess, guessable
from tellapart.benchmark.benchmark import Benchmark
from tellapart.measures.comparison import ComparedPair, compare_runs
from tellapart.measures.measure import Measure
from tellapart.measures.scores import Estimate, asks_of, estimates
from tellapart.measures.ties import TieRule
from tellapart.models.baselines import Blind
from tellapart.questions import Ask
from tellapart.score.cells import GRID_ASKS
from tellapart.score.engine import Settings, run_model
from tellapart.score.run import Run
from tellapart.types import Progress

TEXT_ONLY_TIES: TieRule = "half"


class StepCounter:
    """Counts steps for a progress bar: `total` is known before the first step is done."""

    def __init__(self, total: int, progress: Progress) -> None:
        self.done, self.total, self._progress = 0, total, progress

    def step(self) -> None:
        """One more is done."""
        self.done += 1
        self._progress("report", self.done, self.total)


@dataclass(frozen=True, eq=False)
class Entry:
    """One run with its estimates, by measure and kind; `label` is what the page calls it."""

    label: str
    run: Run
    found: Mapping[tuple[str, str], Estimate]

    def estimate(self, measure: str, kind: str = "micro") -> Estimate | None:
        """The estimate, or None where the measure does not apply or was not asked."""
        return self.found.get((measure, kind))


@dataclass(frozen=True, eq=False)
class BenchmarkResults:
    """One benchmark with all that was run on it.

    `text_only` never saw a picture; `computed` says that it was run for this report. Its ties
    are always halved: it cannot tell pictures apart, and a rule that calls that wrong would
    make a guessable benchmark look safe. `cues` are the best guesses from the form of captions, by
    measure and kind; `pairs` compare every two models by the main measure.
    """

    label: str
    benchmark: Benchmark
    measures: tuple[Measure, ...]
    entries: tuple[Entry, ...]
    text_only: Entry
    computed: bool
    cues: Mapping[tuple[str, str], BestGuess] = field(default_factory=dict)
    pairs: tuple[ComparedPair, ...] = ()

    @property
    def main(self) -> Measure:
        """The measure that the benchmark names first."""
        return self.measures[0]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of items, sorted."""
        return self.benchmark.items.kinds[0]

    def partial(self, entry: Entry) -> bool:
        """Whether a run covers only a part of the benchmark."""
        return len(entry.run.covered) < len(self.benchmark.items)


def group_runs(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs by benchmark (name and items), in the order in which they came."""
    together: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        together.setdefault((run.benchmark.name, run.benchmark.sha256), []).append(run)
    return list(together.values())


def measure_runs(
    runs: Sequence[Run], ties: TieRule, skip_bad: bool, steps: StepCounter
) -> list[BenchmarkResults]:
    """Measure every run (see `steps_for`)."""
    grouped = group_runs(runs)
    names = Counter(group[0].benchmark.name for group in grouped)
    return [_results(group, names, ties, skip_bad, steps) for group in grouped]


def _results(
    runs: list[Run], names: Mapping[str, int], ties: TieRule, skip_bad: bool, steps: StepCounter
) -> BenchmarkResults:
    benchmark = runs[0].benchmark
    twice = names[benchmark.name] > 1
    label = f"{benchmark.name} ({benchmark.sha256[:8]})" if twice else benchmark.name
    measures = tuple(registry.measures.get(name) for name in benchmark.card.measures)
    blind = next((run for run in runs if is_blind(run)), None)
    models = [run for run in runs if run is not blind]
    entries = []
    for run, name in zip(models, _labels(models), strict=True):
        entries.append(_entry(name, run, measures, ties))
        steps.step()
    without_looking = blind or _run_blind(benchmark, models, skip_bad)
    text_only = _entry(without_looking.model, without_looking, measures, TEXT_ONLY_TIES)
    steps.step()
    cues = {(b.estimate.measure, b.estimate.kind): b for b in guessable(benchmark).rows}
    pairs = (
        compare_runs(models, measures=[measures[0].name], ties=ties) if len(models) > 1 else None
    )
    return BenchmarkResults(
        label=label,
        benchmark=benchmark,
        measures=measures,
        entries=tuple(entries),
        text_only=text_only,
        computed=blind is None,
        cues=cues,
        pairs=pairs.only(kind="micro").pairs if pairs else (),
    )


def steps_for(grouped: Sequence[Sequence[Run]]) -> int:
    """How many steps `measure_runs` takes: every model, and the text-only one of each benchmark."""
    return sum(len(group) + (not any(map(is_blind, group))) for group in grouped)


def is_blind(run: Run) -> bool:
    """Whether a run is that of the text-only model."""
    return run.model.partition("?")[0] == "blind"


def _labels(runs: list[Run]) -> list[str]:
    """Model strings; a model that was run twice gets numbers."""
    seen: Counter[str] = Counter()
    labels = []
    for run in runs:
        seen[run.model] += 1
        labels.append(run.model if seen[run.model] == 1 else f"{run.model} (run {seen[run.model]})")
    return labels


def _entry(label: str, run: Run, measures: Sequence[Measure], ties: TieRule) -> Entry:
    found = {
        (one.measure, one.kind): one
        for measure in measures
        if was_asked(run, measure.asks)
        for one in estimates(run, measure, ties)
    }
    return Entry(label, run, found)


def was_asked(run: Run, asks: frozenset[Ask]) -> bool:
    """Whether a run was asked what a measure reads: an unasked question is not a failure."""
    asked = {Ask(name) for name in run.card.asks}
    if not asked:  # a run from elsewhere that does not say
        return True
    if run.card.kind == "scorer":  # scorers fill the whole grid, and nouns are among the words
        asked |= GRID_ASKS if asked & GRID_ASKS else set()
        asked |= {Ask.NOUN} if Ask.WORD in asked else set()
    return asks <= asked


def _run_blind(benchmark: Benchmark, models: Sequence[Run], skip_bad: bool) -> Run:
    """The text-only model on the items that some model was given."""
    settings = Settings(asks=asks_of(benchmark.card.measures), skip_bad=skip_bad)
    run = run_model(Blind(), benchmark, settings)
    covered = frozenset[str]().union(*(model.covered for model in models))
    if len(covered) == len(benchmark.items):
        return run
    return replace(run, scores=run.scores.filter(pl.col("item").is_in(sorted(covered))))

"""Three items at the top of the report: all models right, all wrong, and models divided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput
from tellapart.items import Item
from tellapart.reports.picks import State, verdict_measure, verdicts
from tellapart.reports.results import BenchmarkResults

TRIES = 25
"""How many items to try until one has pictures that can be opened."""


@dataclass(frozen=True, slots=True)
class Shown:
    """An item at the top of the report: why it is there, and its benchmark's number."""

    title: str
    benchmark: int
    item: Item


def showcase(benchmarks: Sequence[BenchmarkResults]) -> list[Shown]:
    """Up to three items, from different benchmarks if possible, with a fixed seed."""
    states = [_states(results) for results in benchmarks]
    shown: list[Shown] = []
    for title, wanted in _wanted(max((len(results.entries) for results in benchmarks), default=0)):
        order = sorted(range(len(benchmarks)), key=[s.benchmark for s in shown].count)
        for k in order:
            item = _item(benchmarks[k].benchmark, states[k], title, wanted)
            if item is not None:
                shown.append(Shown(title, k, item))
                break
    return shown


def _wanted(models: int) -> Iterator[tuple[str, Callable[[str], float]]]:
    """Titles, and functions that score an item by the letters of its outcomes; 0 is no fit."""
    right, wrong = str(State.RIGHT), str(State.WRONG)
    yield (
        "All models are right" if models > 1 else "The model is right",
        lambda s: float(set(s) == {right}),
    )
    yield (
        "All models are wrong" if models > 1 else "The model is wrong",
        lambda s: float(set(s) == {wrong}),
    )
    if models > 1:
        yield "The models are divided", lambda s: float(min(s.count(right), s.count(wrong)))


def _states(results: BenchmarkResults) -> dict[str, str]:
    """For each item that all models were given, one letter per model for its outcome."""
    judge = verdict_measure(results.measures)
    found = [verdicts(entry.run, judge) for entry in results.entries]
    if not found:
        return {}
    shared = set(found[0]).intersection(*found)
    ids = (name for name in results.benchmark.items.ids if name in shared)
    return {name: "".join(one[name] for one in found) for name in ids}


def _item(
    benchmark: Benchmark, states: dict[str, str], title: str, wanted: Callable[[str], float]
) -> Item | None:
    """The best-fitting item whose pictures can be opened; ties are broken by the seed."""
    fits = {letters: wanted(letters) for letters in set(states.values())}
    best = max(fits.values(), default=0.0)
    names = [name for name, letters in states.items() if best and fits[letters] == best]
    order = seeds.rng(0, "showcase", benchmark.sha256, title).permutation(len(names))
    for k in order[:TRIES]:
        item = benchmark.by_id[names[k]]
        if _opens(benchmark, item):
            return item
    return None


def _opens(benchmark: Benchmark, item: Item) -> bool:
    try:
        for picture in benchmark.pictures(item):
            picture.open().close()
    except (BadInput, KeyError):
        return False
    return True

"""The verb `evaluate`: models on benchmarks, one run each."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tellapart import registry, seeds
from tellapart.benchmark.benchmark import Benchmark, load_benchmark
from tellapart.errors import BadInput
from tellapart.models.names import load
from tellapart.questions import Ask
from tellapart.score.engine import Settings, run_model
from tellapart.score.run import Run, save_run


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """How to evaluate; `measures` None means those that each benchmark names."""

    measures: tuple[str, ...] | None = None
    limit: int | None = None
    seed: int = 0
    batch_size: int = 64
    trials: int = 1
    skip_bad: bool = False
    overwrite: bool = False


def evaluate(
    models: str | Sequence[Any],
    on: Benchmark | Path | str | Sequence[Benchmark | Path | str],
    out: Path | str,
    options: EvaluateOptions = EvaluateOptions(),  # noqa: B008 (frozen)
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> list[Run]:
    """Run models on benchmarks; each run goes to OUT/benchmark/model.

    A model is a string (see `tellapart list models`) or an object that has the methods of a
    model; a benchmark is a `Benchmark`, its folder, or a known name.
    """
    if options.limit is not None and options.limit < 1:
        raise BadInput(f"a limit of {options.limit} items is none", allowed="1 or more")
    loaded = [load(m) if isinstance(m, str) else m for m in _listed(models)]
    benchmarks = [b if isinstance(b, Benchmark) else load_benchmark(b) for b in _listed(on)]
    runs = []
    for benchmark in benchmarks:
        settings = Settings(
            asks=asks_of(options.measures or benchmark.card.measures),
            seed=options.seed,
            batch_size=options.batch_size,
            trials=options.trials,
            skip_bad=options.skip_bad,
        )
        for model in loaded:
            label = f"{model.facts.name} on {benchmark.name}"
            started = time.perf_counter()
            run = run_model(model, benchmark, settings, partial(progress, label), options.limit)
            seconds = round(time.perf_counter() - started, 3)
            folder = Path(out) / benchmark.name / slug(run.model)
            timings = {"seconds": seconds, "items": len(run.covered)}
            runs.append(save_run(run, folder, timings=timings, overwrite=options.overwrite))
    return runs


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def asks_of(measures: Sequence[str]) -> frozenset[Ask]:
    """The questions that some measures read."""
    return frozenset().union(*(registry.measures.get(name).asks for name in measures))


def slug(model: str) -> str:
    """A folder name for a model string; long or odd ones get a hash.

    >>> slug("oracle?error=0.1&seed=0")
    'oracle-error-0.1-seed-0'
    """
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", model).strip("-.")
    return plain if len(plain) <= 60 else f"{plain[:50]}-{seeds.digest(model)[:8]}"

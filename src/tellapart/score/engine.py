"""The engine: asks a model all that benchmarks ask, and keeps account of every answer.

Tasks are planned together, so that every distinct image, text or pair of all of them goes to the
model once; see docs/engine.md.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart._version import __version__
from tellapart.benchmark.benchmark import Benchmark
from tellapart.benchmark.table import ItemTable
from tellapart.models.model import DualEncoder, ShownItem, is_cacheable, kind_of
from tellapart.questions import Ask
from tellapart.score.batches import BatchLimits
from tellapart.score.cells import GRID_ASKS
from tellapart.score.chooser import Way, ask_all
from tellapart.score.encoder import CellScores, Encoder, open_shelf, score_plan
from tellapart.score.job import ModelWork
from tellapart.score.plan import ScorePlan, ScoreTask, make_plan
from tellapart.score.precision import close_items
from tellapart.score.run import Failure, Run, RunCard, answers_frame, scores_frame
from tellapart.store.cache import SIZE_GB
from tellapart.store.rows import Shelf
from tellapart.types import Progress as Report

Progress = Callable[[int, int], None]

LIBRARIES = {
    "torch": "torch",
    "torchvision": "torchvision",
    "transformers": "transformers",
    "tokenizers": "tokenizers",
    "open_clip": "open_clip_torch",
    "timm": "timm",
    "onnxruntime": "onnxruntime",
}
"""Modules whose versions bear on scores, with the packages that they come in."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run: which questions, how many inputs at a time, what to do about bad images.

    `cache` is the folder that rows of models with a fingerprint are kept in; None for nowhere.
    """

    asks: frozenset[Ask]
    seed: int = 0
    batch_size: int = 64
    trials: int = 1
    skip_bad: bool = False
    cache: Path | None = None
    cache_gb: float = SIZE_GB


def run_model(
    model: Any,
    benchmark: Benchmark,
    settings: Settings,
    progress: Progress,
    limit: int | None = None,
) -> Run:
    """Put one model through one benchmark (or a seeded sample of `limit` items of it)."""
    task = ScoreTask(benchmark, sample(benchmark.items, limit, settings.seed), settings.asks)
    (run,) = run_tasks(model, [task], settings, lambda phase, done, total: progress(done, total))
    return run


def run_tasks(
    model: Any,
    tasks: Sequence[ScoreTask],
    settings: Settings,
    report: Report,
    desk: ModelWork | None = None,
    kept: Sequence[Run | None] = (),
) -> Iterator[Run]:
    """Put one model through several tasks; what they share is computed once.

    `desk` is where unfinished work is kept. `kept` are earlier runs of the tasks: what a chooser
    answered there is not asked again.
    """
    earlier = list(kept) or [None] * len(tasks)
    if kind_of(model) == "chooser":
        for task, run in zip(tasks, earlier, strict=True):
            _prepare(model, task)
            yield _asked(model, task, settings, report, desk, run)
    elif hasattr(model, "prepare"):  # what it says depends on the benchmark
        for task in tasks:
            _prepare(model, task)
            yield from _scored(model, [task], settings, report, desk, part=_name(task))
    else:
        yield from _scored(model, tasks, settings, report, desk)


def sample(items: ItemTable, limit: int | None, seed: int) -> ItemTable:
    """All items, or a random sample of them in their own order."""
    if limit is None or limit >= len(items):
        return items
    chosen = seeds.rng(seed, "limit").choice(len(items), size=limit, replace=False)
    return items.rows(np.sort(chosen))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # a module that was not installed as a package
        return "unknown"


def versions() -> dict[str, str]:
    """The versions that scores depend on: our own, and of what models have loaded."""
    loaded = {name: _version(package) for name, package in LIBRARIES.items() if name in sys.modules}
    return {
        "tellapart": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "polars": pl.__version__,
        **loaded,
    }


def _prepare(model: Any, task: ScoreTask) -> None:
    if hasattr(model, "prepare"):
        columns = task.items.frame.select("images", "captions", "group").iter_rows()
        model.prepare([ShownItem(tuple(i), tuple(c), group) for i, c, group in columns])


def _name(task: ScoreTask) -> str:
    """A task's own part of the work folder."""
    return seeds.digest(task.benchmark.sha256, task.items.ids.to_list())[:16]


def _card(model: Any, task: ScoreTask, settings: Settings, **notes: Any) -> RunCard:
    facts, kind = model.facts, kind_of(model)
    return RunCard(
        model=facts.name,
        options=dict(facts.options),
        kind=kind,
        benchmark=task.benchmark.name,
        benchmark_sha256=task.benchmark.sha256,
        weights=facts.weights,
        preprocessing=facts.preprocessing,
        dtype=facts.dtype,
        seed=settings.seed,
        asks=tuple(sorted(task.asks)),
        scored_cells=kind == "scorer",
        versions=versions(),
        notes={key: value for key, value in notes.items() if value},
    )


def _asked(
    model: Any,
    task: ScoreTask,
    settings: Settings,
    report: Report,
    desk: ModelWork | None,
    run: Run | None,
) -> Run:
    """A chooser's run."""
    journal = desk.journal(_name(task)) if desk else None
    try:
        answers = ask_all(
            model,
            task,
            Way(settings.seed, settings.trials, settings.batch_size, settings.skip_bad),
            journal=journal,
            kept=run.answers if run else None,
            progress=lambda done, total: report("questions", done, total),
        )
    finally:
        if journal:
            journal.close()
    return Run(_card(model, task, settings), task.benchmark, scores_frame([]), answers)


def _scored(
    model: Any,
    tasks: Sequence[ScoreTask],
    settings: Settings,
    report: Report,
    desk: ModelWork | None,
    part: str = "all",
) -> Iterator[Run]:
    """A scorer's runs."""
    cacheable = is_cacheable(model)
    by_content = isinstance(model, DualEncoder) or cacheable
    plan = make_plan(
        tasks, by_content=by_content, progress=lambda done, total: report("reading", done, total)
    )
    shelf: Shelf | None = None
    if cacheable and settings.cache:
        shelf = open_shelf(settings.cache, model.facts, settings.cache_gb)
    elif desk:
        shelf = desk.shelf(part)
    limits = BatchLimits(settings.batch_size)
    if desk:
        limits = replace(limits, smaller=desk.smaller(), changed=desk.note_smaller)
    encoder = Encoder(model, limits, shelf, settings.skip_bad, by_content, report)
    try:
        scored = score_plan(plan, encoder)
    finally:
        if shelf:
            shelf.close()
    for number, task in enumerate(tasks):
        yield _run_of(model, task, settings, plan, scored, number, limits.smaller)
        report("scores", number + 1, len(tasks))


def _run_of(
    model: Any,
    task: ScoreTask,
    settings: Settings,
    plan: ScorePlan,
    scored: CellScores,
    number: int,
    smaller: dict[str, int],
) -> Run:
    """The run of one task, by its number in the plan."""
    cells, first = plan.tables[number], int(plan.begins[number])
    scores = scored.scores[first : first + len(cells)]
    good = np.isfinite(scores)
    frame = cells.frame().with_columns(score=pl.Series(scores, dtype=pl.Float64))
    failures = tuple(
        Failure(
            row["item"],
            f"{row['image']},{row['caption']}" + (f",{row['edit']}" if row["edit"] else ""),
            _reason(plan, scored, first + place, float(scores[place])),
        )
        for place in np.flatnonzero(~good).tolist()
        for row in [frame.row(place, named=True)]
    )
    close = 0
    if task.asks & GRID_ASKS:
        close = close_items(cells, scores, model.facts.dtype)
    card = _card(model, task, settings, smaller_batches=dict(smaller), below_precision=close)
    kept = frame if good.all() else frame.filter(pl.Series(good))
    return Run(card, task.benchmark, kept, answers_frame([]), failures)


def _reason(plan: ScorePlan, scored: CellScores, place: int, value: float) -> str:
    """Why a cell has no score."""
    error = scored.bad_cells.get(place) or scored.bad_images.get(int(plan.image[place]))
    return error.what if error else f"the model's score is {value}"

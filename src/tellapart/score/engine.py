"""The engine: asks a model every question of its benchmarks and accounts for every answer.

Tasks are planned together, so that every distinct image, text or pair goes to the model once; see
docs/engine.md.
"""

from __future__ import annotations

import logging
import platform
import sys
from collections.abc import Iterator, Sequence
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
from tellapart.errors import BadInput, PartDone
from tellapart.models.model import DualEncoder, ShownItem, is_cacheable, kind_of
from tellapart.questions import Ask
from tellapart.score.batches import BatchLimits
from tellapart.score.cells import GRID_ASKS
from tellapart.score.chooser import Way, ask_all
from tellapart.score.encoder import CellScores, Encoder, open_shelf, score_plan
from tellapart.score.job import ModelWork
from tellapart.score.live import LiveNotes
from tellapart.score.plan import ScorePlan, ScoreTask, make_plan
from tellapart.score.precision import close_items
from tellapart.score.run import Failure, Run, RunCard, answers_frame, scores_frame
from tellapart.score.shards import ScoringTask, score_shards
from tellapart.score.ways import ways_of
from tellapart.store.cache import SIZE_GB
from tellapart.store.rows import Shelf
from tellapart.types import Progress, silent
from tellapart.work.crew import ShardJob
from tellapart.work.folder import ShardFolder

log = logging.getLogger(__name__)
LIBRARIES = {
    "torch": "torch",
    "torchvision": "torchvision",
    "transformers": "transformers",
    "tokenizers": "tokenizers",
    "open_clip": "open_clip_torch",
    "timm": "timm",
    "onnxruntime": "onnxruntime",
}
"""Modules whose versions affect scores, with the packages that contain them."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run: which questions, how many inputs at a time, what to do about bad images.

    `cache` is the folder for rows of models with a fingerprint; None for no cache.
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
    progress: Progress = silent,
    limit: int | None = None,
) -> Run:
    """Run one model on one benchmark, or on a seeded sample of `limit` of its items."""
    task = ScoreTask(benchmark, sample(benchmark.items, limit, settings.seed), settings.asks)
    (run,) = run_tasks(model, [task], settings, progress)
    return run


def run_tasks(
    model: Any,
    tasks: Sequence[ScoreTask],
    settings: Settings,
    progress: Progress = silent,
    work: ModelWork | None = None,
    earlier: Sequence[Run | None] = (),
) -> Iterator[Run]:
    """Run one model on several tasks; shared inputs are computed once.

    `work` keeps unfinished work. Questions that a chooser answered in `earlier` runs of the tasks
    are not asked again.
    """
    engine = _Engine(model, settings, progress, work)
    if kind_of(model) == "chooser":
        for task, run in zip(tasks, earlier or [None] * len(tasks), strict=True):
            engine.prepare(task)
            yield engine.ask(task, run)
    elif hasattr(model, "prepare"):  # its answers depend on the benchmark
        parts: list[PartDone] = []
        for task in tasks:
            engine.prepare(task)
            try:
                yield from engine.score([task], part=_name(task))
            except PartDone as part:  # this benchmark's share is done; others have shares, too
                parts.append(part)
        if parts:
            raise PartDone.of(parts)
    else:
        yield from engine.score(tasks)


def sample(items: ItemTable, limit: int | None, seed: int) -> ItemTable:
    """All items, or a random sample of them in their own order."""
    if limit is None or limit >= len(items):
        return items
    chosen = seeds.rng(seed, "limit").choice(len(items), size=limit, replace=False)
    return items.rows(np.sort(chosen))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # a module that is not installed as a package
        return "unknown"


def versions() -> dict[str, str]:
    """The versions that scores depend on: our own, and those of modules that models loaded."""
    loaded = {name: _version(package) for name, package in LIBRARIES.items() if name in sys.modules}
    return {
        "tellapart": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "polars": pl.__version__,
        **loaded,
    }


def _name(task: ScoreTask) -> str:
    """The name of a task's part of the work folder."""
    return seeds.digest(task.benchmark.sha256, task.items.ids.to_list())[:16]


@dataclass(frozen=True, slots=True)
class _Engine:
    """One model and its run settings."""

    model: Any
    settings: Settings
    progress: Progress
    work: ModelWork | None

    def prepare(self, task: ScoreTask) -> None:
        """Show a benchmark's captions to a model that asks for them first."""
        if hasattr(self.model, "prepare"):
            self.model.prepare(list(self._shown(task)))

    @staticmethod
    def _shown(task: ScoreTask) -> tuple[ShownItem, ...]:
        """The items as a model sees them: without the truth."""
        columns = task.items.frame.select("images", "captions", "group").iter_rows()
        return tuple(ShownItem(tuple(i), tuple(c), group) for i, c, group in columns)

    def ask(self, task: ScoreTask, earlier: Run | None) -> Run:
        """A chooser's run."""
        settings = self.settings
        crew = self.work.crew if self.work else None
        if crew and (crew.share or crew.gather):
            raise BadInput(
                f"{self.model.facts.name} is asked questions, which cannot be split into shards",
                allowed="--shard and --gather with models that score",
                todo="run this model without them: its server does the work",
            )
        journal = self.work.journal(_name(task)) if self.work else None
        if journal and journal.known:
            kept = f"{len(journal.known):,} earlier answers are kept"
            log.info("%s on %s: %s", self.model.facts.name, task.benchmark.name, kept)
        try:
            answers = ask_all(
                self.model,
                task,
                Way(settings.seed, settings.trials, settings.batch_size, settings.skip_bad),
                journal=journal,
                kept=earlier.answers if earlier else None,
                progress=self._noted([task])[0],
            )
        finally:
            if journal:
                journal.close()
        return Run(self._card(task), task.benchmark, scores_frame([]), answers)

    def score(self, tasks: Sequence[ScoreTask], part: str = "all") -> Iterator[Run]:
        """A scorer's runs."""
        cacheable = is_cacheable(self.model)
        by_content = isinstance(self.model, DualEncoder) or cacheable
        progress, live = self._noted(tasks)
        ways = ways_of(self.model)
        plan = make_plan(tasks, by_content=by_content, progress=progress, ways=ways)
        shelf: Shelf | None = None
        crew = self.work.crew if self.work else None
        if cacheable and self.settings.cache and not crew:
            shelf = open_shelf(self.settings.cache, self.model.facts, self.settings.cache_gb)
        elif self.work:
            shelf = self.work.shelf(part)
        limits = BatchLimits(self.settings.batch_size)
        if self.work:
            limits = replace(limits, smaller=self.work.smaller(), changed=self.work.note_smaller)
        skip_bad = self.settings.skip_bad
        encoder = Encoder(self.model, limits, shelf, skip_bad, by_content, progress)
        if live:
            tables = [cells.frame for cells in plan.tables]
            encoder = replace(encoder, so_far=lambda scores: live.so_far(tables, scores))
        try:
            if crew:
                self._in_shards(plan, encoder, tasks, part)
            scored = score_plan(plan, encoder)
        finally:
            if shelf:
                shelf.close()
        for number in range(len(tasks)):
            yield self._run_of(plan, scored, number, limits.smaller)
            self.progress("scores", number + 1, len(tasks))

    def _in_shards(
        self, plan: ScorePlan, encoder: Encoder, tasks: Sequence[ScoreTask], part: str
    ) -> None:
        """Have a crew compute the rows of a plan, which the engine then reads."""
        work, settings = self.work, self.settings
        assert work is not None and work.crew is not None
        if plan.images.bad and not settings.skip_bad:
            raise next(iter(plan.images.bad.values()))
        shown = self._shown(tasks[0]) if hasattr(self.model, "prepare") else None
        cache = settings.cache.resolve() if settings.cache else None
        task = ScoringTask(
            work.source, settings.batch_size, settings.skip_bad, encoder.by_content, cache,
            settings.cache_gb, shown,
        )  # fmt: skip
        about = f"{self.model.facts.name} on {', '.join(one.benchmark.name for one in tasks)}"
        job = ShardJob(about, "inputs", task, score_shards(plan, encoder))
        kept = ShardFolder(work.shelf(part).folder)
        work.crew.do(kept, job, self.progress)
        for notes in kept.notes(job.shards):
            for kind, size in notes.get("smaller", {}).items():
                known = encoder.limits.smaller.get(kind, size)
                encoder.limits.smaller[kind] = min(known, size)

    def _noted(self, tasks: Sequence[ScoreTask]) -> tuple[Progress, LiveNotes | None]:
        """Progress that is also recorded for viewers, if there is a folder for it."""
        if self.work is None:
            return self.progress, None
        cards = tuple((self._card(t), str(t.benchmark.root.resolve()), _name(t)) for t in tasks)
        live = LiveNotes(self.work, cards)
        return live.watch(self.progress), live

    def _run_of(
        self, plan: ScorePlan, scored: CellScores, number: int, smaller: dict[str, int]
    ) -> Run:
        """The run of one task, by its number in the plan."""
        task, cells, first = plan.tasks[number], plan.tables[number], int(plan.begins[number])
        scores = scored.scores[first : first + len(cells)]
        good = np.isfinite(scores)
        frame = cells.frame().with_columns(score=pl.Series(scores, dtype=pl.Float64))
        failures = []
        for place in np.flatnonzero(~good).tolist():
            item, image, caption, edit, score = frame.row(place)
            where = f"{image},{caption}" + (f",{edit}" if edit else "")
            failures.append(Failure(item, where, _reason(plan, scored, first + place, score)))
        close = 0
        if task.asks & GRID_ASKS:
            close = close_items(cells, scores, self.model.facts.dtype)
        card = self._card(task, smaller_batches=dict(smaller), below_precision=close)
        finite = frame if good.all() else frame.filter(pl.Series(good))
        return Run(card, task.benchmark, finite, answers_frame([]), tuple(failures))

    def _card(self, task: ScoreTask, **notes: Any) -> RunCard:
        facts, kind = self.model.facts, kind_of(self.model)
        return RunCard(
            model=facts.name,
            options=dict(facts.options),
            kind=kind,
            benchmark=task.benchmark.name,
            benchmark_sha256=task.benchmark.sha256,
            weights=facts.weights,
            preprocessing=facts.preprocessing,
            dtype=facts.dtype,
            threshold=facts.threshold,
            ways=tuple(sorted(ways_of(self.model))),
            seed=self.settings.seed,
            asks=tuple(sorted(task.asks)),
            scored_cells=kind == "scorer",
            versions=versions(),
            notes={key: value for key, value in notes.items() if value},
        )


def _reason(plan: ScorePlan, scored: CellScores, place: int, value: float) -> str:
    """Why a cell has no score."""
    error = scored.bad_cells.get(place) or scored.bad_images.get(int(plan.image[place]))
    return error.what if error else f"the model's score is {value}"

"""The verb `evaluate`: models on benchmarks, one run each."""

from __future__ import annotations

import inspect
import logging
import re
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart import registry
from tellapart.errors import BadInput, PartDone, UnknownName
from tellapart.options import (
    Cache,
    CacheGb,
    Gather,
    Help,
    Overwrite,
    Seed,
    ShardShare,
    SkipBad,
    UseCache,
    Workers,
)
from tellapart.types import Progress, silent
from tellapart.verbs import Verb, open_benchmark, skipped_notes

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.score.engine import Settings
    from tellapart.score.job import ModelWork
    from tellapart.score.plan import ScoreTask
    from tellapart.score.run import Run

log = logging.getLogger(__name__)
FAILED = 3
"""Exit code if more than half of a run failed."""


class MostlyFailed(UserWarning):
    """A model failed to answer more than half of the questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateOptions:
    """How to evaluate; `measures` None means each benchmark's own.

    `cache` None means `TELLAPART_CACHE`, else `~/.cache/tellapart`. `retry_failed` opens existing
    runs and asks their failed questions again.
    """

    measures: tuple[str, ...] | None = None
    limit: Annotated[int | None, Help("Use only a random sample of this many items.")] = None
    images: Annotated[
        Path | None, Help("Folder with the pictures, if not where the benchmark says.")
    ] = None
    seed: Seed = 0
    batch_size: Annotated[int, Help("How many inputs the model processes at a time.")] = 64
    trials: Annotated[int, Help("Choosers: how many times to ask each question.")] = 1
    cache: Cache = None
    use_cache: UseCache = True
    cache_gb: CacheGb = 8.0
    retry_failed: Annotated[bool, Help("Ask the failed questions of existing runs again.")] = False
    workers: Workers = ""
    shard: ShardShare = ""
    gather: Gather = False
    skip_bad: SkipBad = False
    overwrite: Overwrite = False

    def check(self) -> None:
        """Raise for invalid numbers."""
        if self.limit is not None and self.limit < 1:
            raise BadInput(f"a limit of {self.limit} items", allowed="1 or more")
        if self.batch_size < 1:
            raise BadInput(f"a batch size of {self.batch_size}", allowed="1 or more")
        if self.trials < 1:
            raise BadInput(f"{self.trials} trials", allowed="1 or more")

    def settings(self) -> Settings:
        """The engine's settings."""
        from tellapart.score.engine import Settings
        from tellapart.store.cache import default_folder

        return Settings(
            asks=frozenset(),
            seed=self.seed,
            batch_size=self.batch_size,
            trials=self.trials,
            skip_bad=self.skip_bad,
            cache=(self.cache or default_folder()) if self.use_cache else None,
            cache_gb=self.cache_gb,
        )


def evaluate(
    models: Annotated[str | Sequence[Any], Help("Model strings; see: tellapart list models.")],
    on: Annotated[
        Benchmark | Path | str | Sequence[Benchmark | Path | str],
        Help("A benchmark's folder or name; may be repeated.", flag="--on", repeat=True),
    ],
    out: Annotated[Path | str, Help("Folder for the runs: OUT/benchmark/model.", flag="--out")],
    options: EvaluateOptions = EvaluateOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> list[Run]:
    """Run models on benchmarks.

    If the command is stopped or killed, run it again to continue where it left off.

    In Python a model may also be an object with a model's methods.
    """
    from tellapart.benchmark.image_files import pictures_in
    from tellapart.measures.scores import asks_of
    from tellapart.models.names import load
    from tellapart.score.engine import sample
    from tellapart.score.job import work_on
    from tellapart.score.plan import ScoreTask
    from tellapart.work.launchers import crew_of

    options.check()
    wanted = _listed(models)
    for name in wanted:
        _check_name(name)
    benchmarks = [pictures_in(open_benchmark(one), options.images) for one in _listed(on)]
    tasks = [
        ScoreTask(
            benchmark,
            sample(benchmark.items, options.limit, options.seed),
            asks_of(options.measures or benchmark.card.measures),
        )
        for benchmark in benchmarks
    ]
    runs: list[list[Run]] = []
    crew = crew_of(options.workers, options.shard, options.gather)
    parts: list[PartDone] = []
    with work_on(Path(out), _job(wanted, tasks, options)) as work:
        for name in wanted:  # one in memory at a time
            model = load(name) if isinstance(name, str) else name
            desk = work.desk(model, name, crew)
            try:
                runs.append(_evaluate_one(model, tasks, Path(out), options, progress, desk))
            except PartDone as part:
                parts.append(part)
        if parts:
            raise PartDone.of(parts)
    for run in (run for of_model in runs for run in of_model):
        _warn(run)
    return [of_model[k] for k in range(len(tasks)) for of_model in runs]


def _evaluate_one(
    model: Any,
    tasks: list[ScoreTask],
    out: Path,
    options: EvaluateOptions,
    progress: Progress,
    desk: ModelWork,
) -> list[Run]:
    """One model on all benchmarks; runs are written as they are ready."""
    from tellapart.score.engine import run_tasks
    from tellapart.score.run import load_run, save_run

    name = model.facts.name
    folders = [out / task.benchmark.name / slug(name) for task in tasks]
    replaces = options.overwrite or options.retry_failed
    _check_free(folders, replaces or desk.begun)
    goes_on = desk.begun and not options.overwrite
    desk.begin()
    earlier = [
        load_run(folder, task.benchmark)
        if (folder / "run.json").exists() and (goes_on or options.retry_failed)
        else None
        for folder, task in zip(folders, tasks, strict=True)
    ]
    retry = options.retry_failed
    done = [run is not None and not (retry and run.tally.failed) for run in earlier]
    if goes_on:
        log.info(
            "%s: resuming an earlier command; %d of %d runs are finished",
            name, sum(done), len(done),
        )  # fmt: skip
    if all(done):
        return [run for run in earlier if run is not None]
    runs: list[Run] = []
    started = time.perf_counter()
    report: Progress = lambda phase, n, total: progress(f"{name}: {phase}", n, total)  # noqa: E731
    before = _usage(model)
    new = run_tasks(model, tasks, options.settings(), report, desk, earlier)
    for run, old, folder, ready in zip(new, earlier, folders, done, strict=True):
        if ready and old is not None:
            runs.append(old)
            continue
        seconds = round(time.perf_counter() - started, 3)
        now = _usage(model)
        used = {what: number - before.get(what, 0) for what, number in now.items()}
        before = now
        timings = {"seconds": seconds, "items": len(run.covered), **used}
        runs.append(save_run(run, folder, timings=timings, overwrite=replaces, staging=desk.folder))
    return runs


def _usage(model: Any) -> dict[str, int]:
    return dict(getattr(model, "usage", {}))


def _check_free(folders: list[Path], allowed: bool) -> None:
    """Raise before computing anything if runs of other jobs would be overwritten."""
    from tellapart.files import is_free

    for folder in folders:
        if folders.count(folder) > 1:
            raise BadInput(
                f"two of the benchmarks are called {folder.parent.name}",
                allowed="benchmarks with different names",
                todo="evaluate them with two commands, each with its own --out",
            )
        if not allowed and not is_free(folder):
            raise BadInput(
                f"{folder} already exists",
                allowed="a path that does not exist yet, or an empty folder",
                todo="choose another path, or replace it with --overwrite (overwrite=True)",
            )


def _check_name(model: Any) -> None:
    """Raise for an invalid model string, before other models have run for hours."""
    if not isinstance(model, str):
        return
    from tellapart.models.names import ModelName

    name = ModelName.parse(model)
    known = inspect.signature(registry.models.get(name.scheme)).parameters
    for option, _ in name.options:
        if option not in known:
            error = UnknownName(f"option of {name.scheme}", option, known)
            error.where = model
            raise error


def _job(models: list[Any], tasks: list[ScoreTask], options: EvaluateOptions) -> list[Any]:
    """The values that identify a job: two calls with the same values resume each other."""
    return [
        [model if isinstance(model, str) else model.facts.name for model in models],
        [[t.benchmark.name, t.benchmark.sha256, sorted(t.asks), len(t.items)] for t in tasks],
        [options.limit, options.seed, options.batch_size, options.trials],
    ]


def _warn(run: Run) -> None:
    from tellapart.score.precision import Imprecise

    close = run.card.notes.get("below_precision", 0)
    if close:
        warnings.warn(
            f"{run}: {close:,} answers are decided by less than a step of {run.card.dtype}, "
            f"which is rounding, not the model{_finer(run.card.dtype)}",
            Imprecise,
            stacklevel=3,
        )
    if run.tally.mostly_failed:
        warnings.warn(
            f"{run}: more than half of the questions have no answer, so the scores say nothing "
            "about "
            f"the model: {run.tally}; --retry-failed (retry_failed=True) asks them again",
            MostlyFailed,
            stacklevel=3,
        )


def _finer(dtype: str) -> str:
    """Advice for scores that are too coarse."""
    from tellapart.score.precision import HALF

    if dtype in HALF:
        return "; compute in float32 if possible"
    return ": treat such items as ties" if dtype == "float32" else ""


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def slug(model: str) -> str:
    """A folder name for a model string; long or odd ones get a hash.

    >>> slug("oracle?error=0.1&seed=0")
    'oracle-error-0.1-seed-0'
    """
    from tellapart import seeds

    plain = re.sub(r"[^A-Za-z0-9._]+", "-", model).strip("-.")
    return plain if len(plain) <= 60 else f"{plain[:50]}-{seeds.digest(model)[:8]}"


def runs_text(runs: Sequence[Run]) -> str:
    """One line per run, and a total if there are several."""
    lines = [f"{run}, {run.tally}{_used([run])}  ->  {run.folder}" for run in runs]
    if len(runs) > 1:
        items, failed = sum(run.size for run in runs), sum(run.tally.failed for run in runs)
        asked = sum(run.tally.asked for run in runs)
        failures = f"{failed:,} of {asked:,} answers failed" if failed else "no failures"
        lines.append(f"{len(runs)} runs: {items:,} items, {failures}{_used(runs)}")
    return "\n".join(lines)


def _used(runs: Sequence[Run]) -> str:
    """The tokens and requests spent on models behind a server."""
    from tellapart.score.run import spent_on

    spent = [spent_on(run) for run in runs]
    tokens, requests = (sum(one.get(what, 0) for one in spent) for what in ("tokens", "requests"))
    return f", {tokens:,} tokens in {requests:,} requests" if requests else ""


def runs_json(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """The folder, coverage, failures and costs of each run."""
    from tellapart.score.run import spent_on

    return [
        {
            "run": str(run.folder),
            "model": run.model,
            "benchmark": run.benchmark.name,
            "items": len(run.covered),
            "failures": run.tally.failed,
            **run.tally.to_json(),
            "timings": spent_on(run),
        }
        for run in runs
    ]


def _notes(runs: Sequence[Run]) -> list[str]:
    return [
        line
        for run in runs
        for line in skipped_notes(
            tuple(f"item {one.item}, {one.part}: {one.reason}" for one in run.failures)
        )
    ]


VERB = Verb(
    evaluate,
    example="tellapart evaluate chance oracle --on my-bison --out runs",
    text=runs_text,
    json=runs_json,
    notes=_notes,
    code=lambda runs: FAILED if any(run.tally.mostly_failed for run in runs) else 0,
    resumes=True,
)

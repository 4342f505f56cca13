"""A library: the benchmarks, runs and captions of a view, found at the given paths and below them.

Unreadable ones do not stop it: they are listed as problems, and the rest is shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tellapart.benchmark.benchmark import Benchmark, load_benchmark
from tellapart.benchmark.homes import found_folder
from tellapart.benchmark.image_files import pictures_in
from tellapart.errors import BadInput, TellapartError
from tellapart.files import read_json
from tellapart.measures.contestants import is_reference, labels
from tellapart.score.job import HOME
from tellapart.score.live import LiveJob, live_jobs
from tellapart.score.run import Run, load_run
from tellapart.types import Ints, Progress, silent
from tellapart.views.captions import caption_sheet, holds_captions
from tellapart.views.sheet import Contestant, Sheet

RUN, BENCHMARK = "run.json", "benchmark.json"
Source = Benchmark | Run | Path | str


@dataclass(frozen=True, slots=True)
class Found:
    """Folders of runs and of benchmarks, and captioners' results files."""

    runs: tuple[Path, ...]
    benchmarks: tuple[Path, ...]
    results: tuple[Path, ...] = ()


@dataclass(slots=True)
class Library:
    """Sheets in the order in which they were found, those with runs first, and problems."""

    sheets: list[Sheet] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def sheet(self, label: str) -> Sheet | None:
        """A sheet by name; without a name, the first one."""
        if not label:
            return self.sheets[0] if self.sheets else None
        return next((one for one in self.sheets if one.label == label), None)


@dataclass(slots=True)
class Loader:
    """Reads benchmarks and runs, and rereads only what has changed.

    `on` is the runs' benchmark if it has moved, `images` the folder with the pictures, `references`
    the corpus against which results files are judged.
    """

    sources: Sequence[Source]
    on: Path | str | None = None
    images: Path | None = None
    progress: Progress = silent
    references: Path | None = None
    jobs: list[LiveJob] = field(default_factory=list)
    _seen: Any = None
    _benchmarks: dict[Path, Benchmark] = field(default_factory=dict)
    _runs: dict[Path, tuple[tuple[int, int], Run]] = field(default_factory=dict)
    _captions: tuple[Any, Sheet] | None = None

    def load(self) -> Library:
        """Load the library in its current state."""
        library = Library()
        found = self.find()
        benchmarks = [one for one in self.sources if isinstance(one, Benchmark)]
        runs = [one for one in self.sources if isinstance(one, Run)]
        total = len(found.runs) + len(found.benchmarks)
        for done, folder in enumerate(found.runs, 1):
            try:
                runs.append(self._run(folder))
            except TellapartError as error:
                library.problems.append(_problem_text(error))
            self.progress("reading", done, total)
        self.jobs = self._jobs()
        runs += self._under_way(runs)
        self._seen = self._stamps(found)
        known = {run.benchmark.sha256 for run in runs}
        for folder in found.benchmarks:
            try:
                one = self._benchmark(folder)
            except TellapartError as error:
                library.problems.append(_problem_text(error))
                continue
            if one.sha256 not in known:
                benchmarks.append(one)
                known.add(one.sha256)
        library.sheets = sheets_of(runs, benchmarks)
        if found.results:
            self._add_captions(library, found.results)
        return library

    def _add_captions(self, library: Library, results: tuple[Path, ...]) -> None:
        """Add a sheet of captioners' results, judged again only if the files change."""
        if self.references is None:
            library.problems.append(
                f"{results[0].name} contains captions ({len(results)} such files); "
                "to do: give a corpus of reference captions with --references"
            )
            return
        stamps = [(path, _stamp(path)) for path in results]
        if self._captions is None or self._captions[0] != stamps:
            try:
                made = caption_sheet(results, self.references, self.images, self.progress)
            except TellapartError as error:
                library.problems.append(_problem_text(error))
                return
            self._captions = (stamps, made)
        library.sheets.append(self._captions[1])

    def find(self) -> Found:
        """The folders and files at the given paths and below them."""
        runs: list[Path] = []
        benchmarks: list[Path] = []
        results: list[Path] = []
        for source in self.sources:
            if isinstance(source, (Benchmark, Run)):
                continue
            path = Path(source)
            if not path.exists():
                benchmarks.append(
                    found_folder(path)
                )  # a benchmark's name, or an error with the known names
                continue
            if path.is_file() and not holds_captions(path):
                raise BadInput(
                    f"{path} is a file without captions",
                    allowed="folders of runs, benchmarks or studies' exports, folders of them, or "
                    'a captioner\'s results file: [{"image_id": 42, "caption": "A dog."}, ...]',
                )
            if path.is_file():
                results.append(path)
                continue
            for place, name in _walk(path):
                {RUN: runs, BENCHMARK: benchmarks}.get(name, results).append(place)
        return Found(*(tuple(dict.fromkeys(every)) for every in (runs, benchmarks, results)))

    def changed(self) -> bool:
        """Whether a run is new, gone or changed, or has more answers than before."""
        self.jobs = self._jobs()
        return bool(self._stamps(self.find()) != self._seen)

    def _stamps(self, found: Found) -> Any:
        """A fingerprint of the folders' state."""
        runs = [(folder, _stamp(folder / RUN)) for folder in found.runs]
        live = [
            (job.work, file.name, _stamp(file))
            for job in self.jobs
            for file in sorted(job.work.glob("**/*"))
            if file.suffix in (".parquet", ".segment")
        ]
        results = [(path, _stamp(path)) for path in found.results]
        return runs, found.benchmarks, results, live

    def _jobs(self) -> list[LiveJob]:
        """The running jobs in the given folders, and in those of the runs found there."""
        given = [Path(one) for one in self.sources if not isinstance(one, (Benchmark, Run))]
        homes = dict.fromkeys(
            folder for path in given for folder in (path, path.parent, path.parent.parent)
        )
        inside = [work.parent for path in given if path.is_dir() for work in path.glob(f"*/{HOME}")]
        return [job for folder in dict.fromkeys([*homes, *inside]) for job in live_jobs(folder)]

    def _under_way(self, ready: Sequence[Run]) -> list[Run]:
        """The unfinished runs of jobs, as far as they have got."""
        there = {(run.model, run.benchmark.sha256) for run in ready}
        found = []
        for job in self.jobs:
            for number, task in enumerate(job.tasks):
                if (task.model, task.benchmark_sha256) in there:
                    continue
                try:
                    benchmark = self._benchmark(task.folder)
                    run = job.run(number, benchmark)
                except (TellapartError, OSError, pl.exceptions.PolarsError):
                    continue  # it ended or changed while we were reading
                if run is not None and benchmark.sha256 == task.benchmark_sha256:
                    found.append(run)
        return found

    def jobs_json(self) -> list[dict[str, Any]]:
        """The running jobs, for the page."""
        return [
            {
                "model": job.tasks[0].model if job.tasks else "",
                "benchmarks": [task.benchmark for task in job.tasks],
                "phase": job.phase,
                "done": job.done,
                "total": job.total,
                "seconds_left": job.seconds_left,
            }
            for job in self.jobs
        ]

    def _benchmark(self, folder: Path) -> Benchmark:
        where = folder.resolve()
        if where not in self._benchmarks:
            read = load_benchmark(folder)
            try:
                self._benchmarks[where] = pictures_in(read, self.images)
            except BadInput:
                self._benchmarks[where] = read  # the folder has another benchmark's pictures
        return self._benchmarks[where]

    def _run(self, folder: Path) -> Run:
        stamp = _stamp(folder / RUN)
        if folder in self._runs and self._runs[folder][0] == stamp:
            return self._runs[folder][1]
        card = read_json(folder / RUN)
        where = card.get("benchmark_folder") if isinstance(card, dict) else None
        place = self.on or (folder / where if isinstance(where, str) else None)
        run = load_run(folder, self._benchmark(found_folder(Path(place))) if place else None)
        self._runs[folder] = (stamp, run)
        return run


def _stamp(file: Path) -> tuple[int, int]:
    """A file's modification time and size; zeros if it does not exist."""
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def _walk(path: Path) -> Iterator[tuple[Path, str]]:
    """Folders of runs and benchmarks, and results files, sorted.

    Folders inside runs and benchmarks are skipped, and so are hidden ones. Only names and the first
    characters of JSON files are read, so that folders of large pictures are fast.
    """
    for root, folders, files in os.walk(path):
        here = Path(root)
        name = next((one for one in (RUN, BENCHMARK) if one in files), None)
        if name:
            folders.clear()
            yield here, name
            continue
        yield from ((here / one, "") for one in sorted(files) if holds_captions(here / one))
        folders[:] = sorted(one for one in folders if not one.startswith("."))


def _problem_text(error: TellapartError) -> str:
    parts = [error.what, error.where, f"to do: {error.todo}" if error.todo else ""]
    return "; ".join(part for part in parts if part)


def sheets_of(runs: Sequence[Run], benchmarks: Sequence[Benchmark]) -> list[Sheet]:
    """Sheets of runs by benchmark, then of benchmarks without runs; versions get distinct names."""
    names = dict(zip(map(id, runs), labels(runs), strict=True))
    together: dict[str, list[Run]] = {}
    for run in runs:
        together.setdefault(run.benchmark.sha256, []).append(run)
    every = {run.benchmark.sha256: run.benchmark for run in runs}
    every |= {one.sha256: one for one in benchmarks}
    often = [one.name for one in every.values()]
    called = {
        sha256: one.name + (f" ({sha256[:8]})" if often.count(one.name) > 1 else "")
        for sha256, one in every.items()
    }
    sheets = []
    for sha256, benchmark in every.items():
        own = sorted(together.get(sha256, []), key=lambda run: is_reference(run.model))
        contestants = [Contestant(names[id(run)], run, live=run.folder is None) for run in own]
        versions = [s for s, one in every.items() if one.name == benchmark.name and s != sha256]
        facts: dict[str, pl.Series] = {}
        for other in versions:
            places, fact = in_version(benchmark, every[other])
            if not (places >= 0).any():
                continue  # another benchmark of the same name
            facts[f"in {called[other]}"] = fact
            contestants += [
                Contestant(f"{names[id(run)]} @ {other[:8]}", run, places=places)
                for run in together.get(other, [])
            ]
        sheet = Sheet(called[sha256], benchmark, contestants)
        sheet.more_facts = facts
        sheets.append(sheet)
    return sheets


def in_version(benchmark: Benchmark, other: Benchmark) -> tuple[Ints, pl.Series]:
    """Each item's row in another version (-1: not the same there), and how the item changed."""
    asked = ["id", "images", "captions", "true_cells"]
    theirs = other.items.frame.select(
        "id", pl.struct(asked).hash().alias("theirs"), pl.int_range(pl.len()).alias("place")
    )
    joined = benchmark.items.frame.select("id", pl.struct(asked).hash().alias("ours")).join(
        theirs, on="id", how="left", maintain_order="left"
    )
    same = (pl.col("ours") == pl.col("theirs")).fill_null(False)
    there = pl.col("theirs").is_not_null()
    fact = pl.when(same).then(pl.lit("the same"))
    found = joined.select(
        place=pl.when(same).then("place").otherwise(-1),
        fact=fact.when(there).then(pl.lit("changed")).otherwise(pl.lit("not there")),
    )
    return found["place"].to_numpy().astype(np.int64), found["fact"]

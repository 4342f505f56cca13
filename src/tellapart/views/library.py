"""A library: the benchmarks and runs that a view shows, found at paths and below them.

What cannot be read is no end of it: it is listed among the problems, and the rest is shown.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tellapart.benchmark.benchmark import Benchmark, load_benchmark
from tellapart.benchmark.homes import found_folder
from tellapart.benchmark.image_files import pictures_in
from tellapart.errors import BadInput, TellapartError
from tellapart.files import read_json
from tellapart.measures.contestants import is_reference, labels
from tellapart.score.run import Run, load_run
from tellapart.types import Progress, silent
from tellapart.views.sheet import Contestant, Sheet

RUN, BENCHMARK = "run.json", "benchmark.json"
Source = Benchmark | Run | Path | str


@dataclass(frozen=True, slots=True)
class Found:
    """Folders of runs and of benchmarks."""

    runs: tuple[Path, ...]
    benchmarks: tuple[Path, ...]


@dataclass(slots=True)
class Library:
    """Sheets in the order in which they were found, those with runs first; and what is wrong."""

    sheets: list[Sheet] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def sheet(self, label: str) -> Sheet | None:
        """The sheet of a name; the first one for no name."""
        if not label:
            return self.sheets[0] if self.sheets else None
        return next((one for one in self.sheets if one.label == label), None)


@dataclass(slots=True)
class Loader:
    """Reads benchmarks and runs; what was read and has not changed is not read again.

    `on` is the runs' benchmark where it has moved, `images` the folder with the pictures.
    """

    sources: Sequence[Source]
    on: Path | str | None = None
    images: Path | None = None
    progress: Progress = silent
    _benchmarks: dict[Path, Benchmark] = field(default_factory=dict)
    _runs: dict[Path, tuple[tuple[int, int], Run]] = field(default_factory=dict)

    def load(self) -> Library:
        """The library as it is now."""
        library = Library()
        found = self.find()
        benchmarks = [one for one in self.sources if isinstance(one, Benchmark)]
        runs = [one for one in self.sources if isinstance(one, Run)]
        total = len(found.runs) + len(found.benchmarks)
        for done, folder in enumerate(found.runs, 1):
            try:
                runs.append(self._run(folder))
            except TellapartError as error:
                library.problems.append(_said(error))
            self.progress("reading", done, total)
        known = {run.benchmark.sha256 for run in runs}
        for folder in found.benchmarks:
            try:
                one = self._benchmark(folder)
            except TellapartError as error:
                library.problems.append(_said(error))
                continue
            if one.sha256 not in known:
                benchmarks.append(one)
                known.add(one.sha256)
        library.sheets = sheets_of(runs, benchmarks)
        return library

    def find(self) -> Found:
        """The folders at the paths given, and below them."""
        runs: list[Path] = []
        benchmarks: list[Path] = []
        for source in self.sources:
            if isinstance(source, (Benchmark, Run)):
                continue
            path = Path(source)
            if not path.exists():
                benchmarks.append(found_folder(path))  # a name, or an error that says what is known
                continue
            if path.is_file():
                raise BadInput(
                    f"{path} is a file",
                    allowed="folders of runs, benchmarks or studies' exports, or folders of them",
                )
            for folder, name in _walk(path):
                (runs if name == RUN else benchmarks).append(folder)
        return Found(tuple(dict.fromkeys(runs)), tuple(dict.fromkeys(benchmarks)))

    def _benchmark(self, folder: Path) -> Benchmark:
        where = folder.resolve()
        if where not in self._benchmarks:
            read = load_benchmark(folder)
            try:
                self._benchmarks[where] = pictures_in(read, self.images)
            except BadInput:
                self._benchmarks[where] = read  # the pictures of another benchmark
        return self._benchmarks[where]

    def _run(self, folder: Path) -> Run:
        status = (folder / RUN).stat()
        stamp = (status.st_mtime_ns, status.st_size)
        if folder in self._runs and self._runs[folder][0] == stamp:
            return self._runs[folder][1]
        card = read_json(folder / RUN)
        where = card.get("benchmark_folder") if isinstance(card, dict) else None
        place = self.on or (folder / where if isinstance(where, str) else None)
        run = load_run(folder, self._benchmark(found_folder(Path(place))) if place else None)
        self._runs[folder] = (stamp, run)
        return run


def _walk(path: Path) -> Iterator[tuple[Path, str]]:
    """Folders of runs and benchmarks, sorted; nothing inside one is looked at, nor what is hidden.

    Only names are read, so a folder of many large pictures takes no longer than its names.
    """
    for root, folders, files in os.walk(path):
        here = Path(root)
        name = next((one for one in (RUN, BENCHMARK) if one in files), None)
        if name:
            folders.clear()
            yield here, name
        folders[:] = sorted(one for one in folders if not one.startswith("."))


def _said(error: TellapartError) -> str:
    parts = [error.what, error.where, f"to do: {error.todo}" if error.todo else ""]
    return "; ".join(part for part in parts if part)


def sheets_of(runs: Sequence[Run], benchmarks: Sequence[Benchmark]) -> list[Sheet]:
    """Runs by benchmark, then benchmarks without any; two versions of one name are told apart."""
    names = dict(zip(map(id, runs), labels(runs), strict=True))
    together: dict[str, list[Run]] = {}
    for run in runs:
        together.setdefault(run.benchmark.sha256, []).append(run)
    every = {run.benchmark.sha256: run.benchmark for run in runs}
    every |= {one.sha256: one for one in benchmarks}
    often = [one.name for one in every.values()]
    sheets = []
    for sha256, benchmark in every.items():
        version = f" ({sha256[:8]})" if often.count(benchmark.name) > 1 else ""
        own = sorted(together.get(sha256, []), key=lambda run: is_reference(run.model))
        contestants = [Contestant(names[id(run)], run) for run in own]
        sheets.append(Sheet(benchmark.name + version, benchmark, contestants))
    return sheets

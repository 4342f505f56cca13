"""Inputs of analyses other than runs: files by path, and benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from tellapart.benchmark.benchmark import Benchmark, load_benchmark
from tellapart.options import Help
from tellapart.types import Floats, Ints

QueryFiles = Annotated[
    "Path | str | Sequence[Path | str]", Help("What retrieve --per-query wrote.")
]
ResultFiles = Annotated[
    "Path | str | Sequence[Path | str]", Help("Captioners' results: COCO results files, or tables.")
]
RatingFiles = Annotated[
    "Path | str | Sequence[Path | str]",
    Help("Ratings by people, such as the ratings.csv of study export."),
]
StudyExports = Annotated[
    "Path | str | Sequence[Path | str]", Help("Folders that study export wrote.")
]
Benchmarks = Annotated[
    "Benchmark | Path | str | Sequence[Benchmark | Path | str]",
    Help("Benchmarks: folders, or names."),
]


def paths_of(sources: Any) -> list[Path]:
    """One path or several, as a list."""
    given = [sources] if isinstance(sources, str | Path) else list(sources)
    return [Path(one) for one in given]


def benchmarks_of(sources: Any) -> list[Benchmark]:
    """Benchmarks as they are, or read by folder or name."""
    given = [sources] if isinstance(sources, str | Path | Benchmark) else list(sources)
    return [one if isinstance(one, Benchmark) else load_benchmark(one) for one in given]


def true_captions(benchmark: Benchmark) -> Iterator[tuple[int, str]]:
    """Each caption that is true of one of its item's images, with the item's position."""
    frame = benchmark.items.frame.select("captions", "true_cells")
    for place, (captions, cells) in enumerate(frame.iter_rows()):
        for j in sorted({cell[1] for cell in cells}):
            yield place, captions[j]


def cluster_error(values: Floats, clusters: Ints) -> float:
    """The standard error of a mean over clusters (a ratio of totals: Cochran 1977, 2.11)."""
    codes = np.unique(clusters, return_inverse=True)[1]
    sums = np.bincount(codes, values - values.mean())
    k = len(sums)
    if k < 2:
        return float("nan")
    return float(np.sqrt(k / (k - 1) * (sums**2).sum()) / len(values))

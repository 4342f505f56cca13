"""The time of measuring and comparing on a benchmark of COCO-BISON's size.

It has 54,253 items of two images and a caption in 7,317 groups, and ten models. If
TELLAPART_REAL_DATA is a folder with BISON's annotations, those are imported and timed instead. The
last line is JSON: import_s, measure_s (one model), compare_s (45 pairs), peak_mb.

    python benchmarks/statistics.py
"""

from __future__ import annotations

import json
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from tellapart.benchmark.benchmark import Benchmark, Card, load_benchmark, make_benchmark
from tellapart.benchmark.benchmark import save_benchmark as save
from tellapart.items import Image, Item, Origin
from tellapart.score.run import Run, RunCard, answers_frame
from tellapart.seeds import rng
from tellapart.verbs.runs.compare import compare
from tellapart.verbs.runs.measure import measure

ITEMS, GROUPS, MODELS, DRAWS = 54_253, 7_317, 10, 10_000


def synthetic(root: Path) -> Benchmark:
    """Groups of uneven size: each item joins two neighbouring images of its group."""
    spread = rng(0, "sizes").gamma(0.7, size=GROUPS)
    extra = rng(0, "items").multinomial(ITEMS - GROUPS, spread / spread.sum())
    items, images = [], []
    for group, size in enumerate(extra + 1):
        names = [f"{group:05d}-{k}" for k in range(size + 1)]
        images += [Image(name, f"{name}.jpg") for name in names]
        items += [
            Item.imported(
                "synthetic", f"{group}-{k}", images=(names[k], names[k + 1]),
                captions=(f"caption {k} of group {group}",), true=frozenset({(k % 2, 0)}),
                kind="neighbour", origin=Origin("benchmark"),
            )
            for k in range(size)
        ]  # fmt: skip
    return make_benchmark(Card("synthetic-bison"), root, items, images)


def run_of(benchmark: Benchmark, model: int) -> Run:
    """A model whose skill varies from group to group; the last ones are nearly as good."""
    draw = rng(model, "scores")
    codes = {name: k for k, name in enumerate(sorted({i.group for i in benchmark.items}))}
    skill = 0.4 + 0.05 * model + 0.6 * draw.normal(size=len(codes))
    rows = []
    for item in benchmark.items:
        scores = draw.normal(size=len(item.images))
        for i, score in enumerate(scores):
            right = (i, 0) in item.true
            rows.append((item.id, i, 0, "", float(score + skill[codes[item.group]] * right)))
    columns = ("item", "image", "caption", "edit", "score")
    kinds = (pl.String, pl.Int32, pl.Int32, pl.String, pl.Float64)
    table = pl.DataFrame(rows, schema=dict(zip(columns, kinds, strict=True)), orient="row")
    card = RunCard(f"model-{model}", "scorer", benchmark.name, benchmark.sha256)
    return Run(card, benchmark, table, answers_frame([]))


def imported(folder: Path) -> tuple[Benchmark, float]:
    """The benchmark to work on, and how long it took to read it."""
    real = os.environ.get("TELLAPART_REAL_DATA")
    files = sorted(Path(real).glob("**/bison_annotations*.json*")) if real else []
    if files:
        from tellapart.verbs.benchmarks.get import get

        start = time.perf_counter()
        read = get("bison", files[:1], folder / "bison")
        return read, time.perf_counter() - start
    made = synthetic(folder)
    start = time.perf_counter()
    save(made, folder / "synthetic")
    return load_benchmark(folder / "synthetic"), time.perf_counter() - start


def timed(what: str, start: float) -> float:
    """Say how long something took."""
    seconds = time.perf_counter() - start
    print(f"{what}: {seconds:.2f} s")
    return seconds


def main() -> None:
    """Time everything once."""
    with tempfile.TemporaryDirectory() as folder:
        benchmark, import_s = imported(Path(folder))
    groups = len({item.group for item in benchmark.items})
    print(f"{benchmark} in {groups:,} groups, read in {import_s:.2f} s")
    runs = [run_of(benchmark, model) for model in range(MODELS)]
    np.dot(np.ones((500, 500)), np.ones((500, 500)))  # wakes the threads of BLAS
    start = time.perf_counter()
    print(measure(runs[0], resamples=DRAWS))
    measure_s = timed("measure, one model", start)
    start = time.perf_counter()
    found = compare(runs, resamples=DRAWS, permutations=DRAWS)
    compare_s = timed(f"compare, {len(found.pairs)} pairs", start)
    print("\n".join(str(found).splitlines()[:6]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures = {"import_s": import_s, "measure_s": measure_s, "compare_s": compare_s}
    print(json.dumps({**{k: round(v, 3) for k, v in figures.items()}, "peak_mb": round(peak)}))


if __name__ == "__main__":
    main()

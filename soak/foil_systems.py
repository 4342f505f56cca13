"""FOIL's systems on real photographs, from the data to Tables 2, 3 and 4, with the package's verbs.

There are three builds of FOIL from COCO's captions and objects: `paper`, mined by NeuralTalk, which
sees the picture; `language`, mined by a language model, which does not; `fair`, whose foils cannot
be told from the truth by text alone. Each has foils of training images with the training pairs, for
training four classifiers, and of other images with the test pairs. IC-Wang and NeuralTalk are
captioners: they learn from captions of training images. Corpora and features are those of
`bison_systems.py`, whose folder may be given; finished parts are not repeated, so an interrupted
campaign resumes. Needs the data at TELLAPART_REAL_DATA.

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

from soak.bison_systems import TIMES, Command, data

CLASSIFIERS = ("blind-lstm", "cnn-lstm", "lstm-norm-i", "hiecoatt")
CAPTIONER, MINER = "ic-wang", "neuraltalk"
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


def evaluation(model: Path, way: str, at: Places) -> Command:
    """Put a system through a test."""
    runs = f"runs/{way}/{model.name}"
    return at.made(
        runs, "evaluate", f"trained:{model}", "--on", at.out / f"{way}-test",
        "--out", at.out / runs, "--batch-size", 256,
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
        for seed in range(seeds):
            yield from classifiers(way, seed, at)
    for seed in range(seeds):
        yield captioner(CAPTIONER, at, seed, ways)
        for way in ways:
            if way != "language":
                yield evaluation(at.out / f"{CAPTIONER}-{seed}", way, at)
    words = ["table", "foil"]
    for way in ways:
        words += ["--runs", str(at.out / "runs" / way)]
    yield Command(tuple(words), at.out / "tables.txt", printed=True)


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
    for command in commands(at, tuple(given.builds.split(",")), given.seeds):
        if given.commands:
            print(command)
        else:
            command.run(at.out / TIMES)
    if not given.commands:
        print((at.out / "tables.txt").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()

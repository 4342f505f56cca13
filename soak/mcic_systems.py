"""MCIC's systems on real photographs, from the data to Tables 3, 4 and 5, with the package's verbs.

Items are built by the paper's method from COCO captions of training images, a thirtieth of the
paper's training set; `--flickr` adds Flickr8k's training images, and `--learn` chooses fair sets of
the same images instead, where nothing but the image helps, or both. The best weights are chosen on
items of 300 further images, built apart, because decoys of one build are true captions of its other
images. Systems are tested on items of other COCO images, built by the paper's method and in fair
sets. Needs the data at TELLAPART_REAL_DATA. Finished parts are not repeated, so an interrupted
campaign resumes; the last lines are the tables.

    python -P soak/mcic_systems.py OUT [--data BISON_OUT] [--seeds 3] [--flickr]
                                       [--learn paper,fair-sets] [--width 64]
                                       [--parts table-3,linear,table-5,blind,table-4] [--commands]

`linear` are the three baselines of Table 3. A part can have its own number of seeds: `table-4:1`.
`--data` is the output of soak/bison_systems.py with corpora and features; without it they are made
in OUT, those of Flickr8k only with `--flickr`. After the tables come means over seeds, also with
the vectors of other images, and differences on the same questions: between systems of Table 3, and
from each weight of writing to none.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).parents[1]))  # -P keeps it out, so that soak/ hides nothing

from soak.bison_systems import TIMES, Command, data
from soak.seed_means import seed_difference, seed_mean

import tellapart as ta

LINEAR = ("i2c", "c2i", "linm")
WAYS = ("paper", "fair-sets")
WEIGHTS = ("0", "0.1", "1", "4", "16")
SIZES = ("64", "256")
BLIND, OTHERS = "blind=true", "images=shuffled"
MIXED = ("flickr-train", "flickr-dev", "train", "dev", "all")
"""The corpora of BISON's campaign that have Flickr8k's images."""
PARTS = ("table-3", "linear", "table-5", "blind", "table-4")


@dataclass(frozen=True, slots=True)
class McicCampaign:
    """Where everything lies: corpora and features, and what is made of them."""

    source: Path
    out: Path
    flickr: bool = False
    width: str = "64"
    ways: tuple[str, ...] = WAYS[:1]

    def _made(self, name: str, *words: object) -> Command:
        return Command(tuple(map(str, words)), self.out / name)

    @property
    def learned(self) -> dict[str, tuple[Path, str]]:
        """The items to learn from: each benchmark's corpus and the way in which it is built."""
        corpora = {"learn": self.source / "coco-train"}
        if self.flickr:
            corpora["flickr"] = self.source / "flickr-train"
        return {f"{name}-{way}": (corpora[name], way) for way in self.ways for name in corpora}

    @property
    def validation(self) -> dict[str, tuple[Path, str]]:
        """The items to choose the best weights by, built in the same ways."""
        return {f"dev-{way}": (self.source / "coco-dev", way) for way in self.ways}

    def items(self) -> Iterator[Command]:
        """Training and test items, in the paper's way and in fair sets."""
        source, out = self.source, self.out
        apart = ("--without", source / "coco-train", "--without", source / "coco-dev")
        yield self._made("coco-test", "corpus", out / "coco-test", source / "coco", *apart)
        for name, (corpus, way) in {**self.learned, **self.validation}.items():
            yield self._made(name, "build", "mcic", corpus, out / name, "--options", way)
        for way in WAYS:
            name = f"test-{way}"
            words = ("build", "mcic", out / "coco-test", out / name, "--options", way)
            yield self._made(name, *words, "--name", name)

    def trained(self, name: str, system: str, seed: int, *changes: str) -> Iterator[Command]:
        """Train a system and put it through both tests; the first also with other images."""
        out = self.out
        on = [word for one in self.learned for word in ("--on", out / one)]
        on += [word for one in self.validation for word in ("--validation", out / one)]
        words = [
            "train", system, *on, "--features", self.source / "features",
            "--never", out / "test-paper", "--recipe", "small", "--seed", seed,
        ]  # fmt: skip
        for change in changes:
            words += ["--set", change]
        yield self._made(name, *words, "--out", out / name)
        models = [f"trained:{out / name}"]
        models += [] if BLIND in changes else [f"{models[0]}?{OTHERS}"]
        tests = [word for way in WAYS for word in ("--on", out / f"test-{way}")]
        runs = f"runs/{name}"
        yield self._made(runs, "evaluate", *models, *tests, "--out", out / runs)
        if system == "vec2seq-ffnn" and BLIND not in changes:
            written = f"captions/{name}.json"
            yield self._made(
                written, "caption", f"trained:{out / name}", "--on", out / "coco-test",
                "--out", out / written,
            )  # fmt: skip

    def systems(self, part: str, seed: int) -> Iterator[Command]:
        """The trainings of a table; those that two tables share are made once."""
        wide = f"width={self.width}"
        if part == "linear":
            for name in LINEAR:
                yield from self.trained(f"{name}-{seed}", name, seed)
        if part == "table-3":
            yield from self.trained(f"ffnn-{self.width}-{seed}", "ffnn", seed, wide)
        if part in ("table-3", "table-5"):
            for weight in ("1", "0") if part == "table-3" else WEIGHTS:
                name = f"vec2seq-{self.width}-{weight}-{seed}"
                yield from self.trained(name, "vec2seq-ffnn", seed, wide, f"lambda_gen={weight}")
        if part == "blind":
            for short, name in (("ffnn", "ffnn"), ("vec2seq", "vec2seq-ffnn")):
                yield from self.trained(
                    f"{short}-{self.width}-blind-{seed}", name, seed, wide, BLIND
                )
        if part == "table-4":
            for size in SIZES:
                changes = (f"width={size}", "lambda_gen=1")
                yield from self.trained(f"vec2seq-{size}-1-{seed}", "vec2seq-ffnn", seed, *changes)
                yield from self.trained(f"ffnn-{size}-{seed}", "ffnn", seed, f"width={size}")

    def tables(self) -> Command:
        """All three tables, from all that was made."""
        written = sorted((self.out / "captions").glob("*.json"))
        words = ["table", "mcic", "--runs", self.out / "runs"]
        for file in written:
            words += ["--captions", file]
        if written:
            words += ["--references", self.out / "coco-test"]
            words += ["--words-from", self.source / "coco-train"]
        return Command(tuple(map(str, words)), self.out / "tables.txt", printed=True)


def sources(real: Path, out: Path, *, flickr: bool) -> Iterator[Command]:
    """Corpora and features as in BISON's campaign; without Flickr8k, of COCO's images alone."""
    for command in data(real, out, "efficientnet-lite0"):
        if not flickr and command.makes == out / "features":
            words = (str(out / "coco") if one == str(out / "all") else one for one in command.words)
            yield replace(command, words=tuple(words))
        elif flickr or command.makes.name not in MIXED:
            yield command


def seed_lines(out: Path) -> list[str]:
    """A line for each system and test, with its own and with other images: means over seeds."""
    tables: dict[tuple[str, str, bool], list[pl.DataFrame]] = {}
    for runs in sorted((out / "runs").iterdir()):
        told = ta.outcomes([runs], measures=["accuracy"])
        for (test, model), part in told.partition_by("benchmark", "model", as_dict=True).items():
            name = runs.name.rpartition("-")[0]
            tables.setdefault((name, str(test), OTHERS in str(model)), []).append(part)
    lines = []
    for (name, test, other), seeds in tables.items():
        found = seed_mean(seeds, name, test)
        own = ", ".join(f"{value:.1f}" for value in found.seeds)
        shown = f"{test}, other images" if other else test
        lines.append(f"{name} on {shown}: {found}; by seed {own}; {found.questions:,} items")
    return [*lines, *_differences(tables)]


def _differences(tables: Mapping[tuple[str, str, bool], list[pl.DataFrame]]) -> list[str]:
    """What a system, or a weight of writing, changes against another with the same seeds."""
    lines = []
    for (name, test, other), own in tables.items():
        for before in _before(name):
            rest = tables.get((before, test, other), [])
            if not other and len(own) == len(rest):
                value, low, high = seed_difference(own, rest, name, test)
                lines.append(
                    f"{name} over {before} on {test}: {value:+.1f} ({low:+.1f} to {high:+.1f})"
                )
    return lines


def _before(name: str) -> Iterator[str]:
    """The trainings that one is compared with, if they are there."""
    system, _, last = name.rpartition("-")
    if name in LINEAR[1:]:
        yield LINEAR[LINEAR.index(name) - 1]
    if system == "ffnn":
        yield from LINEAR[1:]
    if system.startswith("vec2seq"):
        width = system.rpartition("-")[2]
        yield from (f"vec2seq-{width}-0",) if last in WEIGHTS[1:] else ()
        yield from (*LINEAR[1:], f"ffnn-{width}") if last == "1" else ()


def main() -> None:
    """Read the command line and run, or print, every command."""
    parser = argparse.ArgumentParser(description="MCIC's systems on real photographs.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, help="where soak/bison_systems.py made its data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--width", default="64", help="of the systems of tables 3 and 5")
    parser.add_argument("--flickr", action="store_true")
    parser.add_argument("--learn", default="paper", help="paper, fair-sets, or both")
    parser.add_argument("--commands", action="store_true", help="print them and run none")
    given = parser.parse_args()
    source = os.environ.get("TELLAPART_REAL_DATA")
    if not source:
        sys.exit("TELLAPART_REAL_DATA does not name the data")
    given.out.mkdir(parents=True, exist_ok=True)
    campaign = McicCampaign(
        given.data or given.out, given.out, given.flickr, given.width, tuple(given.learn.split(","))
    )
    made = sources(Path(source), given.out, flickr=given.flickr)
    commands = [] if given.data else list(made)
    commands += campaign.items()
    for part in given.parts.split(","):
        name, _, seeds = part.partition(":")
        for seed in range(int(seeds or given.seeds)):
            commands += campaign.systems(name, seed)
    (given.out / "tables.txt").unlink(missing_ok=True)
    for command in dict.fromkeys(commands):
        if given.commands:
            print(command)
        else:
            command.run(given.out / TIMES)
    tables = campaign.tables()
    if given.commands:
        print(tables)
    else:
        tables.run(given.out / TIMES)
        told = tables.makes.read_text(encoding="utf-8")
        print(told, *seed_lines(given.out), sep="\n")


if __name__ == "__main__":
    main()

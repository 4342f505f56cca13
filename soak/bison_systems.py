"""BISON's systems on real photographs, from the data to Tables 2 and 3, with the package's verbs.

Training uses Flickr8k's training images and COCO images that no test uses, a ninth of the papers'
training set; validation uses Flickr8k's dev images and 300 further COCO images; tests use the
COCO-BISON examples with both images available, and 500 COCO images for recall. Needs the data at
TELLAPART_REAL_DATA. Finished parts are not repeated, so an interrupted campaign resumes, and
several campaigns can share the systems; the last lines are the two tables, with all finished
systems and seeds, and BISON's means over seeds with intervals over items. `times.jsonl` has the
seconds of each command.

    python -P soak/bison_systems.py OUT [--seeds 3] [--systems scan-t2i,updown] [--no-tables]
                                        [--backbone efficientnet-lite0] [--commands]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from soak.seed_means import seed_mean

import tellapart as ta

RETRIEVAL = ("convnet-bow", "convnet-bigru", "obj-bigru", "scan-i2t", "scan-t2i")
CAPTIONERS = ("showtell", "showatttell", "updown")
RECALL, DEV = 500, 300
TIMES = "times.jsonl"


def _processor_time() -> float:
    """Seconds that commands have worked so far; threads that wait for a core do not count."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the package, what it makes, and the file that keeps what it prints, if any."""

    words: tuple[str, ...]
    makes: Path
    printed: bool = False

    def run(self, times: Path) -> None:
        """Run it, unless what it makes is there; a row of `times` says how long that took."""
        if self.makes.exists():
            return
        print(f"$ {self}", flush=True)
        begin, before = time.perf_counter(), _processor_time()
        told = subprocess.run(
            [sys.executable, "-m", "tellapart", *self.words],
            check=True,
            stdout=subprocess.PIPE if self.printed else None,
        )
        if self.printed:
            self.makes.parent.mkdir(parents=True, exist_ok=True)
            self.makes.write_bytes(told.stdout)
        passed, worked = time.perf_counter() - begin, _processor_time() - before
        print(f"  {passed:.0f} s, {worked:.0f} s of processor time", flush=True)
        row = {"makes": self.makes.name, "verb": self.words[0], "passed": passed, "worked": worked}
        with times.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def __str__(self) -> str:
        kept = f" > {self.makes}" if self.printed else ""
        return f"tellapart {shlex.join(self.words)}{kept}"


def data(source: Path, out: Path, backbone: str) -> Iterator[Command]:
    """The test, the parts of the corpora, and the features of all images."""

    def made(name: str, *words: object) -> Command:
        return Command(tuple(map(str, words)), out / name)

    def part(name: str, *words: object) -> Command:
        return made(name, "corpus", out / name, *words)

    bison = source / "bison" / "bison_annotations.cocoval2014.json.gz"
    images = source / "coco" / "images"
    flickr = [source / folder for folder in ("flickr8k", "flickr8k-more")]
    tokens = [folder / "captions.token.txt" for folder in flickr]
    yield made("bison-all", "get", "bison", out / "bison-all", "--from", bison, "--images", images)
    yield made("bison", "subset", out / "bison-all", out / "bison", "--with-images",
               "--name", "bison")  # fmt: skip
    listed = [word for folder in flickr for word in ("--ids", folder / "train.txt")]
    yield part("flickr-train", *tokens, *listed)
    yield part("flickr-dev", tokens[0], "--ids", flickr[0] / "dev.txt")
    captions = source / "coco" / "captions_val2017.json.gz"
    yield part("coco", captions, "--images", images, "--with-images")
    apart = ["--without", out / "bison"]
    yield part("coco-recall", out / "coco", *apart, "--limit", RECALL)
    apart += ["--without", out / "coco-recall"]
    yield part("coco-dev", out / "coco", *apart, "--limit", DEV)
    yield part("coco-train", out / "coco", *apart, "--without", out / "coco-dev")
    yield part("train", out / "flickr-train", out / "coco-train")
    yield part("dev", out / "flickr-dev", out / "coco-dev")
    yield part("all", out / "flickr-train", out / "flickr-dev", out / "coco")
    yield made("features", "features", out / "all", out / "features", "--backbone", backbone)


def system(name: str, seed: int, out: Path) -> Iterator[Command]:
    """Train a system, put it through BISON, and let it retrieve or write."""
    folder = f"{name}-{seed}"
    common = ("--on", out / "train", "--validation", out / "dev", "--never", out / "bison",
              "--features", out / "features", "--seed", seed)  # fmt: skip

    def trained(folder: str, *words: object) -> Command:
        given = ("train", name, *common, *words, "--out", out / folder)
        return Command(tuple(map(str, given)), out / folder)

    yield trained(folder, "--recipe", "small")
    folders = [folder]
    if name in CAPTIONERS:
        folders.append(f"{name}-scst-{seed}")
        yield trained(folders[1], "--recipe", "scst-small", "--start", out / folder)
    for one in folders:
        model = f"trained:{out / one}"
        runs = out / "runs" / one
        yield Command(("evaluate", model, "--on", str(out / "bison"), "--out", str(runs)), runs)
        if name in CAPTIONERS:
            written = out / "captions" / f"{one}.json"
            given = ("caption", model, "--on", out / "coco-recall", "--out", written)
            yield Command(tuple(map(str, given)), written)
        else:
            words = ("retrieve", model, "--on", out / "coco-recall", "--json")
            kept = out / "retrieval" / f"{one}.json"
            yield Command(tuple(map(str, words)), kept, printed=True)


def tables(out: Path) -> Command:
    """Both tables, from all systems and seeds that were made."""
    words = ["table", "bison", "--runs", out / "runs", "--references", out / "coco-recall"]
    for flag in ("captions", "retrieval"):
        words += [
            word for file in sorted((out / flag).glob("*.json")) for word in (f"--{flag}", file)
        ]
    return Command(tuple(map(str, words)), out / "tables.txt", printed=True)


def means(out: Path, measure: str = "accuracy") -> list[str]:
    """A line for each system: the mean over seeds, and what it was chosen by on validation."""
    by_system: dict[str, list[Path]] = {}
    for runs in sorted((out / "runs").iterdir()):
        by_system.setdefault(runs.name.rpartition("-")[0], []).append(runs)
    lines = []
    for name, folders in by_system.items():
        found = seed_mean([ta.outcomes([one], measures=[measure]) for one in folders], name)
        cards = [json.loads((out / one.name / "system.json").read_text()) for one in folders]
        trained = [card["trained"] for card in cards]
        chosen = [f"{one['validation'][one['measure']]:.2f}" for one in trained]
        own = ", ".join(f"{value:.1f}" for value in found.seeds)
        lines.append(
            f"{name}: {found}, {found.questions} items; by seed {own}; "
            f"validation {trained[0]['measure']} {', '.join(chosen)}"
        )
    return lines


def main() -> None:
    """Read the command line and run, or print, every command."""
    parser = argparse.ArgumentParser(description="BISON's systems on real photographs.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--systems", default=",".join((*RETRIEVAL, *CAPTIONERS)))
    parser.add_argument("--backbone", default="efficientnet-lite0")
    parser.add_argument("--no-tables", action="store_true", help="another campaign makes them")
    parser.add_argument("--commands", action="store_true", help="print them and run none")
    given = parser.parse_args()
    source = os.environ.get("TELLAPART_REAL_DATA")
    if not source:
        sys.exit("TELLAPART_REAL_DATA does not name the data")
    names = tuple(given.systems.split(","))
    given.out.mkdir(parents=True, exist_ok=True)
    commands = list(data(Path(source), given.out, given.backbone))
    for seed in range(given.seeds):
        commands += [one for name in names for one in system(name, seed, given.out)]
    if given.commands:
        print(*commands, tables(given.out), sep="\n")
        return
    for command in commands:
        command.run(given.out / TIMES)
    if given.no_tables:
        return
    (given.out / "tables.txt").unlink(missing_ok=True)
    tables(given.out).run(given.out / TIMES)
    print((given.out / "tables.txt").read_text(encoding="utf-8"), *means(given.out), sep="\n")


if __name__ == "__main__":
    main()

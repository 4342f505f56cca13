"""Long commands that are interrupted: do they go on, and end with the same bytes?

On a small drawn world each job is done once as a whole. Then

- `kills`: it is killed (SIGKILL, with its workers) at random moments and given again, twenty times;
- `disk`: it runs where the disk is too small for it, and again where there is room (needs root);
- `missing`: one of its inputs is away, and then there again.

After each the files must be the same, timings apart. A command that cannot be finished must say
why, without a traceback, and leave no output that looks finished. The last line is JSON: for each
job its kills and what was wrong.

    python -P soak/interruptions.py [--jobs features,train] [--kills 20] [--scenes 600] [--seed 0]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))


from tellapart import seeds

SMALL = ("--set", "least=1", "--set", "batch=20")
WIDTH = 16
"""Numbers of a word's vector."""


@dataclass(frozen=True, slots=True)
class Job:
    """A command on the inputs, and the input that is taken away; `{out}` is where it writes."""

    words: tuple[str, ...]
    missing: str
    out: str = "out"

    def command(self, place: Path) -> list[str]:
        """The command, writing into a folder."""
        words = [word.replace("{out}", str(place / self.out)) for word in self.words]
        return [sys.executable, "-P", "-m", "tellapart", *words]


JOBS = {
    "features": Job(("features", "world", "{out}", "--backbone", "pixels"), "world/images"),
    "train": Job(
        ("train", "convnet-bow", "--on", "world", "--out", "{out}", "--features", "store",
         "--recipe", "small", *SMALL, "--set", "epochs=3", "--set", "checkpoint_steps=5"),
        "store/whole.f16",
    ),
    "caption": Job(
        ("caption", "trained:captioner", "--on", "world", "--out", "{out}", "--batch-size", "16"),
        "captioner/weights.safetensors", "out.json",
    ),
    # Judged by the world's truth: people, simulated ones too, get random names that items keep.
    "images": Job(
        ("build", "bivlc", "negatives", "{out}", "--maker", "world:?error=0.2", "--candidates", "2",
         "--auto", "oracle"),
        "negatives/items.parquet",
    ),
    "neighbours": Job(
        ("neighbours", "world", "{out}", "--vectors", "words.txt"), "words.txt"
    ),
    "evaluate": Job(
        ("evaluate", "storybook", "--on", "negatives", "--out", "{out}", "--batch-size", "8"),
        "negatives/images.parquet",
    ),
    "analyse": Job(("analyse", "by", "runs", "--out", "{out}", "--by", "kind"), "runs"),
}  # fmt: skip
"""The jobs by name."""


def told(command: list[str], inputs: Path) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        command, cwd=inputs, env=_environment(inputs), capture_output=True, text=True, check=False
    )


def _environment(inputs: Path) -> dict[str, str]:
    """A cache of its own, so that a job finds only what it left itself."""
    return {**os.environ, "TELLAPART_CACHE": str(inputs / "cache")}


def prepared(inputs: Path, scenes: int, jobs: list[str]) -> None:
    """Everything that the jobs read."""
    steps: list[tuple[str, ...]] = [
        ("world", "world", "--scenes", str(scenes), "--seed", "5", "--part", "test")
    ]
    if {"images", "evaluate", "analyse"} & {*jobs}:
        steps.append(("build", "negatives", "world", "negatives", "--unfiltered"))
    if "analyse" in jobs:
        steps.append(("evaluate", "chance", "--on", "negatives", "--out", "runs"))
    if {"train", "caption"} & {*jobs}:
        steps.append(("features", "world", "store", "--backbone", "pixels"))
    if "caption" in jobs:
        steps.append(
            ("train", "showtell", "--on", "world", "--out", "captioner", "--features", "store",
             "--recipe", "default", *SMALL, "--set", "epochs=1", "--set", "width=16")
        )  # fmt: skip
    for words in steps:
        done = told([sys.executable, "-P", "-m", "tellapart", *words], inputs)
        if done.returncode:
            raise SystemExit(f"{' '.join(words)}: {done.stderr}")
    _write_vectors(inputs)


def _write_vectors(inputs: Path) -> None:
    """Vectors of the world's words, by lot."""
    from tellapart.corpus.reader import read_corpus
    from tellapart.text.tokens import tokens

    texts = read_corpus(inputs / "world").captions["text"]
    words = sorted({word for text in texts for word in tokens(text)})
    rows = seeds.rng(0, "vectors").normal(size=(len(words), WIDTH)).round(3)
    lines = (f"{word} {' '.join(map(str, row))}" for word, row in zip(words, rows, strict=True))
    (inputs / "words.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def contents(place: Path) -> dict[str, bytes]:
    """What lies in a folder, timings apart."""
    files = (path for path in sorted(place.rglob("*")) if path.is_file())
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in files
        if path.name != "timings.json"
    }


@dataclass(slots=True)
class Interrupted:
    """A job, what it writes when left alone, and how long it writes."""

    job: Job
    inputs: Path
    place: Path
    whole: dict[str, bytes]
    seconds: float

    @classmethod
    def of(cls, job: Job, inputs: Path, place: Path) -> Interrupted:
        """Do the job once; it is timed from its first file on."""
        process = _started(job, inputs, place / "whole")
        begun = time.monotonic()
        if process.wait() != 0:
            raise SystemExit(f"{job.words}: it ends with {process.returncode}")
        lasted = time.monotonic() - begun
        return cls(job, inputs, place, contents(place / "whole"), lasted)

    def kills(self, number: int, seed: int) -> str:
        """Kill it at random moments; what was wrong when it had ended."""
        rng, killed, place = seeds.rng(seed, "kills"), 0, self.place / "killed"
        while True:
            process = _started(self.job, self.inputs, place)
            if killed < number:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(float(rng.uniform(0, self.seconds)))
                if process.poll() is None:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    killed += 1
                    process.wait()
                    continue
            process.wait()
            wrong = self.compared(place)
            if wrong or killed == number:
                return wrong
            shutil.rmtree(place)

    def disk(self) -> str:
        """Fill the disk under it, then make room; what was wrong."""
        place = self.place / "disk"
        size = sum(map(len, self.whole.values())) // 2 // 4096 * 4096
        with small_disk(place, max(size, 4096)):
            done = told(self.job.command(place), self.inputs)
            wrong = refusal(done, "disk")
            if wrong:
                return wrong
            subprocess.run(["mount", "-o", "remount,size=1g", str(place)], check=True)
            again = told(self.job.command(place), self.inputs)
            return again.stderr if again.returncode else self.compared(place)

    def without(self) -> str:
        """Take an input away, then put it back; what was wrong."""
        place, path = self.place / "missing", self.inputs / self.job.missing
        place.mkdir()
        path.rename(path.with_name("away"))
        try:
            done = told(self.job.command(place), self.inputs)
            wrong = refusal(done, path.name)
            if wrong or (place / self.job.out).exists():
                return wrong or "it left something that looks finished"
        finally:
            path.with_name("away").rename(path)
        again = told(self.job.command(place), self.inputs)
        return again.stderr if again.returncode else self.compared(place)

    def compared(self, place: Path) -> str:
        """Which files differ from those of the job that was left alone."""
        found = contents(place)
        names = sorted({*found, *self.whole})
        other = [name for name in names if found.get(name) != self.whole.get(name)]
        return f"other bytes: {', '.join(other)}" if other else ""


def _started(job: Job, inputs: Path, place: Path) -> subprocess.Popen[bytes]:
    """Start a job and wait until it has written something new, or ended."""
    place.mkdir(parents=True, exist_ok=True)
    before = _looks(place)
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(
        job.command(place), cwd=inputs, env=_environment(inputs), stdout=quiet, stderr=quiet,
        start_new_session=True,
    )  # fmt: skip
    while process.poll() is None and _looks(place) == before:
        time.sleep(0.01)
    return process


def _looks(place: Path) -> set[tuple[str, int]]:
    """The paths below a folder, and how they last changed."""
    found = set()
    for path in place.rglob("*"):
        with suppress(FileNotFoundError):
            found.add((str(path), path.stat().st_mtime_ns))
    return found


def refusal(done: subprocess.CompletedProcess[str], word: str) -> str:
    """What is wrong with how a command that could not be finished said so."""
    if done.returncode == 0:
        return "it ended well, though it could not"
    if "Traceback" in done.stderr:
        return done.stderr
    return "" if word in done.stderr else f"it does not name {word}: {done.stderr}"


@contextmanager
def small_disk(place: Path, size: int) -> Iterator[None]:
    """A file system of so many bytes, in memory."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def campaign(name: str, inputs: Path, options: argparse.Namespace) -> dict[str, str | int]:
    """Everything that is done to one job; by fault what was wrong."""
    place = Path(tempfile.mkdtemp(prefix=f"tellapart-{name}-"))
    try:
        one = Interrupted.of(JOBS[name], inputs, place)
        found: dict[str, str | int] = {"files": len(one.whole), "killed": options.kills}
        found["kills"] = one.kills(options.kills, options.seed)
        found["missing"] = one.without()
        if os.geteuid() == 0:
            found["disk"] = one.disk()
        return found
    finally:
        shutil.rmtree(place, ignore_errors=True)


def main() -> None:
    """Every job; the exit code says whether anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--scenes", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    names = options.jobs.split(",")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        prepared(Path(folder), options.scenes, names)
        for name in names:
            results[name] = found = campaign(name, Path(folder), options)
            print(f"{name}: {json.dumps(found)}", flush=True)
    print(json.dumps(results))
    faults = ("kills", "missing", "disk")
    sys.exit(any(found.get(fault) for found in results.values() for fault in faults))


if __name__ == "__main__":
    main()

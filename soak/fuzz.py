"""Fuzzing every reader with mutated files: none may crash, hang or exhaust memory.

Inputs are chosen by coverage (atheris, libFuzzer) and changed by the mutations beside this file,
which know bytes and structure; they start from excerpts of real files if TELLAPART_REAL_DATA is
set. Each reader runs in its own process, so that one that kills its process is found. Failing
inputs are kept in a folder that is printed, and can be judged again with --again. The last line is
JSON, by reader:

inputs, read, refused, failed   the outcomes of the inputs; refused is a clear error
slowest_ms                      the time of the slowest input
peak_mb                         the most memory that an input added

    python -P soak/fuzz.py --readers coco,flickr --inputs 100000
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
READERS = (
    "coco,flickr,csv,jsonl,parquet,mcic,bison,scores,results,layout,settings,participants,address,"
    "features,regions,boxes,system,checkpoint,pairs"
)
AFRESH = 0.4
"""The share of inputs that are made from a whole file again."""


def main() -> None:
    """Fuzz the readers named, one after the other."""
    options = _options()
    if options.again:
        print(_again(options.again))
        return
    kept = Path(options.kept or tempfile.mkdtemp(prefix="tellapart-fuzz-"))
    print(f"failing inputs are kept in {kept}")
    figures = {}
    for reader in options.readers.split(","):
        figures[reader] = in_own_process(reader, options.inputs, options.seed, kept)
        print(f"{reader}: {figures[reader]}", flush=True)
    print(json.dumps(figures))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--readers", default=READERS)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kept", help="folder for failing inputs (default: a temporary one)")
    parser.add_argument("--again", type=Path, help="a kept input, to be judged once more")
    return parser.parse_args()


def in_own_process(reader: str, inputs: int, seed: int, kept: Path) -> dict[str, Any]:
    """The figures of one reader; a process that dies is a failure, its last input is kept."""
    # Every input is a file, and what is read from it is written: on a disk in memory, if any.
    memory = Path("/dev/shm")
    work = Path(tempfile.mkdtemp(prefix="tellapart-fuzz-", dir=memory if memory.is_dir() else None))
    program = f"from soak.fuzz import fuzz; fuzz({reader!r}, {inputs}, {seed}, {str(kept)!r})"
    command = [sys.executable, "-P", "-c", program]
    settings = {"PYTHONPATH": str(ROOT), "POLARS_MAX_THREADS": "1", "PYTHONHASHSEED": "0"}
    try:
        with (work / "stderr").open("wb") as log:
            done = subprocess.run(
                command, cwd=work, env={**os.environ, **settings}, stderr=log, check=False
            )
        if (work / "figures.json").exists():
            figures: dict[str, Any] = json.loads((work / "figures.json").read_text())
            return figures
        if not (work / "in").exists():
            raise SystemExit((work / "stderr").read_text(errors="replace"))
        kept.mkdir(parents=True, exist_ok=True)
        shutil.copytree(work / "in", kept / f"{reader}-died", dirs_exist_ok=True)
        shutil.copy(work / "stderr", kept / f"{reader}-died.txt")
        return {"failed": 1, "died": done.returncode}
    finally:
        shutil.rmtree(work, ignore_errors=True)


def fuzz(reader: str, inputs: int, seed: int, kept: str) -> None:
    """Fuzz one reader in this process, in the present folder; ends the process."""
    import atheris

    with atheris.instrument_imports(include=["tellapart"], exclude=compiled_modules()):
        from soak.judge import Judge
        from soak.mutations import LARGEST, pick
        from soak.readers import targets

        from tellapart import seeds

        work = Path.cwd()
        target = targets(work)[reader]
    judge = Judge(target, work / "in", Path(kept))
    (work / "seeds").mkdir()
    whole = target.seeds()
    for number, data in enumerate(whole):
        (work / "seeds" / str(number)).write_bytes(data)

    def one_input(data: bytes) -> None:
        judge.judge(data)
        if judge.counts.total() >= inputs:
            partial = work / "figures.part"
            partial.write_text(json.dumps(judge.result()))
            partial.rename(work / "figures.json")
            os._exit(0)  # libFuzzer would end the process in its own way

    def mutate(data: bytes, largest: int, number: int) -> bytes:
        rng = seeds.rng(number, "fuzz")
        # What libFuzzer finds worth keeping is mostly broken already, and hides what lies behind.
        start = pick(rng, whole) if rng.random() < AFRESH else data
        return target.mutate(start, rng)[:largest]

    atheris.Setup(
        [
            "fuzz", f"-seed={seed + 1}", f"-max_len={LARGEST}", "-len_control=0", "-timeout=0",
            "-rss_limit_mb=0", "-use_value_profile=0", "-reload=0", str(work / "seeds"),
        ],
        one_input,
        custom_mutator=mutate,
    )  # fmt: skip
    atheris.Fuzz()


def compiled_modules() -> list[str]:
    """Modules whose kernels numba compiles, which it cannot where something counts branches."""
    source = ROOT / "src"
    files = (path for path in sorted(source.rglob("*.py")) if "@kernel" in path.read_text("utf-8"))
    return [".".join(path.relative_to(source).with_suffix("").parts) for path in files]


def _again(path: Path) -> str:
    """What comes of a kept input now."""
    from soak.judge import Judge
    from soak.readers import targets

    work = Path(tempfile.mkdtemp(prefix="tellapart-fuzz-"))
    try:
        target = targets(work)[path.name.partition("-")[0]]
        judge = Judge(target, work / "in", work / "kept")
        return judge.judge(path.read_bytes()) or f"well: {judge.result()}"
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))  # -P leaves it out, and the parts are imported as soak.PART
    main()

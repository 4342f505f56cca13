"""The cost of handling a large benchmark, compared with an older version of the package.

COCO-BISON (54,253 items) is imported, subset, validated, run through the text-only model and
measured, each in a separate process, by this version and, with `--against REV`, by an older one
built from the repository. Ratios are old / new, for processor time once everything is loaded.
Memory is the most that any of the five uses beyond what is loaded; `peak_mb` and `old_peak_mb`
include that. Then a made-up benchmark of 3.65 million items of one image and two captions, the size
of TROHN-Text, is written, loaded, subset and measured from given scores.

The last line is JSON: import_ratio, subset_ratio, validate_ratio, blind_ratio, measure_ratio,
memory_ratio, million_s, million_peak_mb, and the figures behind them.

    TELLAPART_REAL_DATA=data python benchmarks/items.py --against REV
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

STEPS = ("import", "subset", "validate", "blind", "measure")
ANNOTATIONS = "bison/bison_annotations.cocoval2014.json.gz"
PARTS = Path(__file__).parent / "parts"


def run(script: str, *words: str, package: Path | None = None) -> dict[str, Any]:
    """What a part prints on its last line; `package` holds another version of the package."""
    environment = dict(os.environ, TELLAPART_CACHE=tempfile.gettempdir() + "/tellapart-bench")
    if package is not None:
        environment["PYTHONPATH"] = str(package)
    command = [sys.executable, str(PARTS / script), *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{script} {' '.join(words)} failed:\n{done.stderr}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def build(revision: str, folder: Path) -> Path:
    """An older version of the package, installed into a folder."""
    source, package = folder / "source", folder / "package"
    root = Path(__file__).parent.parent
    git = ["git", "-C", str(root), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(source), revision], check=True)
    try:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--target", str(package), str(source)], check=True)
    finally:
        subprocess.run([*git, "remove", "--force", str(source)], check=True)
    return package


def steps(annotations: Path, folder: Path, package: Path | None, repeats: int) -> dict[str, Any]:
    """The figures of every step: the quickest of several times, the most memory."""
    figures: dict[str, Any] = {}
    for number in range(repeats):
        place = folder / f"{'old' if package else 'new'}-{number}"
        place.mkdir()
        rows = json.loads(gzip.decompress(annotations.read_bytes()))["data"][:20]
        (place / "few.json").write_text(json.dumps({"data": rows}))
        for step in STEPS:
            one = run("items_step.py", step, str(annotations), str(place), package=package)
            best = figures.setdefault(step, one)
            best["seconds"] = min(best["seconds"], one["seconds"])
            print(f"{place.name} {step}: {one}", file=sys.stderr)
    return figures


def beyond(figures: dict[str, Any]) -> float:
    """The most megabytes that any step takes beyond what is loaded."""
    return max(float(one["peak_mb"] - one["loaded_mb"]) for one in figures.values())


def main() -> None:
    """Time the steps and the millions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", default="", help="a revision to compare with")
    parser.add_argument("--count", type=int, default=3_650_000, help="items of the made-up one")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    data = os.environ.get("TELLAPART_REAL_DATA")
    result: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if data and (Path(data) / ANNOTATIONS).exists():
            annotations = Path(data) / ANNOTATIONS
            new = steps(annotations, folder, None, options.repeats)
            result |= {f"{step}_s": round(new[step]["seconds"], 2) for step in STEPS}
            result["peak_mb"] = round(max(one["peak_mb"] for one in new.values()))
            if options.against:
                package = build(options.against, folder)
                old = steps(annotations, folder, package, options.repeats)
                for step in STEPS:
                    ratio = old[step]["seconds"] / new[step]["seconds"]
                    result[f"{step}_ratio"] = round(ratio, 1)
                result["memory_ratio"] = round(beyond(old) / beyond(new), 1)
                result["old_peak_mb"] = round(max(one["peak_mb"] for one in old.values()))
        million = run("items_million.py", str(options.count), str(folder))
        print(million, file=sys.stderr)
        result |= {"million_s": round(million["total"], 1)}
        result |= {"million_peak_mb": round(million["peak_mb"])}
    print(json.dumps(result))


if __name__ == "__main__":
    main()

"""How long BISON's section 5.1 takes: caption metrics as predictors on all 54,253 examples.

Needs TELLAPART_REAL_DATA: a folder with bison/ and coco/ in it. Also how METEOR's program does when
lines are sent without waiting for answers, beside pycocoevalcap's way of asking line by line. The
last line is JSON: evaluate_s (BLEU-4, CIDEr-D and ROUGE-L together, all of it), the accuracies with
ties halved, meteor_lines_per_s and ratio_meteor (0 without Java).

    python benchmarks/captions.py
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

import tellapart as ta
from tellapart.models.reference import Draw, References, references_of
from tellapart.text.caption_metrics.meteor import METEOR
from tellapart.text.caption_metrics.metric import Material

METRICS = ("BLEU-4", "CIDEr-D", "ROUGE-L")
LINES, ROUNDS = 3_000, 5


def experiment(data: Path, captions: Path, folder: Path) -> dict[str, float]:
    """All examples by three metrics; importing the benchmark and measuring are not counted."""
    bison = data / "bison" / "bison_annotations.cocoval2014.json.gz"
    benchmark = ta.get("bison", [bison], folder / "bison")
    begin = time.perf_counter()
    models = [f"reference:{metric}@{captions}" for metric in METRICS]
    runs = ta.evaluate(models, benchmark, folder / "runs")
    found = {"evaluate_s": time.perf_counter() - begin}
    for metric, run in zip(METRICS, runs, strict=True):
        found[metric] = 100 * ta.measure(run, ties="half", by_kind=False).rows[0].value
    return found


def meteor(references: References) -> dict[str, float]:
    """Lines a second, and how much faster that is than asking line by line."""
    if METEOR.lacking() is not None:
        return {"meteor_lines_per_s": 0.0, "ratio_meteor": 0.0}
    from pycocoevalcap.meteor.meteor import Meteor as TheirMeteor

    images = list(references.by_image.items())[:LINES]
    left = [references.left(image, own[0], Draw()) for image, own in images]
    material = Material([own[0] for _, own in images], left)
    candidates, references_left = material.tokenised
    given = dict(enumerate(references_left)), {k: [c] for k, c in enumerate(candidates)}
    theirs = TheirMeteor()
    ours, others = [], []
    for _ in range(ROUNDS):  # Java compiles itself as it goes: the best round counts
        begin = time.perf_counter()
        METEOR.marks(material)
        ours.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        theirs.compute_score(*given)
        others.append(time.perf_counter() - begin)
    return {"meteor_lines_per_s": LINES / min(ours), "ratio_meteor": min(others) / min(ours)}


def main() -> None:
    """Print the figures, the last line as JSON."""
    named = os.environ.get("TELLAPART_REAL_DATA")
    if not named:
        sys.exit("TELLAPART_REAL_DATA does not name a folder with the real data")
    data = Path(named)
    captions = data / "coco" / "captions_val2014.json.gz"
    with tempfile.TemporaryDirectory() as folder:
        figures = experiment(data, captions, Path(folder))
    figures |= meteor(references_of(str(captions)))
    for name, value in figures.items():
        print(f"{name:<20}{value:12.2f}")
    print(json.dumps({name: round(value, 2) for name, value in figures.items()}))


if __name__ == "__main__":
    main()

"""The speed of fine-tuning against a bare torch loop, and what gradient caching saves.

Runs storybook's towers on made-up pictures and captions with one thread. Times are processor times,
so that other work on the machine matters little; both loops run in turns, and the best of each
counts. Memory is the peak of a separate process, beyond its use with the batch loaded and a step of
two pairs done. The last line is JSON:

- share_of_bare: steps per second of `tellapart train clip` over those of a bare loop (forward, the
  same loss, backward, AdamW) that has its batches ready in memory;
- memory_ratio: peak memory of a step with gradient caching (8 at a time) over that of the plain
  step, 200 pairs with their negatives;
- gradient_difference: the largest difference between the two steps' gradients.

    python benchmarks/finetune.py
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image as Pillow

from tellapart.items import Image
from tellapart.models.zoo.pixel_encoder import TowersEncoder
from tellapart.pictures import Picture
from tellapart.seeds import rng
from tellapart.training.loop import TrainingJob, fit
from tellapart.training.settings import TrainingSettings, make_optimiser
from tellapart.training.tuning.contrast import ContrastSettings, ContrastTask
from tellapart.training.tuning.pair_batches import PairSet
from tellapart.training.tuning.pairs import TrainingPairs, make_pairs

WORDS = [f"w{k}" for k in range(200)]
BATCH, STEPS, SKIPPED, REPEATS = 32, 10, 2, 3
LARGE, CHUNK = 200, 8


def made_up(folder: Path, pairs: int) -> TrainingPairs:
    """Random pictures, and captions as long as COCO's."""
    draw = rng(0, "benchmark", "finetune")
    pictures = {}
    for k in range(2 * pairs):
        name = f"{k}.png"
        pixels = draw.integers(0, 255, (112, 112, 3), np.uint8)
        Pillow.fromarray(pixels).save(folder / name, compress_level=1)
        pictures[str(k)] = Picture(Image(str(k), name), folder)

    def text() -> str:
        return " ".join(WORDS[w] for w in draw.integers(200, size=int(draw.integers(8, 14))))

    rows = [(str(k), text(), text(), str(pairs + k), "", "") for k in range(pairs)]
    return make_pairs("made-up", rows, pictures)


def encoder() -> TowersEncoder:
    """The same weights each time."""
    torch.manual_seed(0)
    return TowersEncoder("storybook", WORDS)


def settings() -> TrainingSettings:
    """One epoch of `STEPS` steps."""
    return TrainingSettings(
        epochs=1, batch=BATCH, optimiser="adamw", rate=1e-4, weight_decay=0.1, decay_all=False,
        schedule="constant", clip_norm=0.0,
    )  # fmt: skip


def ours(data: TrainingPairs) -> float:
    """Processor seconds a step of the loop, once it runs."""
    model, marks = encoder(), {}
    some = PairSet(data, model, "texts", keep_gb=2)
    for start in range(0, len(some), BATCH):  # pictures are kept, as from the second epoch on
        some.minibatch(np.arange(start, min(start + BATCH, len(some))))
    held = PairSet(data.where(np.arange(len(data)) < 8), model, "texts")
    task = ContrastTask(model, ContrastSettings(negatives="texts"), some, batch=8)

    def note(phase: str, done: int, total: int) -> None:
        marks[done] = time.process_time()

    with tempfile.TemporaryDirectory() as folder:
        fit(TrainingJob(task, some, held, settings(), 0, Path(folder)), note)
    return (marks[STEPS] - marks[SKIPPED]) / (STEPS - SKIPPED)


def bare(data: TrainingPairs) -> float:
    """Processor seconds a step of a plain loop."""
    model = encoder()
    some = PairSet(data, model, "texts")
    task = ContrastTask(model, ContrastSettings(negatives="texts"), some, batch=8)
    task.train()
    optimiser = make_optimiser(settings(), task)
    batches = [some.minibatch(np.arange(k * BATCH, (k + 1) * BATCH)) for k in range(STEPS)]
    for number, batch in enumerate(batches):
        if number == SKIPPED:
            begin = time.process_time()
        loss = task(batch, 0)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    return (time.process_time() - begin) / (STEPS - SKIPPED)


def one_step(folder: Path, chunk: int) -> None:
    """A step of a large batch in this process; prints its peak memory, writes its gradients."""
    torch.set_num_threads(1)
    model = encoder()
    some = PairSet(made_up(folder, LARGE), model, "images")
    task = ContrastTask(model, ContrastSettings(negatives="images", chunk=chunk), some, batch=8)
    task.train()
    task(some.minibatch(np.arange(2)), 0).backward()  # what libraries take once is no matter here
    task.zero_grad()
    batch = some.minibatch(np.arange(LARGE))
    loaded = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    task(batch, 0).backward()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    torch.save([one.grad for one in model.parameters()], folder / "gradients.pt")
    print(peak - loaded)


def memory() -> tuple[float, float]:
    """The ratio of both peaks, and the largest difference of gradients."""
    peaks, gradients = [], []
    for chunk in (0, CHUNK):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, "--step", folder, "--chunk", str(chunk)]
            told = subprocess.run(command, check=True, capture_output=True, text=True)
            peaks.append(int(told.stdout))
            gradients.append(torch.load(Path(folder) / "gradients.pt", weights_only=True))
    print(f"peak beyond what was loaded: {peaks[0] / 1024:,.0f} MB plain, "
          f"{peaks[1] / 1024:,.0f} MB in chunks of {CHUNK}", flush=True)  # fmt: skip
    differ = max(float((a - b).abs().max()) for a, b in zip(*gradients, strict=True))
    return peaks[1] / peaks[0], differ


def main() -> None:
    """Measure all and print it."""
    parser = argparse.ArgumentParser(description="Fine-tuning beside a bare loop.")
    parser.add_argument("--step", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--chunk", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.step is not None:
        one_step(given.step, given.chunk)
        return
    torch.set_num_threads(1)
    ratio, differ = memory()
    with tempfile.TemporaryDirectory() as folder:
        data = made_up(Path(folder), BATCH * STEPS)
        turns = [(bare(data), ours(data)) for _ in range(REPEATS)]
    plain, own = (min(times) for times in zip(*turns, strict=True))
    print(f"processor seconds a step: {plain:.3f} bare, {own:.3f} ours")
    figures = {
        "share_of_bare": round(plain / own, 3),
        "memory_ratio": round(ratio, 3),
        "gradient_difference": float(f"{differ:.1e}"),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()

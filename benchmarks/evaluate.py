"""The speed of `evaluate` against the loop of published scripts, and against the bare model.

The loop takes one row at a time, encodes its picture each time and pads every caption to full
length. The bare model runs only forward passes over the same distinct inputs, ready as tensors,
trimmed alike, in the best of several batch sizes. The model is open_clip's ViT-B-32 with random
weights. The rows are all of SugarCrepe's for some of its pictures if TELLAPART_REAL_DATA is set,
otherwise items of the built-in world. A second process measures the memory for 50,000 items. Prints
one JSON line last.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import tellapart as ta
from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark, save_benchmark
from tellapart.items import Image, Item, Origin
from tellapart.models.model import ModelInfo

IMAGES = 100
PARTS = 4
ROUNDS = 6
PATIENCE = 40.0
"""Seconds after which no further round is begun on a part."""
EVERY = 8
"""The loop takes every eighth row, and its time is taken eight times."""
BATCHES = (32, 64)
MANY = 50_000


def rows_of(folder: Path) -> Benchmark:
    """All rows of SugarCrepe for `IMAGES` of its pictures, or items of the built-in world."""
    data = os.environ.get("TELLAPART_REAL_DATA")
    if not data:
        world = ta.world(folder / "world", scenes=IMAGES, seed=0, part="test")
        return ta.build("bivlc", world, folder / "bivlc")
    pictures = Path(data) / "coco" / "images"
    rows: dict[str, list[tuple[str, dict[str, str]]]] = {}
    for file in sorted((Path(data) / "sugarcrepe").glob("*.json")):
        for key, row in json.loads(file.read_text()).items():
            rows.setdefault(row["filename"], []).append((f"{file.stem}-{key}", row))
    chosen = [name for name in sorted(rows) if (pictures / name).exists()][:IMAGES]
    items = [
        Item.imported(
            "sugarcrepe", key, images=(name,), captions=(row["caption"], row["negative_caption"]),
            true=frozenset({(0, 0)}), kind=key.rpartition("-")[0], origin=Origin("benchmark"),
        )
        for name in chosen for key, row in rows[name]
    ]  # fmt: skip
    images = [Image(name, name) for name in chosen]
    made = make_benchmark(Card("sugarcrepe"), pictures, items, images)
    return save_benchmark(made, folder / "sugarcrepe")


def random_clip(folder: Path) -> Any:
    """ViT-B-32 with random weights, through the adapter that a user would name."""
    from tellapart.models.names import load
    from tellapart.torch_tools import torch_library

    open_clip = torch_library("open_clip")
    import torch

    torch.manual_seed(0)
    checkpoint = folder / "random.pt"
    torch.save(open_clip.create_model("ViT-B-32").state_dict(), checkpoint)
    return load(f"open_clip:ViT-B-32/{checkpoint}?activation=gelu")


def timed(work: Callable[[], object]) -> float:
    """Seconds that something takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def loop(model: Any, benchmark: Benchmark, every: int) -> None:
    """Row by row (some of them), batch 1, nothing used twice, captions padded to full length."""
    import torch

    clip, transform, tokenizer = model._model, model._transform, model._tokenizer
    with torch.inference_mode():
        for item in benchmark.items[::every]:
            left = [
                clip.encode_image(transform(p.open())[None], normalize=True)
                for p in benchmark.pictures(item)
            ]
            right = [clip.encode_text(tokenizer([c]), normalize=True) for c in item.captions]
            for image in left:
                for text in right:
                    float(image @ text.T)


def bare(model: Any, pixels: Any, tokens: list[Any], batch: int) -> None:
    """Forward passes over distinct inputs that are ready as tensors; texts sorted by length."""
    import torch

    from tellapart.models.open_clip import encode_text

    with torch.inference_mode():
        for k in range(0, len(pixels), batch):
            model._model.encode_image(pixels[k : k + batch])
        for k in range(0, len(tokens), batch):
            encode_text(model._model, torch.stack(tokens[k : k + batch]))


def inputs(model: Any, benchmark: Benchmark) -> tuple[Any, list[Any]]:
    """The distinct pictures and captions as tensors."""
    import torch

    pixels = torch.stack([model._transform(benchmark.picture(i).open()) for i in benchmark.images])
    texts = list(dict.fromkeys(c for item in benchmark.items for c in item.captions))
    tokens = sorted(model._tokenizer(texts), key=lambda row: int(row.argmax()))
    return pixels, tokens


class Trivial:
    """A dual encoder that costs nothing, with rows of 512 numbers."""

    facts = ModelInfo("trivial", weights="none", dtype="float32")

    def embed_images(self, pictures: Any) -> Any:
        """The picture's mean, many times."""
        means = [np.asarray(p.open()).mean() for p in pictures]
        return np.repeat(np.float32(means)[:, None], 512, axis=1)

    def embed_texts(self, texts: Any) -> Any:
        """The text's length, many times."""
        return np.repeat(np.float32([len(t) for t in texts])[:, None], 512, axis=1)


def many(folder: Path) -> None:
    """Evaluate `MANY` items with a picture each, kept in one table; prints the peak in MB."""
    import io

    import polars as pl
    from PIL import Image as Pillow

    def png(k: int) -> bytes:
        out = io.BytesIO()
        Pillow.new("RGB", (8, 8), (k % 256, k // 256 % 256, 7)).save(out, "png")
        return out.getvalue()

    table = pl.DataFrame({"image": [png(k) for k in range(MANY)]})
    table.write_parquet(folder / "pictures.parquet", row_group_size=4096)
    del table
    items = [
        Item.imported(
            "many", str(k), images=(str(k),), captions=(f"A thing {k}.", f"No thing {k}."),
            true=frozenset({(0, 0)}), kind="replace-object", origin=Origin("benchmark"),
        )
        for k in range(MANY)
    ]  # fmt: skip
    images = [Image(str(k), f"pictures.parquet#column=image&row={k}") for k in range(MANY)]
    benchmark = make_benchmark(Card("many"), folder, items, images)
    options = ta.EvaluateOptions(cache=folder / "cache", batch_size=256)
    (run,) = ta.evaluate([Trivial()], benchmark, folder / "runs", options)
    assert run.scores.height == 2 * MANY and not run.failures
    print(peak_of_this_process())


def peak_of_this_process() -> float:
    """In MB; ru_maxrss would count what the process that started this one had in memory."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return float(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peak_mb() -> float:
    """The memory that 50,000 items take, all told, in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--many"], capture_output=True, text=True, check=True
    )
    return float(done.stdout.splitlines()[-1])


def parts_of(benchmark: Benchmark, folder: Path) -> list[Benchmark]:
    """The rows in `PARTS` parts, a picture with all its rows in one: short enough to alternate."""
    names = list(benchmark.images)
    made = []
    for k in range(PARTS):
        mine = set(names[k::PARTS])
        items = [item for item in benchmark.items if item.images[0] in mine]
        card = Card(f"part{k}")
        made.append(make_benchmark(card, benchmark.root, items, benchmark.images.values()))
    return made


@dataclass(slots=True)
class Times:
    """Seconds for one part of the rows, measured in turns."""

    loop: float
    cold: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)


def measured(model: Any, part: Benchmark, batch: int, folder: Path) -> Times:
    """The loop once on some rows; then engine and bare model in turns, so that load is shared."""
    pixels, tokens = inputs(model, part)
    times = Times(timed(lambda: loop(model, part, EVERY)) * EVERY)

    def engine(cache: str) -> float:
        options = ta.EvaluateOptions(cache=folder / cache, overwrite=True)
        return timed(lambda: ta.evaluate([model], part, folder / "runs", options))

    started = time.perf_counter()
    for k in range(ROUNDS):
        if k >= 2 and time.perf_counter() - started > PATIENCE:
            break
        turns = [
            lambda: times.cold.append(engine(f"{part.name}-{k}")),  # noqa: B023
            lambda: times.bare.append(timed(lambda: bare(model, pixels, tokens, batch))),
        ]
        for turn in turns[:: 1 if k % 2 else -1]:
            turn()
        times.warm.append(engine(f"{part.name}-{k}"))
    return times


def main() -> None:
    """Part by part; the best round of each counts, as other work on the machine only slows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        benchmark, model = rows_of(folder), random_clip(folder)
        print(f"{benchmark}", flush=True)
        parts = parts_of(benchmark, folder)
        pixels, tokens = inputs(model, parts[0])
        tried = {b: [timed(lambda: bare(model, pixels, tokens, b)) for _ in "12"] for b in BATCHES}  # noqa: B023
        batch = min(tried, key=lambda b: min(tried[b]))
        found = []
        for part in parts:
            found.append(measured(model, part, batch, folder))
            print(found[-1], flush=True)
    whole = sum(times.loop for times in found)
    cold = sum(min(times.cold) for times in found)
    warm = sum(min(times.warm) for times in found)
    shares = [min(times.bare) / min(times.cold) for times in found]
    figures = {
        "rows": len(benchmark.items),
        "loop_s": whole,
        "cold_s": cold,
        "warm_s": warm,
        "cold_ratio": whole / cold,
        "warm_ratio": whole / warm,
        "share_of_bare": float(np.median(shares)),
        "peak_mb": peak_mb(),
    }
    print(json.dumps({key: round(value, 3) for key, value in figures.items()}))


if __name__ == "__main__":
    if "--many" in sys.argv:
        with tempfile.TemporaryDirectory() as place:
            many(Path(place))
    else:
        main()

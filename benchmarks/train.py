"""The model's share of training time, and the speed of reading features and scoring grids.

Runs on made-up features of 2,000 images (16 regions of 1,280 numbers) with five captions each, with
the `small` recipes and two threads (`--threads 1` on a shared machine: threads that wait for each
other would be counted). Rates are by processor time. The last line is JSON:

- share_of_model: the share of the steps' time spent in forward and backward, over all systems;
  share_of_model_by has each;
- features_per_s: images per second whose regions are read from the store in random batches of 128
  and converted to float32;
- grid_ratio: pairs per second of SCAN t2i in a grid of 200 images and 1,000 captions, over those of
  a loop that takes 64 captions of an image at a time, with both sides already encoded;
  grid_ratio_one_by_one: over those of a loop that takes one pair at a time;
  grid_ratio_published: over those of a loop in the form of SCAN's own code, which takes each
  caption with all images and forms the attended vectors;
- reward_share: the share of a step of self-critical training (UpDown, 16 images, five samples each)
  that goes into the CIDEr-D of the captions written.

    python benchmarks/train.py [--threads 2]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import torch

from tellapart.corpus.corpus import Corpus, make_corpus
from tellapart.image_features.store import (
    HALF,
    INDEX_COLUMNS,
    REGIONS,
    WHOLE,
    FeatureCard,
    FeatureSpace,
    FeatureStore,
    load_store,
    write_store,
)
from tellapart.models.trained import load_system
from tellapart.models.zoo.grids import image_blocks, match_blocks, text_blocks
from tellapart.models.zoo.self_critical import SelfCritical
from tellapart.models.zoo.system import ImageInputs, System, TextInputs
from tellapart.seeds import rng
from tellapart.training.captioning import SelfCriticalSettings, SelfCriticalTask
from tellapart.training.data import TrainingSet, gather
from tellapart.training.trainer import TrainingOrder, train_system

IMAGES, CELLS, WIDTH, WORDS = 2_000, 16, 1_280, 4_000
SYSTEMS = ("convnet-bow", "convnet-bigru", "obj-bigru", "scan-i2t", "scan-t2i", "showtell",
           "showatttell", "updown", "neuraltalk")  # fmt: skip
QUICK_EPOCHS = 8
"""Of ConvNet+BoW, whose epoch has few steps."""


def spelled(number: int) -> str:
    """A word of its own for each number; letters only, because digits are read as a second word."""
    return "w" + "".join(chr(ord("a") + int(digit)) for digit in str(number))


def made_up(folder: Path) -> tuple[Corpus, FeatureStore]:
    """A corpus of random captions as long as COCO's, and random features."""
    draw = rng(0, "benchmark", "train")
    captions = [
        {"id": f"{i}-{k}", "image": str(i), "text": " ".join(spelled(w % WORDS) for w in words)}
        for i in range(IMAGES)
        for k in range(5)
        for words in [draw.zipf(1.2, size=int(draw.integers(8, 16)))]
    ]
    images = [{"id": str(i), "uri": f"{i}.jpg"} for i in range(IMAGES)]
    corpus = make_corpus("made-up", folder, images, captions)
    store = folder / "features"
    store.mkdir()
    for name, rows in ((WHOLE, IMAGES), (REGIONS, IMAGES * CELLS)):
        (store / name).write_bytes(draw.random((rows, WIDTH), np.float32).astype(HALF).tobytes())
    index = [(str(i), f"{i:064x}", i, i * CELLS, CELLS, []) for i in range(IMAGES)]
    space = FeatureSpace("none", "", "", "cells 4x4", WIDTH, WIDTH, CELLS)
    table = pl.DataFrame(index, schema=INDEX_COLUMNS, orient="row")
    write_store(store, FeatureCard("made-up", IMAGES, IMAGES * CELLS, space), table)
    return corpus, load_store(store)


def shares(corpus: Corpus, store: FeatureStore, folder: Path) -> tuple[float, dict[str, float]]:
    """The share of the model in the steps of all systems, and of each."""
    data = gather([corpus], [store])
    train, validation = data.part(np.arange(100, IMAGES)), data.part(np.arange(100))
    found, model, whole = {}, 0.0, 0.0
    for name in SYSTEMS:
        epochs = QUICK_EPOCHS if name == "convnet-bow" else 1
        order = TrainingOrder(name, "small", (f"epochs={epochs}", "least=1"))
        train_system(order, train, validation, folder / name)
        seconds = json.loads((folder / name / "timings.json").read_text())
        found[name] = round(seconds["model"] / seconds["all"], 3)
        model, whole = model + seconds["model"] / epochs, whole + seconds["all"] / epochs
        print(f"{name}: {seconds['all'] / epochs:.1f} s an epoch of {len(train.texts):,} captions,",
              f"{100 * found[name]:.1f}% of it the model", flush=True)  # fmt: skip
    return round(model / whole, 3), found


def reading(store: FeatureStore) -> float:
    """Images a second."""
    draw = rng(0, "benchmark", "rows")
    rows = [draw.choice(IMAGES, 128, replace=False) for _ in range(60)]
    for some in rows[:10]:
        ImageInputs.of(store.take(np.sort(some)))
    begin = time.process_time()
    for some in rows[10:]:
        ImageInputs.of(store.take(np.sort(some)))
    return 50 * 128 / (time.process_time() - begin)


def grid_ratios(system: System, corpus: Corpus, store: FeatureStore) -> dict[str, float]:
    """Pairs a second in a grid over those of loops."""
    data = TrainingSet.encoded(gather([corpus], [store]), system.vocabulary, None)
    words = data.words[:1_000]

    def take(places: np.ndarray) -> ImageInputs:
        return ImageInputs.of(data.images.features(places, regions=True))

    images, texts = image_blocks(system, 200, take), text_blocks(system, words)
    with torch.inference_mode():
        seen = system.encode_images(take(np.arange(4)))
        read = system.encode_texts(TextInputs.of(words))

    def in_grid() -> Any:
        return match_blocks(system, images, texts)

    def in_loop(together: int) -> Any:
        with torch.inference_mode():
            for k in range(4):
                for start in range(0, len(words), together):
                    some = tuple(one[start : start + together] for one in read)
                    own = tuple(one[k : k + 1].expand(len(some[0]), *one.shape[1:]) for one in seen)
                    last = system.match_pairs(own, some)
        return last.numpy()

    scores = in_grid()
    grid = scores.size / quickest(in_grid)
    ratios = {}
    for name, together in (("grid_ratio", 64), ("grid_ratio_one_by_one", 1)):
        loop = partial(in_loop, together)
        assert np.allclose(loop()[-1], scores[3, len(words) - 1], atol=1e-4)
        rate = 4 * len(words) / quickest(loop)
        print(
            f"SCAN t2i: {grid:,.0f} pairs a second in a grid, {rate:,.0f} in a loop by {together}"
        )
        ratios[name] = round(grid / rate, 2)
    (first, *_), few = images, words[:20]
    with torch.inference_mode():
        short = system.encode_texts(TextInputs.of(few))
    counts = [len(one) for one in few]

    def as_published() -> Any:
        with torch.inference_mode():
            return published_loop(system, first.codes[0], short[0], counts).numpy()

    assert np.allclose(as_published(), scores[: len(first.places), : len(few)], atol=1e-5)
    rate = len(first.places) * len(few) / quickest(as_published)
    print(f"SCAN t2i: {rate:,.0f} pairs a second in the loop of the published code")
    return {**ratios, "grid_ratio_published": round(grid / rate, 2)}


def published_loop(
    system: System, regions: torch.Tensor, words: torch.Tensor, counts: list[int]
) -> torch.Tensor:
    """Scores (images, captions) in the way of SCAN's code (`xattn_score_t2i`, Lee et al. 2018)."""
    columns = []
    for caption, count in zip(words, counts, strict=True):
        query = caption[:count].expand(len(regions), -1, -1).contiguous()
        attention = torch.nn.functional.leaky_relu(regions @ query.transpose(1, 2), 0.1)
        attention = attention / (attention.norm(dim=2, keepdim=True) + 1e-8)
        attention = attention.transpose(1, 2).contiguous()
        weights = (system.config.temperature * attention).softmax(dim=2)
        attended = (regions.transpose(1, 2) @ weights.transpose(1, 2)).transpose(1, 2)
        cosine = torch.nn.functional.cosine_similarity(query, attended.contiguous(), dim=2)
        factor = system.config.log_sum_exp
        columns.append((factor * cosine).logsumexp(dim=1) / factor)
    return torch.stack(columns, dim=1)


def quickest(work: Callable[[], Any]) -> float:
    """The least processor time of five tries, after one that compiled and filled caches."""
    tries = []
    for _ in range(5):
        begin = time.process_time()
        work()
        tries.append(time.process_time() - begin)
    return min(tries)


def reward_share(system: System, corpus: Corpus, store: FeatureStore) -> float:
    """The share of a step of self-critical training that is the reward."""
    encoded = TrainingSet.encoded(gather([corpus], [store]), system.vocabulary, 16)
    task = SelfCriticalTask(system.train(), SelfCriticalSettings(), encoded)
    batches = [encoded.minibatch(np.arange(80 * k, 80 * k + 80), regions=True) for k in range(12)]
    spent = []
    rewards = task.critical.rewards

    def timed(*given: Any) -> Any:
        begin = time.process_time()
        found = rewards(*given)
        spent.append(time.process_time() - begin)
        return found

    with mock.patch.object(SelfCritical, "rewards", lambda self, *given: timed(*given)):
        task(batches[0], 0).backward()  # kernels are compiled
        spent.clear()
        begin = time.process_time()
        for batch in batches:
            task(batch, 0).backward()
    step = (time.process_time() - begin) / len(batches)
    share = sum(spent) / len(batches) / step
    print(f"self-critical: {1e3 * step:.0f} ms a step, {100 * share:.1f}% of it the reward")
    return share


def main() -> None:
    """Measure all and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    torch.set_num_threads(parser.parse_args().threads)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus, store = made_up(folder)
        share, by = shares(corpus, store, folder)
        system, _ = load_system(folder / "scan-t2i")
        captioner, _ = load_system(folder / "updown")
        figures = {
            "share_of_model": share,
            "features_per_s": round(reading(store)),
            **grid_ratios(system, corpus, store),
            "reward_share": round(reward_share(captioner, corpus, store), 4),
            "share_of_model_by": by,
        }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()

"""Models for the tests of the engine: they count what they are asked, and answer by content."""

from __future__ import annotations

import hashlib
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np

from tellapart.models.model import ChooserReply, ModelInfo


def vector(data: bytes, width: int = 8) -> np.ndarray:
    """Numbers that depend on the content alone."""
    seed = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")
    return np.random.default_rng(seed).standard_normal(width)


def seen(picture) -> bytes:
    return np.asarray(picture.open().resize((4, 4))).tobytes()


class Dual:
    """A dual encoder."""

    def __init__(self, name="dual", weights="", dtype="float32", delay=0.0, **more):
        self.facts = ModelInfo(name, weights=weights, dtype=dtype, **more)
        self.delay = delay
        self.images: list[str] = []
        self.texts: list[str] = []
        self.batches: list[int] = []

    def embed_images(self, pictures):
        time.sleep(self.delay)
        self.images += [p.id for p in pictures]
        self.batches.append(len(pictures))
        return np.stack([vector(seen(p)) for p in pictures])

    def embed_texts(self, texts):
        time.sleep(self.delay)
        self.texts += texts
        self.batches.append(len(texts))
        return np.stack([vector(t.encode()) for t in texts])

    @property
    def calls(self) -> int:
        return len(self.batches)


class Pairs:
    """A pair scorer that knows the pictures of a batch by their ids, as real ones do."""

    def __init__(self, name="pairs", weights="", delay=0.0):
        self.facts = ModelInfo(name, weights=weights)
        self.delay = delay
        self.asked: list[tuple[str, str]] = []

    def score_pairs(self, pictures, texts):
        time.sleep(self.delay)
        by_id = {p.id: seen(p) for p in pictures}
        self.asked += [(p.id, t) for p, t in zip(pictures, texts, strict=True)]
        return [float(vector(by_id[p.id] + t.encode(), 1)[0])
                for p, t in zip(pictures, texts, strict=True)]  # fmt: skip


class Picks:
    """A chooser."""

    def __init__(self, name="picks", delay=0.0):
        self.facts = ModelInfo(name)
        self.delay = delay
        self.asked: list[str] = []

    def choose(self, asked):
        time.sleep(self.delay)
        self.asked += [f"{one.item.id} {one.question.id} {one.trial}" for one in asked]
        return [
            ChooserReply(shown=len(one.item.id) * 7 % len(one.order), text="so") for one in asked
        ]


def run_job(out: str, benchmarks: list[str], delay: float, cache: str) -> None:
    """A job of three sorts of model on some benchmarks, for tests that kill it."""
    import tellapart as ta

    models = [
        Dual(delay=delay),
        Pairs(weights="w", delay=delay),
        Picks(delay=delay),
    ]
    options = ta.EvaluateOptions(batch_size=16, cache=Path(cache))
    for part in ("benchmark.benchmark", "measures.scores", "score.engine", "score.job"):
        import_module(f"tellapart.{part}")  # what is to be killed is the work
    print("ready", flush=True)
    ta.evaluate(models, benchmarks, out, options)
    print("done", flush=True)


if __name__ == "__main__":
    run_job(sys.argv[1], sys.argv[4:], float(sys.argv[2]), sys.argv[3])

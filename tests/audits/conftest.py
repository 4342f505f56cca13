"""Benchmarks made by hand, in which cues are planted or absent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tellapart.audits.options import AuditOptions
from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark
from tellapart.items import Image, Item, Origin

QUICK = AuditOptions(look=False, ngrams=False, resamples=50)


def choice(name: str, right: str, *wrong: str, place: int = 0, **more) -> Item:
    """One image, a right caption at a place among wrong ones."""
    captions = [*wrong]
    captions.insert(place, right)
    parts = {
        "images": (f"image-{name}",),
        "kind": "replace-object",
        "origin": Origin("test"),
        "original": (0, place),
    }
    return Item.imported(
        "test", name, captions=tuple(captions), true=frozenset({(0, place)}), **(parts | more)
    )


def pairs(rows: Sequence[tuple[str, str]], **more) -> Benchmark:
    """Pairs (right, wrong); the right one stands at either place in turn."""
    return bench([choice(str(k), a, b, place=k % 2, **more) for k, (a, b) in enumerate(rows)])


def bench(
    items: Sequence[Item],
    root: Path = Path(),
    measures: tuple[str, ...] = ("accuracy",),
    verified: str = "",
) -> Benchmark:
    """A benchmark in memory."""
    names = sorted({name for item in items for name in item.images})
    images = [Image(name, f"{name}.png") for name in names]
    return make_benchmark(
        Card("planted", measures=measures, verified=verified), root, items, images
    )


@pytest.fixture
def quick() -> AuditOptions:
    """Options without pictures, language models and many resamples."""
    return QUICK

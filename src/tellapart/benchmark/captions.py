"""A benchmark read as a corpus: its images, and the captions that are true of them."""

from __future__ import annotations

import polars as pl

from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.corpus import Corpus, make_corpus


def corpus_of(benchmark: Benchmark, *, uncaptioned: bool = False) -> Corpus:
    """A benchmark's images with their true captions; `uncaptioned` includes images without any."""
    rows: dict[tuple[str, str], None] = {}
    for item in benchmark.items:
        rows |= {(item.images[i], item.captions[j]): None for i, j in sorted(item.true)}
    shown = benchmark.images.frame
    if not uncaptioned:
        shown = shown.filter(pl.col("id").is_in({image for image, _ in rows}))
    captions = [
        {"id": str(number), "image": image, "text": text}
        for number, (image, text) in enumerate(rows)
    ]
    return make_corpus(benchmark.name, benchmark.root, shown.to_dicts(), captions)

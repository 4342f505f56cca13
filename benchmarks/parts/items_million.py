"""Millions of items of one image and two captions: written, loaded, subset, measured.

Arguments: the number of items, a folder. The captions are made before timing starts. Prints the
seconds of each phase and the peak memory.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

import tellapart as ta
from tellapart.benchmark.benchmark import Card, make_benchmark, save_benchmark
from tellapart.benchmark.columns import ITEM_COLUMNS
from tellapart.benchmark.table import ItemTable
from tellapart.items import Image

CAPTIONS_AN_IMAGE = 31
WORDS = "a the dog cat horse man red small two three park street on under near old".split()


def made_items(count: int) -> pl.DataFrame:
    """Items whose captions differ in one word; which one is true is drawn at random."""
    rng = np.random.default_rng(0)
    phrases = pl.Series([" ".join(rng.choice(WORDS, 9)) for _ in range(5000)])
    base = pl.DataFrame(
        {
            "number": pl.int_range(count, eager=True),
            "phrase": phrases[rng.integers(0, len(phrases), count)],
            "place": rng.integers(0, 2, count, dtype=np.int32),
        }
    )
    name = pl.col("number").cast(pl.String)
    true = pl.concat_str("phrase", pl.lit(" beside tree "), name)
    false = pl.concat_str("phrase", pl.lit(" beside car "), name)
    first = pl.when(pl.col("place") == 0).then(true).otherwise(false)
    second = pl.when(pl.col("place") == 0).then(false).otherwise(true)
    cell = pl.concat_list(pl.lit(0, pl.Int32), "place")
    cells = [pl.lit([[0, place]], ITEM_COLUMNS["true_cells"]) for place in (0, 1)]
    origin = pl.struct(
        made_by=pl.lit("made up"),
        source=pl.lit(""),
        source_id=name,
        seed=pl.lit(None, pl.Int64),
        notes=pl.lit("{}"),
    )
    return base.select(
        id=pl.concat_str(pl.lit("made:"), name),
        content=pl.lit(""),
        kind=pl.lit("replace-object"),
        group=pl.lit(""),
        images=pl.concat_list(pl.format("image-{}", pl.col("number") // CAPTIONS_AN_IMAGE)),
        captions=pl.concat_list(first, second),
        true_cells=pl.when(pl.col("place") == 0).then(cells[0]).otherwise(cells[1]),
        original=cell,
        slot=pl.lit(None, ITEM_COLUMNS["slot"]),
        origin=origin,
    )


def made_scores(items: pl.DataFrame) -> pl.DataFrame:
    """Scores of a model that is right on about three items of four."""
    rng = np.random.default_rng(1)
    count = items.height
    right = items["original"].list.get(1).to_numpy()
    scores = rng.normal(size=(count, 2))
    scores[np.arange(count), right] += 1.0
    return pl.DataFrame(
        {
            "item": items["id"].gather(np.repeat(np.arange(count), 2)),
            "image": np.zeros(2 * count, np.int32),
            "caption": np.tile(np.array([0, 1], np.int32), count),
            "score": scores.ravel(),
        }
    )


def main() -> None:
    """Go through the phases."""
    count, folder = int(sys.argv[1]), Path(sys.argv[2])
    items = made_items(count)
    made_scores(items).write_parquet(folder / "scores.parquet")
    seconds: dict[str, float] = {}
    began = time.perf_counter()

    def lap(phase: str) -> None:
        nonlocal began
        seconds[phase], began = round(time.perf_counter() - began, 2), time.perf_counter()

    table = ItemTable(items)
    del items
    table = ItemTable(table.frame.with_columns(table.contents()))
    images = [Image(name, f"{name}.jpg") for name in table.frame["images"].explode().unique()]
    save_benchmark(make_benchmark(Card("millions"), folder, table, images), folder / "millions")
    del table, images
    lap("write")
    benchmark = ta.load_benchmark(folder / "millions")
    lap("load")
    ta.subset(benchmark, folder / "half", ta.SubsetOptions(limit=count // 2))
    lap("subset")
    run = ta.import_scores(benchmark, folder / "scores.parquet", name="made", out=folder / "run")
    lap("import scores")
    print(ta.measure(run), file=sys.stderr)
    lap("measure")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "total": sum(seconds.values()), "peak_mb": peak}))


if __name__ == "__main__":
    main()

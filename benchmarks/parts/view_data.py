"""A generated benchmark with one image and two captions per item, with runs and pictures.

Arguments: the numbers of items, runs and picture files, and a folder. Pictures are JPEG files of
640 x 480 pixels; several images of the benchmark share one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
from PIL import Image as Pillow

from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark, save_benchmark
from tellapart.benchmark.columns import ITEM_COLUMNS
from tellapart.benchmark.table import ItemTable
from tellapart.items import KINDS, Image
from tellapart.score.run import Run, RunCard, answers_frame, save_run

ITEMS_AN_IMAGE = 5
WORDS = (
    "a the dog cat horse man woman child red blue small large two three park street beach on under "
    "near behind old young wooden metal table chair bench bicycle train sits stands runs holds"
).split()


def main(items: int, runs: int, files: int, folder: Path) -> None:
    """Write everything below the folder."""
    rng = np.random.default_rng(0)
    draw_pictures(files, folder / "pictures", rng)
    benchmark = made_benchmark(items, files, folder, rng)
    for number in range(runs):
        save_run(made_run(benchmark, number, rng), folder / "runs" / f"model-{number}")


def draw_pictures(files: int, folder: Path, rng: np.random.Generator) -> None:
    """Pictures that are neither flat nor noise: coarse random fields, blown up."""
    folder.mkdir(parents=True)
    for number in range(files):
        coarse = rng.integers(0, 256, (30, 40, 3), dtype=np.uint8)
        picture = Pillow.fromarray(coarse).resize((640, 480), Pillow.Resampling.BICUBIC)
        picture.save(folder / f"{number}.jpg", quality=85)


def made_benchmark(items: int, files: int, folder: Path, rng: np.random.Generator) -> Benchmark:
    """Captions that differ in one word; which of the two is true is drawn."""
    phrases = pl.Series([" ".join(rng.choice(WORDS, 9)) for _ in range(5000)])
    base = pl.DataFrame(
        {
            "number": pl.int_range(items, eager=True),
            "phrase": phrases[rng.integers(0, len(phrases), items)],
            "place": rng.integers(0, 2, items, dtype=np.int32),
            "kind": pl.Series(KINDS)[rng.integers(0, len(KINDS), items)],
            "category": pl.Series(WORDS)[rng.integers(0, len(WORDS), items)],
        }
    )
    name = pl.col("number").cast(pl.String)
    true = pl.concat_str("phrase", pl.lit(" beside a tree, number "), name)
    false = pl.concat_str("phrase", pl.lit(" beside a car, number "), name)
    is_first = pl.col("place") == 0
    cells = [pl.lit([[0, place]], ITEM_COLUMNS["true_cells"]) for place in (0, 1)]
    origin = pl.struct(
        made_by=pl.lit("made up"),
        source=pl.lit(""),
        source_id=name,
        seed=pl.lit(None, pl.Int64),
        notes=pl.concat_str(pl.lit('{"category": "'), "category", pl.lit('"}')),
    )
    frame = base.select(
        id=pl.concat_str(pl.lit("made:"), name),
        content=pl.lit(""),
        kind="kind",
        group=pl.lit(""),
        images=pl.concat_list(pl.format("image-{}", pl.col("number") // ITEMS_AN_IMAGE)),
        captions=pl.concat_list(
            pl.when(is_first).then(true).otherwise(false),
            pl.when(is_first).then(false).otherwise(true),
        ),
        true_cells=pl.when(is_first).then(cells[0]).otherwise(cells[1]),
        original=pl.concat_list(pl.lit(0, pl.Int32), "place"),
        slot=pl.lit(None, ITEM_COLUMNS["slot"]),
        origin=origin,
    ).cast(ITEM_COLUMNS)
    table = ItemTable(frame)
    table = ItemTable(frame.with_columns(content=table.contents()))
    number = -(-items // ITEMS_AN_IMAGE)
    images = [Image(f"image-{k}", f"pictures/{k % files}.jpg") for k in range(number)]
    made = make_benchmark(Card("made-up", about="Made to be timed."), folder, table, images)
    return save_benchmark(made, folder / "benchmark")


def made_run(benchmark: Benchmark, number: int, rng: np.random.Generator) -> Run:
    """A scorer that is right on 50 to 90% of the items."""
    items = benchmark.items
    true = items.frame["original"].list.get(1).to_numpy()
    scores = rng.normal(size=(len(items), 2))
    scores[np.arange(len(items)), true] += 0.25 * number
    frame = pl.DataFrame(
        {
            "item": items.ids.gather(np.repeat(np.arange(len(items)), 2)),
            "image": np.zeros(2 * len(items), np.int32),
            "caption": np.tile(np.arange(2, dtype=np.int32), len(items)),
            "edit": pl.repeat("", 2 * len(items), eager=True),
            "score": scores.ravel().round(4),
        }
    )
    card = RunCard(
        f"model-{number}", "scorer", benchmark.name, benchmark.sha256, asks=("caption", "image"),
        scored_cells=True,
    )  # fmt: skip
    return Run(card, benchmark, frame, answers_frame([]))


if __name__ == "__main__":
    count, models, pictures = map(int, sys.argv[1:4])
    main(count, models, pictures, Path(sys.argv[4]))
    print(json.dumps({"items": count, "runs": models}))

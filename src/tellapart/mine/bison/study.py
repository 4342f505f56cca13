"""What a study for people needs: the pairs, each with all captions of its target.

In the study's first stage a person sees both images and the target's captions and picks one that
is true of the target alone, or none; in the second two others see images and caption and say which
image it describes (Hu et al. 2019, section 4.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark, load_benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.items import Item, Origin
from tellapart.mine.bison.choosing import Pair
from tellapart.mine.building import BuildOptions, finish
from tellapart.mine.captions import Captions
from tellapart.tables import whole_folder, write_json, write_parquet

SCHEMA = "tellapart-pairs-1"
COLUMNS: dict[str, Any] = {
    "pair": pl.String, "target": pl.String, "decoy": pl.String, "similarity": pl.Float64,
    "captions": pl.List(pl.String), "caption_ids": pl.List(pl.String),
}  # fmt: skip


def write_for_study(
    pairs: Sequence[Pair],
    captions: Captions,
    corpus: Corpus,
    out: Path,
    options: BuildOptions,
    how: dict[str, Any],
) -> Benchmark:
    """Write `pairs.parquet` with its card `pairs.json`, and the same as a benchmark.

    The benchmark's items have all captions of the target, which count as true of the target alone:
    nobody has said yet of which that holds.
    """
    said = _captions_by_image(captions)
    rows = [_row(pair, captions, said) for pair in pairs]
    items = [_item(row, corpus.name, options.seed) for row in rows]
    card = {
        "schema": SCHEMA,
        "name": options.name or "bison",
        "pairs": len(rows),
        "images": len({image for row in rows for image in (row["target"], row["decoy"])}),
        "corpus": corpus.name,
        "seed": options.seed,
        "how": how,
    }
    with whole_folder(out, overwrite=options.overwrite) as partial:
        inside = replace(options, overwrite=True)
        finish(
            "bison", corpus, items, partial, inside, ("accuracy",), {"pairs": "to annotate", **how}
        )
        write_parquet(partial / "pairs.parquet", pl.DataFrame(rows, schema=COLUMNS))
        write_json(partial / "pairs.json", card)
    return load_benchmark(out)


def _captions_by_image(captions: Captions) -> list[dict[str, str]]:
    """For each image its captions without repetition: text and id."""
    said: list[dict[str, str]] = [{} for _ in captions.images]
    for image, text, name in zip(
        captions.image_of.tolist(), captions.texts, captions.ids, strict=True
    ):
        said[image].setdefault(text, name)
    return said


def _row(pair: Pair, captions: Captions, said: list[dict[str, str]]) -> dict[str, Any]:
    target, decoy = captions.images[pair.target], captions.images[pair.decoy]
    return {
        "pair": f"{target}|{decoy}",
        "target": target,
        "decoy": decoy,
        "similarity": round(float(pair.similarity), 6),
        "captions": list(said[pair.target]),
        "caption_ids": list(said[pair.target].values()),
    }


def _item(row: dict[str, Any], source: str, seed: int) -> Item:
    place = int(seeds.rng(seed, "bison", row["target"], row["decoy"]).integers(2))
    images = (row["target"], row["decoy"])
    return Item.built(
        "bison",
        images=images if place == 0 else images[::-1],
        captions=tuple(row["captions"]),
        true=frozenset((place, j) for j in range(len(row["captions"]))),
        original=(place, 0),
        kind="pair",
        origin=Origin("tellapart build bison", source, row["target"], seed),
    )

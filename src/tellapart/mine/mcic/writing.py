"""The folder of an MCIC benchmark: all items, each split by itself, decoys and statistics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from tellapart.benchmark.benchmark import (
    Benchmark,
    Card,
    load_benchmark,
    make_benchmark,
    write_benchmark,
)  # fmt: skip
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput
from tellapart.mine.building import BuildOptions
from tellapart.mine.captions import Captions, Ints
from tellapart.mine.mcic.curves import draw_curves
from tellapart.mine.mcic.items import MADE_BY, Asked
from tellapart.mine.mcic.score import REASONS, Chosen
from tellapart.mine.mcic.statistics import statistics
from tellapart.mine.mcic.tuning import Trial
from tellapart.tables import whole_folder, write_parquet, write_text

DECOY_COLUMNS = {
    "item": pl.String, "place": pl.Int32, "caption": pl.String, "image": pl.String,
    "score": pl.Float64, "bleu": pl.Float64, "cosine": pl.Float64,
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A split (or all, under an empty name): where its decoys come from, and its items."""

    name: str
    captions: Captions
    targets: Ints
    chosen: Chosen
    asked: list[Asked]
    facts: Mapping[str, Any]

    def for_card(self) -> dict[str, Any]:
        """Its statistics, with what is known of the search and of the guards."""
        rows = [one.row for one in self.asked]
        found = statistics(self.captions, self.targets, self.chosen, rows)
        return {**found.to_json(), **self.facts}

    def decoys(self) -> Iterator[tuple[Any, ...]]:
        """A row for each decoy, as in `DECOY_COLUMNS`."""
        captions, chosen = self.captions, self.chosen
        for one in self.asked:
            columns = (values[one.row].tolist() for values in chosen[:4])
            for k, (caption, *numbers) in enumerate(zip(*columns, strict=True), 1):
                image = captions.images[captions.image_of[caption]]
                place = one.order.index(k)
                yield (one.item.id, place, captions.ids[caption], image, *numbers)


def write(
    parts: Sequence[Part],
    how: dict[str, Any],
    trials: Sequence[Trial],
    corpus: Corpus,
    out: Path,
    options: BuildOptions,
) -> Benchmark:
    """Write all items as one benchmark, and each split as one of its own in a folder inside."""
    _check_some(parts, options)
    told = {part.name or "all": part.for_card() for part in parts}
    card = Card(
        name=options.name or "mcic",
        about=f"mcic items built from {corpus.name}",
        made={
            "by": MADE_BY,
            "corpus": corpus.name,
            "corpus_about": dict(corpus.about),
            "seed": options.seed,
            **how,
            "statistics": told,
        },
        verified=f"by the model {options.verifier}" if options.verifier else "",
        skipped=corpus.skipped,
    )
    with whole_folder(out, overwrite=options.overwrite) as partial:
        _write_one(parts, card, corpus, partial)
        for part in parts:
            if part.name:
                own = {**card.made, "split": part.name, "statistics": {part.name: told[part.name]}}
                named = replace(card, name=f"{card.name}-{part.name}", made=own)
                _write_one([part], named, corpus, partial / part.name)
        if trials:
            write_text(partial / "tuning.svg", draw_curves(trials))
    return load_benchmark(out)


def _write_one(parts: Sequence[Part], card: Card, corpus: Corpus, folder: Path) -> None:
    items = [one.item for part in parts for one in part.asked]
    images = (corpus.image(image_id) for image_id in corpus.images["id"])
    folder.mkdir(exist_ok=True)
    write_benchmark(make_benchmark(card, corpus.root, items, images), folder)
    rows = [row for part in parts for row in part.decoys()]
    write_parquet(folder / "decoys.parquet", pl.DataFrame(rows, schema=DECOY_COLUMNS, orient="row"))


def _check_some(parts: Sequence[Part], options: BuildOptions) -> None:
    """Each part has items, or the reason why it has none is told."""
    for part in parts:
        if part.asked:
            continue
        refused = dict(zip(REASONS, part.chosen.refused.sum(axis=0).tolist(), strict=True))
        why = ", ".join(f"{many:,} {reason}" for reason, many in refused.items() if many)
        where = f" of the split {part.name}" if part.name else ""
        raise BadInput(
            f"no item came out for {options.name or 'mcic'}: no caption{where} has "
            f"{part.chosen.captions.shape[1]} decoys among its neighbours"
            + (f" (passed over: {why})" if why else ""),
            allowed="captions of enough other images that are like a caption and not the same",
            todo="give a larger corpus, or looser options (--neighbours, --limit, --without)",
        )

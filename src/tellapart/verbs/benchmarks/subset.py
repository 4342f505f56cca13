"""The verb `subset`: some of a benchmark's items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tellapart.errors import BadInput, UnknownName
from tellapart.options import Help, Overwrite, Seed
from tellapart.verbs import (
    BenchmarkSource,
    OutFolder,
    Verb,
    benchmark_json,
    benchmark_text,
    open_benchmark,
)

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.benchmark.table import ItemTable
    from tellapart.types import Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetOptions:
    """Which items to keep: all conditions must hold; `limit` then draws a sample.

    `ids` are item ids, or a file of them. One item of a balanced pair without the other is no fair
    question, so both are kept or neither.
    """

    kinds: Annotated[tuple[str, ...], Help("Kinds to keep, separated by commas.")] = ()
    ids: Annotated[Path | frozenset[str] | None, Help("File with one item id per line.")] = None
    with_images: Annotated[bool, Help("Only items whose pictures are all found.")] = False
    drop_duplicates: Annotated[bool, Help("Drop items that duplicate an earlier one.")] = False
    limit: Annotated[
        int | None, Help("Keep a random sample of this many items.", alias="--items")
    ] = None
    whole_pairs: Annotated[
        bool, Help("Leave out items whose twin (of a balanced pair) is left out.")
    ] = True
    seed: Seed = 0


def subset(
    benchmark: BenchmarkSource,
    out: OutFolder,
    options: SubsetOptions = SubsetOptions(),  # noqa: B008 (frozen)
    *,
    name: Annotated[str, Help("Name of the new benchmark.")] = "",
    overwrite: Overwrite = False,
) -> Benchmark:
    """Keep some of a benchmark's items; the card says how they were chosen."""
    import numpy as np

    from tellapart import seeds
    from tellapart.benchmark.benchmark import make_benchmark, save_benchmark
    from tellapart.benchmark.groups import without_twin
    from tellapart.files import read_text

    whole = open_benchmark(benchmark)
    ids = options.ids
    if isinstance(ids, Path):
        ids = frozenset(read_text(ids).split())
    _check(whole, options.kinds, ids)
    items = _kept(whole, options, ids)
    lonely = without_twin(items.frame) if options.whole_pairs else np.zeros(0, np.int64)
    items = items.rows(np.setdiff1d(np.arange(len(items)), lonely)) if len(lonely) else items
    if options.limit is not None and options.limit < len(items):
        drawn = seeds.rng(options.seed, "subset").choice(len(items), options.limit, replace=False)
        drawn.sort()
        items = _sample(items, drawn) if options.whole_pairs else items.rows(drawn)
    choice = {
        "kinds": list(options.kinds),
        "ids": None if ids is None else len(ids),
        "with_images": options.with_images,
        "without_duplicates": options.drop_duplicates,
        "number": options.limit,
        "whole_pairs": options.whole_pairs,
        "without_twin": len(lonely),
        "seed": options.seed,
    }
    made = {**whole.card.made, "subset_of": whole.sha256, "subset": choice}
    card = replace(whole.card, name=name or f"{whole.name}-subset", made=made)
    part = make_benchmark(card, whole.root, items, whole.images)
    return save_benchmark(part, Path(out), overwrite=overwrite)


def _check(whole: Benchmark, wanted: tuple[str, ...], ids: frozenset[str] | None) -> None:
    kinds = whole.items.kinds[0]
    for kind in wanted:
        if kind not in kinds:
            raise UnknownName(f"kind in {whole.name}", kind, kinds)
    unknown = sorted(ids - whole.by_id.keys()) if ids else []
    if unknown:
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        raise BadInput(f"{whole.name} has no item {unknown[0]!r}{more}")


def _kept(whole: Benchmark, options: SubsetOptions, ids: frozenset[str] | None) -> ItemTable:
    """The items for which all conditions hold."""
    import polars as pl

    items = whole.items
    if options.kinds:
        items = items.where(pl.col("kind").is_in(options.kinds))
    if ids is not None:
        items = items.where(pl.col("id").is_in(list(ids)))
    if options.with_images:
        items = items.with_images(i for i in whole.images if whole.picture(i).path.exists())
    if options.drop_duplicates:
        items = items.where(pl.col("content").is_first_distinct())
    return items


def _sample(items: ItemTable, drawn: Ints) -> ItemTable:
    """As many items as were drawn, or one less: of twins both if the first of them was drawn."""
    import numpy as np

    from tellapart.benchmark.groups import twins

    first, place = twins(items.frame)
    if not len(place):
        return items.rows(drawn)
    unit = np.arange(len(items))
    unit[place] = first
    order = np.concatenate([drawn, np.setdiff1d(np.arange(len(items)), drawn)])
    units = unit[order][np.sort(np.unique(unit[order], return_index=True)[1])]
    fits = np.cumsum(np.bincount(unit, minlength=len(items))[units]) <= len(drawn)
    return items.rows(np.flatnonzero(np.isin(unit, units[fits])))


def _notes(benchmark: Benchmark) -> list[str]:
    """How many items were left out for their twins."""
    lonely = benchmark.card.made["subset"]["without_twin"]
    told = "items are left out because their twin is, too (keep them with --no-whole-pairs)"
    return [f"{lonely:,} {told}"] if lonely else []


VERB = Verb(
    subset,
    example="tellapart subset bivlc swaps --kinds swap-object,swap-attribute",
    text=benchmark_text,
    json=benchmark_json,
    notes=_notes,
)

"""`analyse agreement`: do models err where people, or other models, err?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.analyses.analysis import Analysis, AnalysisKind, ResultTable
from tellapart.analyses.figure import Figure, Panel, dot_rows, short_names
from tellapart.analyses.units import Sources, UnitOptions, UnitTable, unit_table
from tellapart.errors import BadInput
from tellapart.items import Item
from tellapart.options import Help
from tellapart.stats.agreement import cohen_kappa, error_overlap
from tellapart.types import Progress, silent

PEOPLE = "people"
FORMS = {
    **dict.fromkeys(("same", "both_wrong", "expected", "people", "models"), "percent"),
    **dict.fromkeys(("kappa", "low"), ".3f"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementOptions(UnitOptions):
    """How many items to list."""

    most: Annotated[int, Help("How many items of each kind to list.")] = 10


def analyse_agreement(
    runs: Sources,
    options: AgreementOptions = AgreementOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Analysis:
    """Do models err where people, or other models, err? Kappa of right and wrong, item by item.

    A run whose model is called people (as study export writes it) stands for people. The items
    that people find hard and models easy are listed, and the other way round.
    """
    units = unit_table(runs, options)
    if len(units.models) < 2:
        raise BadInput(
            f"agreement needs two runs, and {units.models[0]} is the only one",
            allowed="two runs or more, such as a model's run and the run of people that study "
            "export writes",
        )
    rows = list(_pairs(units, options))
    if not rows:
        raise BadInput("no two of these runs answered the same questions")
    pairs = pl.DataFrame(rows)
    items, counts = _items(units, options)
    title = f"{units.benchmark.name}: agreement on what is right ({units.measure.name})"
    tables = [
        ResultTable("pairs", "Each pair of runs, on the questions that both answered", pairs, FORMS)
    ]
    if items.height:
        heading = "Items on which people and models differ most"
        if "people" not in items.columns:
            heading = "Items that every model got wrong"
        tables.append(ResultTable("items", heading, items, FORMS))
    sentences = [*map(_sentence, rows), *_item_sentences(items, counts)]
    methods = (
        "kappa: Cohen's, of right and wrong answers (error consistency, Geirhos et al. 2020); 0 is "
        "expected of independent runs with these accuracies; interval: bootstrap over groups",
    )
    return Analysis(
        "agreement", title, tuple(sentences), tuple(tables), _figure(title, pairs), methods
    )


def _pairs(units: UnitTable, options: AgreementOptions) -> Iterator[dict[str, Any]]:
    for one, other in combinations(range(len(units.models)), 2):
        both = units.covered[:, one] & units.covered[:, other]
        if both.sum() < 2:
            continue
        right = (units.value[both][:, [one, other]] >= 0.5).astype(np.int64)
        names = units.models[one], units.models[other]
        rng = seeds.rng(options.seed, "agreement", *names)
        clusters = units.cluster[both]
        overlap = error_overlap(right[:, 0].astype(float), right[:, 1].astype(float), clusters,
                                rng, options.resamples)  # fmt: skip
        row = {
            "first": names[0], "second": names[1], "n": int(both.sum()),
            "same": float((right[:, 0] == right[:, 1]).mean()),
            "kappa": None, "low": None, "high": None,
            "both_wrong": overlap.both, "expected": overlap.expected,
        }  # fmt: skip
        if all(0 < right[:, k].mean() < 1 for k in (0, 1)):
            kappa = cohen_kappa(right, clusters, rng, options.resamples)
            row |= {"kappa": kappa.value, "low": kappa.low, "high": kappa.high}
        yield row


def _sentence(row: dict[str, Any]) -> str:
    names = f"{row['first']} and {row['second']}"
    if row["kappa"] is None:
        return f"{names}: one of them is always right or always wrong, so kappa is undefined."
    ends = f"kappa {row['kappa']:.3f} ({row['low']:.3f} to {row['high']:.3f}, n = {row['n']:,})"
    if row["low"] <= 0 <= row["high"]:
        return f"{names}: no agreement is shown beyond that expected from accuracy, {ends}."
    more = "more" if row["kappa"] > 0 else "less"
    return (
        f"{names} agree {more} than expected from their accuracies, {ends}: both are wrong on "
        f"{100 * row['both_wrong']:.1f}%, against {100 * row['expected']:.1f}% expected."
    )


def _items(units: UnitTable, options: AgreementOptions) -> tuple[pl.DataFrame, dict[str, int]]:
    """Items with the largest gaps between people and models; without people, items all fail.

    Also how many items of each sort there are in all.
    """
    people = [k for k, name in enumerate(units.models) if name.startswith(PEOPLE)]
    models = [k for k in range(len(units.models)) if k not in people]
    names = units.benchmark.items.ids
    covered = units.covered.all(axis=1)
    if not covered.any() or not models:
        return pl.DataFrame(), {}
    item, value = units.item[covered], units.value[covered]
    frame = pl.DataFrame({"place": item, "models": value[:, models].mean(axis=1)}).with_columns(
        pl.Series("people", value[:, people].mean(axis=1) if people else np.full(len(item), np.nan))
    )
    frame = frame.group_by("place", maintain_order=True).agg(pl.col("models", "people").mean())
    frame = frame.with_columns(
        pl.Series("item", [names[int(k)] for k in frame["place"]]),
        pl.Series("caption", [_caption(units.benchmark.items[int(k)]) for k in frame["place"]]),
    )
    if people:
        gap = pl.col("models") - pl.col("people")
        hard_for_people, hard_for_models = pl.col("people") < 0.5, pl.col("models") < 0.5
        sorts = [
            ("hard for people, easy for models", gap, hard_for_people & ~hard_for_models),
            ("easy for people, hard for models", -gap, hard_for_models & ~hard_for_people),
        ]
    else:
        frame = frame.drop("people")
        sorts = [("wrong for all models", -pl.col("models"), pl.col("models") == 0)]
    counts = {name: frame.filter(where).height for name, _, where in sorts}
    parts = [
        frame.filter(where).sort(-order, "item").head(options.most)
        .select(pl.lit(name).alias("sort"), pl.all().exclude("place"))
        for name, order, where in sorts
    ]  # fmt: skip
    return pl.concat(parts).select("sort", "item", pl.col("^models|people$"), "caption"), counts


def _caption(item: Item) -> str:
    """A caption that is true of the item, since options are shuffled; the first if none is."""
    return item.captions[min((cell[1] for cell in item.true), default=0)]


def _item_sentences(items: pl.DataFrame, counts: dict[str, int]) -> Iterator[str]:
    if not items.height:
        return
    for (sort,), rows in items.group_by("sort", maintain_order=True):
        first, count = rows.row(0, named=True), counts[str(sort)]
        verb = "1 item is" if count == 1 else f"{count:,} items are"
        yield f'{verb} {sort}, such as {first["item"]} ("{first["caption"]}").'


def _figure(title: str, pairs: pl.DataFrame) -> Figure | None:
    known = pairs.filter(pl.col("kappa").is_not_null())
    if not known.height:
        return None
    named = short_names([*known["first"], *known["second"]])
    labels = [f"{named[a]} / {named[b]}" for a, b in known.select("first", "second").iter_rows()]
    value, low, high = (known[name].to_list() for name in ("kappa", "low", "high"))
    rows = dot_rows(labels, value, low, high)
    told = "; ".join(f"{row['label']} {row['x']:.3f}" for row in rows)
    panel = Panel("dots", tuple(rows), "kappa (bar: 95% interval)", reference=0.0)
    return Figure(title, f"{title}, kappa: {told}.", (panel,))


ANALYSIS = AnalysisKind(analyse_agreement, "tellapart analyse agreement runs results/people")

"""`analyse by`: accuracy by any fact, the easiest and the hardest groups (FOIL, Tables 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.analyses.analysis import Analysis, AnalysisKind, ResultTable, told_p
from tellapart.analyses.figure import Figure, Panel, dot_rows
from tellapart.analyses.units import Sources, UnitOptions, UnitTable, unit_table
from tellapart.errors import BadInput
from tellapart.measures.item_columns import NO_VALUE, Breakdown
from tellapart.options import Help
from tellapart.reports.summary import plural
from tellapart.stats.differences import holm, sign_flip_p
from tellapart.stats.intervals import effective_size, mean_interval
from tellapart.stats.shrinkage import Shrunk, shrunk_shares
from tellapart.text.table_text import percent
from tellapart.types import Floats, Ints, Progress, silent

PERMUTATIONS = 10_000
MOST_PAIRS = 5
"""At most this many pairs of models are named in sentences; the table has all."""
FORMS = dict.fromkeys(("value", "shrunk", "difference", "first_value", "second_value"), "percent")


@dataclass(frozen=True, slots=True, kw_only=True)
class ByOptions(UnitOptions):
    """Which fact to group by, and how many groups to show."""

    by: Annotated[
        str, Help("The fact to group by: kind, pair, supercategory, family, options, ...")
    ] = "kind"
    most: Annotated[int, Help("How many of the easiest and of the hardest groups to show.")] = 5


def analyse_by(
    runs: Sources,
    options: ByOptions = ByOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Analysis:
    """Accuracy by any fact: the easiest and hardest groups, and where two models differ.

    Groups are ordered by their accuracy shrunk towards the mean, so that a group of one item
    cannot come first; the accuracy itself is shown beside it. With several runs, the groups that
    are easy for one and hard for another are listed, too.
    """
    if options.most < 1:
        raise BadInput(f"--most {options.most}", allowed="1 or more")
    units = unit_table(runs, options)
    groups = Breakdown.of(options.by, units.fact(options.by))
    if len(set(groups.names) - {NO_VALUE}) < 2:
        raise BadInput(
            f"all items have the same {options.by}: {groups.names[0]}",
            allowed="a fact with two values or more",
            todo="name another fact with --by",
        )
    found = [_Grouped.of(units, run, groups, options) for run in range(len(units.models))]
    tables = [_groups_table(units, found, options), _ends_table(units, found, options)]
    parted = list(combinations(found, 2))
    sentences = [one.sentence(units, options) for one in found]
    if parted:
        frame = pl.concat([_differences(units, groups, *pair, options) for pair in parted])
        tables.append(ResultTable("differences", "Where two models differ", frame, FORMS))
        sentences += _difference_sentences(frame, options.by)
    methods = (
        "interval: over groups of items that share images; shrunk: empirical Bayes, beta-binomial, "
        "counting items that share images as one where their answers are all alike",
    )
    title = f"{units.benchmark.name}: {units.measure.name} by {options.by}"
    figure = _figure(title, units, found, options)
    return Analysis("by", title, tuple(sentences), tuple(tables), figure, methods)


@dataclass(frozen=True, slots=True)
class _Grouped:
    """One run's values by group; `order` has the easiest group first."""

    model: str
    names: tuple[str, ...]
    n: Ints
    value: Floats
    low: Floats
    high: Floats
    shrunk: Shrunk
    order: Ints

    @classmethod
    def of(cls, units: UnitTable, run: int, by: Breakdown, options: ByOptions) -> _Grouped:
        values, clusters, rows = units.of(run)
        code = by.code[rows]
        known = [k for k in np.unique(code) if by.names[k] != NO_VALUE]
        parts = [(values[code == k], clusters[code == k]) for k in known]
        names = tuple(by.names[k] for k in known)
        intervals = [
            mean_interval(own, where, seeds.rng(options.seed, "by", name), options.resamples)
            for name, (own, where) in zip(names, parts, strict=True)
        ]
        value = np.array([own.mean() for own, _ in parts])
        sizes = np.array([effective_size(np.unique(w, return_counts=True)[1]) for _, w in parts])
        shrunk = shrunk_shares(value * sizes, sizes)
        return cls(
            units.models[run], names,
            np.array([len(own) for own, _ in parts]),
            value, np.array([i.low for i in intervals]), np.array([i.high for i in intervals]),
            shrunk, np.lexsort((names, -shrunk.value)),
        )  # fmt: skip

    def rows(self, places: Sequence[int] | Ints) -> pl.DataFrame:
        """The groups at these positions as a table."""
        s = self.shrunk
        columns = {
            "group": [self.names[k] for k in places], "n": self.n[places].tolist(),
            "value": self.value[places], "low": self.low[places], "high": self.high[places],
            "shrunk": s.value[places], "shrunk_low": s.low[places], "shrunk_high": s.high[places],
        }  # fmt: skip
        return pl.DataFrame(columns).select(pl.lit(self.model).alias("model"), pl.all())

    def told(self, k: int) -> str:
        ends = f"{percent(self.low[k])} to {percent(self.high[k])}"
        return f"{self.names[k]} {percent(self.value[k])}% ({ends}, n = {self.n[k]:,})"

    def sentence(self, units: UnitTable, options: ByOptions) -> str:
        measure, easiest, hardest = units.measure.name, int(self.order[0]), int(self.order[-1])
        if self.value.min() == self.value.max():
            return (
                f"{self.model}: {measure} is {percent(self.value[0])}% for every {options.by} "
                f"(n = {self.n.sum():,})."
            )
        # Not "highest": a small group may have a more extreme share than the shrunk ones say.
        first = (
            f"{self.model}: {measure} by {options.by}, shrunk towards the mean, puts "
            f"{self.told(easiest)} first and {self.told(hardest)} last"
        )
        points = f"{100 * self.shrunk.spread:.1f} points"
        if self.shrunk.p < 0.05:
            return (
                f"{first}; the {len(self.names):,} groups by {options.by} differ more than chance "
                f"explains (standard deviation of their true shares {points}, "
                f"{told_p(self.shrunk.p)})."
            )
        return (
            f"{first}; no difference among the {len(self.names):,} groups by {options.by} is "
            f"shown ({told_p(self.shrunk.p)})."
        )


def _groups_table(units: UnitTable, found: list[_Grouped], options: ByOptions) -> ResultTable:
    frame = pl.concat([one.rows(one.order) for one in found])
    title = f"{units.measure.name} by {options.by}, easiest group first"
    return ResultTable("groups", title, frame, FORMS)


def _ends_table(units: UnitTable, found: list[_Grouped], options: ByOptions) -> ResultTable:
    parts = []
    most = 1
    for one in found:
        most = min(options.most, len(one.order) // 2 or 1)
        for end, places in (("easiest", one.order[:most]), ("hardest", one.order[::-1][:most])):
            parts.append(
                one.rows(places).select(
                    "model", pl.lit(end).alias("end"), pl.all().exclude("model")
                )
            )
    title = f"The {most:,} easiest and {most:,} hardest groups by {options.by}"
    if most == 1:
        title = f"The easiest and the hardest group by {options.by}"
    return ResultTable("easiest-hardest", title, pl.concat(parts), FORMS)


def _differences(
    units: UnitTable, by: Breakdown, first: _Grouped, second: _Grouped, options: ByOptions
) -> pl.DataFrame:
    """Groups by the first model's lead over the second; tests are Holm-corrected over groups."""
    one, other = units.models.index(first.model), units.models.index(second.model)
    both = units.covered[:, one] & units.covered[:, other]
    gaps = (units.value[:, one] - units.value[:, other])[both]
    clusters, code = units.cluster[both], by.code[both]
    rows: list[dict[str, Any]] = []
    p = []
    for k in np.unique(code):
        here = code == k
        if by.names[k] == NO_VALUE:
            continue
        sums = np.bincount(np.unique(clusters[here], return_inverse=True)[1], gaps[here]).astype(
            float
        )
        p.append(
            float(
                sign_flip_p(
                    sums[:, None], seeds.rng(options.seed, "by", by.names[k]), PERMUTATIONS
                )[0]
            )
        )
        rows.append({
            "first": first.model, "second": second.model, "group": by.names[k],
            "n": int(here.sum()),
            "first_value": float(units.value[both, one][here].mean()),
            "second_value": float(units.value[both, other][here].mean()),
            "difference": float(gaps[here].mean()),
        })  # fmt: skip
    table = pl.DataFrame(rows).with_columns(pl.Series("p_holm", holm(np.array(p))))
    return table.sort("p_holm", -pl.col("difference").abs(), "group")


def _difference_sentences(frame: pl.DataFrame, by: str) -> Iterator[str]:
    """The pairs of models that differ on most groups; the others are counted."""
    alike = []
    apart = []
    for (first, second), rows in frame.group_by("first", "second", maintain_order=True):
        real = rows.filter(pl.col("p_holm") < 0.05)
        if not real.height:
            alike.append(f"{first} and {second}")
            continue
        told = [
            f"{row['group']} ({percent(row['first_value'])} against "
            f"{percent(row['second_value'])}, {told_p(row['p_holm'])})"
            for row in real.head(3).iter_rows(named=True)
        ]
        apart.append((
            -real.height,
            f"{first} and {second} differ on {real.height:,} of {rows.height:,} groups by {by}"
            f"{', most clearly on' if real.height > 1 else ':'} {', '.join(told)}.",
        ))  # fmt: skip
    yield from (text for _, text in sorted(apart, key=lambda one: one[0])[:MOST_PAIRS])
    if len(apart) > MOST_PAIRS:
        more = plural(len(apart) - MOST_PAIRS, "other pair")
        yield f"On some group by {by}, a difference is also shown for {more} of models."
    if alike:
        named = "; ".join(alike) if len(alike) <= MOST_PAIRS else f"{len(alike):,} pairs of models"
        yield f"No difference is shown on any group by {by}: {named}."


def _figure(title: str, units: UnitTable, found: list[_Grouped], options: ByOptions) -> Figure:
    """The easiest and hardest groups of the first run, with the others beside it."""
    first = found[0]
    # Two more groups take no more room than the gap that would replace them.
    most = options.most if len(first.order) > 2 * options.most + 2 else len(first.order)
    places = [*first.order[:most], *first.order[-options.most :]]
    wanted = list(dict.fromkeys(first.names[int(k)] for k in places))
    rows: list[dict[str, Any]] = []
    for one in found[:6]:
        at = {name: k for k, name in enumerate(one.names)}
        own = [at[name] for name in wanted if name in at]
        series = one.model if len(found) > 1 else ""
        names = [one.names[k] for k in own]
        if len(found) == 1:
            names = [f"{name} ({one.n[k]:,})" for name, k in zip(names, own, strict=True)]
        value, low, high = (100 * column[own] for column in (one.value, one.low, one.high))
        rows += dot_rows(names, value, low, high, series)
    told = "; ".join(first.told(int(k)) for k in dict.fromkeys(places))
    ends = f"{units.measure.name}, % (bar: 95% interval)"
    panel = Panel("dots", tuple(rows), ends, domain=(0, 100))
    return Figure(title, f"{title}. {first.model}: {told}.", (panel,))


ANALYSIS = AnalysisKind(analyse_by, "tellapart analyse by runs --by pair --measure T1-foil")

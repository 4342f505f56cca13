"""`analyse regression`: which facts predict a right answer, all else equal (FOIL, section 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from tellapart.analyses.analysis import Analysis, AnalysisKind, ResultTable, plain
from tellapart.analyses.figure import Figure, Panel, dot_rows
from tellapart.analyses.units import Sources, UnitOptions, UnitTable, unit_table
from tellapart.analyses.word_facts import SIMILARITY, WORD_FACTS, with_word_facts
from tellapart.errors import BadInput, UnknownName
from tellapart.options import Help
from tellapart.reports.summary import listed
from tellapart.stats.differences import holm
from tellapart.stats.mixed_logit import MixedLogit, fit_mixed_logit
from tellapart.types import Floats, Ints, Progress, silent

FOIL_FACTS = (*WORD_FACTS, "caption_length")
FOIL_RANDOM = ("supercategory", "pair")
GROUP = "group"
MOST_LEVELS = 12
"""A categorical fact with more values than this must be a random effect."""
SHARING = 1.2
"""With more units per group of items that share images, groups become a random effect, too."""
FEWEST = 20
"""Fewer answers than this, or fewer than ten for each coefficient, are too few for a fit."""
FORMS = {
    "odds_ratio": ".2f",
    "low": ".2f",
    "p": ".2g",
    "p_holm": ".2g",
    "sd": ".2f",
    "median_odds_ratio": ".2f",
    "per": ".3g",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionOptions(UnitOptions):
    """The facts and random effects that may explain an answer."""

    facts: Annotated[
        tuple[str, ...],
        Help("Facts of items, separated by commas (for foils: similarity with --vectors, "
             "target_frequency, foil_frequency, caption_length; else caption_length)."),
    ] = ()  # fmt: skip
    random: Annotated[
        tuple[str, ...],
        Help("Random effects (for foils: supercategory,pair; else kind)."),
    ] = ()
    vectors: Annotated[Path | None, Help("Word vectors (fastText, word2vec, GloVe).")] = None
    frequencies_from: Annotated[
        Path | None, Help("A corpus to count words in (default: the benchmark's captions).")
    ] = None


def analyse_regression(
    runs: Sources,
    options: RegressionOptions = RegressionOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Analysis:
    """Which facts predict a right answer: a logistic regression with random effects.

    FOIL's own regression is the default for foils: only foil captions count, explained by the
    similarity and frequencies of target and foil and by the caption's length, with random effects
    of supercategory and pair. Odds ratios are per standard deviation of a fact.
    """
    units = unit_table(runs, options, ("T1-foil",))
    facts, random = _facts_and_effects(units, options)
    table = with_word_facts(
        units.facts, facts, _captions(units), options.vectors, options.frequencies_from
    )
    if not options.facts:
        facts = tuple(name for name in facts if table[name].drop_nulls().n_unique() > 1) or facts
    _check_facts(table, (*facts, *random))
    fits = []
    errors: dict[str, BadInput] = {}
    for run, model in enumerate(units.models):
        progress("regression", run, len(units.models))
        try:
            fits.append(_fitted(units, run, table, facts, random, model))
        except BadInput as error:  # this run cannot be fitted, but others may
            errors[model] = error
    if not fits:
        raise next(iter(errors.values()))
    effects = pl.concat([one.effects() for one in fits])
    spreads = pl.concat([one.spreads() for one in fits])
    title = f"{units.benchmark.name}: what predicts {units.measure.name}"
    tables = [ResultTable("effects", "Odds ratios per standard deviation", effects, FORMS)]
    if spreads.height:
        head = "Random effects: standard deviations on the logit scale"
        tables.append(ResultTable("random-effects", head, spreads, FORMS))
    sentences = [sentence for one in fits for sentence in one.sentences()]
    sentences += [f"{model}: {error.what}." for model, error in errors.items()]
    methods = (
        "mixed-effects logistic regression, Laplace's approximation (as glmer of lme4); intervals: "
        "Student's t, with levels as degrees of freedom for facts that are constant within them; "
        "for random effects: profile likelihood; an effect counts as shown if p is below 5% with "
        "Holm's correction over the facts",
        *dict.fromkeys(note for one in fits for note in one.notes),
    )
    return Analysis(
        "regression", title, tuple(sentences), tuple(tables), _figure(title, effects), methods
    )


def _facts_and_effects(
    units: UnitTable, options: RegressionOptions
) -> tuple[tuple[str, ...], list[str]]:
    """The facts and random effects; FOIL's by default if items have a target and a foil."""
    foils = bool(units.facts["pair"].drop_nulls().len())
    facts = options.facts
    if not facts:
        usual = FOIL_FACTS if foils else ("caption_length",)
        facts = tuple(f for f in usual if f != SIMILARITY or options.vectors is not None)
    random = list(options.random)
    if not random:
        usual = FOIL_RANDOM if foils else ("kind",)
        random = [name for name in usual if units.facts[name].drop_nulls().n_unique() > 1]
        if len(units.item) > SHARING * len(np.unique(units.cluster)):
            random.append(GROUP)
    return facts, random


def _captions(units: UnitTable) -> Iterator[str]:
    """The benchmark's captions, true and foil, each once."""
    captions = units.benchmark.items.frame["captions"].explode()
    yield from captions.drop_nulls().unique(maintain_order=True)


def _check_facts(table: pl.DataFrame, names: Sequence[str]) -> None:
    for name in names:
        if name not in table.columns:
            raise UnknownName(
                "fact", name, [c for c in (*table.columns, *WORD_FACTS) if c != "item"]
            )
        if table[name].drop_nulls().n_unique() < 2:
            raise BadInput(
                f"{name} is the same for all items, so it cannot explain anything",
                todo="leave it out, or name other facts with --facts and --random",
            )


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A run's regression; `scales` are the standard deviations of the columns of facts."""

    model: str
    columns: tuple[str, ...]
    scales: tuple[float, ...]
    factors: tuple[str, ...]
    fit: MixedLogit
    notes: tuple[str, ...]

    def effects(self) -> pl.DataFrame:
        """One row per fact."""
        rows = [
            {
                "model": self.model, "fact": name, "per": scale,
                "odds_ratio": float(np.exp(t.value)), "low": float(np.exp(t.low)),
                "high": float(np.exp(t.high)), "p": t.p,
            }
            for name, scale, t in zip(self.columns, self.scales, self.fit.terms[1:], strict=True)
        ]  # fmt: skip
        p = np.array([row["p"] for row in rows])
        return pl.DataFrame(rows).with_columns(
            pl.Series("p_holm", holm(p)), pl.lit(self.fit.rows).alias("n")
        )

    def spreads(self) -> pl.DataFrame:
        """One row per random effect; the median odds ratio is from Larsen & Merlo 2005."""
        rows = [
            {
                "model": self.model, "effect": name, "levels": one.levels, "sd": one.value,
                "low": one.low, "high": one.high,
                "median_odds_ratio": float(np.exp(np.sqrt(2) * 0.67449 * one.value)),
            }
            for name, one in zip(self.factors, self.fit.spreads, strict=True)
        ]  # fmt: skip
        numbers = dict.fromkeys(("sd", "low", "high", "median_odds_ratio"), pl.Float64)
        schema = {"model": pl.String, "effect": pl.String, "levels": pl.Int64, **numbers}
        return pl.DataFrame(rows, schema=schema)

    def sentences(self) -> Iterator[str]:
        """The facts with an effect, the others, and how much levels differ."""
        name = f"{self.model} (n = {self.fit.rows:,})"
        lacking = []
        for row in self.effects().iter_rows(named=True):
            within = f"{row['low']:.2f} to {row['high']:.2f}"
            if row["p_holm"] >= 0.05:
                lacking.append(
                    f"{plain(row['fact'])} (odds ratio {row['odds_ratio']:.2f}, {within})"
                )
                continue
            ends = f"{row['odds_ratio']:.2f} ({within})"
            way = "harder" if row["odds_ratio"] < 1 else "easier"
            if ": " in row["fact"]:
                value, _, base = row["fact"].partition(" (against ")
                yield (
                    f"{name}: {plain(value)} is {way} than {base.removesuffix(')')}; the odds of "
                    f"a right answer are multiplied by {ends}."
                )
                continue
            yield (
                f"{name}: the higher the {plain(row['fact'])}, the {way}; one standard deviation "
                f"({row['per']:.3g}) multiplies the odds of a right answer by {ends}."
            )
        if lacking:
            yield f"{name}: no effect is shown of {listed(lacking, 'or')}."
        parts = []
        for factor, one in zip(self.factors, self.fit.spreads, strict=True):
            ends = f"{one.value:.2f}, {one.low:.2f} to {one.high:.2f}"
            what = "differ" if one.low > 0 else "are not shown to differ"
            parts.append(
                f"the {one.levels:,} levels of {plain(factor)} {what} (standard deviation {ends})"
            )
        if parts:
            yield f"{name}: beyond these facts, {listed(parts)} on the logit scale."


def _fitted(
    units: UnitTable, run: int, table: pl.DataFrame, facts: Sequence[str], random: Sequence[str],
    model: str,
) -> _Fitted:  # fmt: skip
    values, _, rows = units.of(run)
    own = table[rows]
    whole = (
        own.select(pl.all_horizontal(pl.col(*facts, *random).is_not_null())).to_series().to_numpy()
    )
    own, values = own.filter(pl.Series(whole)), values[whole]
    columns, scales, matrix = _design(own, facts)
    if len(values) < max(FEWEST, 10 * (len(columns) + 1)):
        raise BadInput(
            f"too few answers: {len(values):,} of {model} have "
            + (f"all {len(columns)} facts" if len(columns) > 1 else f"the fact {columns[0]}"),
            allowed=f"at least {max(FEWEST, 10 * (len(columns) + 1))}",
            todo="name fewer facts, or give more items",
        )
    codes: list[Ints] = [
        np.unique(own[name].cast(pl.String).to_numpy(), return_inverse=True)[1] for name in random
    ]
    fit = fit_mixed_logit(values, matrix, codes)
    left = int((~whole).sum())
    notes = (f"{model}: {left:,} answers lack a fact and are left out",) if left else ()
    return _Fitted(model, columns, scales, tuple(random), fit, notes)


def _design(
    table: pl.DataFrame, facts: Sequence[str]
) -> tuple[tuple[str, ...], tuple[float, ...], Floats]:
    """Standardized columns; a categorical fact has one for each value but the commonest."""
    names: list[str] = []
    scales: list[float] = []
    columns: list[Floats] = [np.ones(table.height)]
    for fact in facts:
        column = table[fact]
        numbers = column.cast(pl.Float64, strict=False) if column.dtype == pl.String else column
        if numbers.dtype.is_numeric() and numbers.null_count() == 0:
            values = numbers.cast(pl.Float64).to_numpy()
            scale = float(values.std())
            if scale == 0:
                raise BadInput(f"{fact} is the same for all answers, so it cannot explain anything")
            names.append(fact)
            scales.append(scale)
            columns.append((values - values.mean()) / scale)
            continue
        levels: list[Any] = column.value_counts(sort=True)[fact].to_list()
        if len(levels) > MOST_LEVELS:
            raise BadInput(
                f"{fact} is categorical with {len(levels):,} values",
                allowed=f"at most {MOST_LEVELS}",
                todo=f"take it as a random effect: --random {fact}",
            )
        for level in levels[1:]:
            names.append(f"{fact}: {level} (against {levels[0]})")
            scales.append(1.0)
            columns.append((column == level).to_numpy().astype(float))
    return tuple(names), tuple(scales), np.stack(columns, axis=1)


def _figure(title: str, effects: pl.DataFrame) -> Figure:
    models = effects["model"].unique(maintain_order=True).to_list()
    rows: list[dict[str, Any]] = []
    words = []
    for model in models[:6]:
        own = effects.filter(pl.col("model") == model)
        value, low, high = (own[name].to_list() for name in ("odds_ratio", "low", "high"))
        series = model if len(models) > 1 else ""
        rows += dot_rows(own["fact"].to_list(), value, low, high, series)
        told = (
            f"{r['fact']} {r['odds_ratio']:.2f} ({r['low']:.2f} to {r['high']:.2f})"
            for r in own.iter_rows(named=True)
        )
        words.append(f"{model}: {', '.join(told)}")
    axis = "odds ratio per standard deviation (bar: 95% interval)"
    panel = Panel("dots", tuple(rows), axis, reference=1.0, log=True)
    return Figure(title, f"{title}, odds ratios: {'; '.join(words)}.", (panel,))


ANALYSIS = AnalysisKind(analyse_regression, "tellapart analyse regression runs --vectors wiki.vec")

"""Refinement: selecting negatives that two text-only scores cannot distinguish from the truth.

Miranda et al. 2024, BiVLC, section 5.2: the best of each kind by both scores (step 1), without
malformed ones (step 2), then adversarial refinement after Hsieh et al. 2023, SugarCrepe (step 3):
the gaps between original and negative by the two scores are binned on a grid, and the same number
is kept from each cell and its opposite cell, so that neither score shows which caption is the
negative.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.stats import rankdata

from tellapart import seeds
from tellapart.errors import BadInput, UnknownName
from tellapart.mine.negative_scores import SCORES, TEXTS, ScoredNegatives
from tellapart.text.table_text import aligned
from tellapart.types import Bools, Floats, Ints

SCALES = ("rank", "given")
COMBINATIONS = ("mean", "both")
WITHIN = ("kind", "all")
FAULTS = ("question", "no final mark", "same as its original", "nearly its original", "duplicate")
QUESTION, NO_MARK, SAME, NEAR, DUPLICATE = FAULTS
KEPT, NOT_BEST, REFINED_AWAY = "kept", "not among the best", "refined away"
OUTCOMES = (KEPT, NOT_BEST, *FAULTS, REFINED_AWAY)
"""The possible outcomes of a negative, in the order of the steps."""
MARKS = r"[.!?][\"'”’)]*$"
TICKS = 1 << 32
"""A probability of 1 is this many integer units, which add up without rounding errors."""
SHORTER = "fewer characters"
ALL = "all"
FEW = 0.1
"""A kind that keeps less than this share of the chosen gets a remark."""


@dataclass(frozen=True, slots=True)
class RefineRecipe:
    """How to refine: the share of each kind to choose, and the grid of gaps.

    `scale` says how scores are scaled to between 0 and 1 (see `scaled`); groups (images) are held
    out in this many `folds`, and with one fold nothing is held out (see `balanced`). `combine`
    defines the best: by the `mean` of both scores, or those among the best by `both` separately
    (the public code of BiVLC). `within` says whether gaps are balanced for each `kind` or over
    `all` of them. Negatives at least as similar to their original as `similar` are dropped (0:
    none); similarity is the cosine of sentence vectors.
    """

    keep: float = 0.35
    bins: int = 50
    scale: str = "rank"
    folds: int = 10
    seed: int = 0
    combine: str = "mean"
    within: str = "kind"
    similar: float = 0.0

    def check(self) -> None:
        """Raise if a number makes no sense."""
        if not 0 < self.keep <= 1:
            raise BadInput(f"a share of {self.keep:g} cannot be kept", allowed="above 0, at most 1")
        if self.bins < 2 or self.bins % 2:
            raise BadInput(f"{self.bins} bins are not symmetric around 0", allowed="2, 4, 6, ...")
        if self.scale not in SCALES:
            raise UnknownName("scale", self.scale, SCALES)
        if self.combine not in COMBINATIONS:
            raise UnknownName("combination", self.combine, COMBINATIONS)
        if self.within not in WITHIN:
            raise UnknownName("extent of bins", self.within, WITHIN)
        if not 0 <= self.similar <= 1:
            raise BadInput(f"similar: {self.similar:g}", allowed="0 to 1: a cosine")
        if self.folds < 1:
            raise BadInput(f"folds: {self.folds}", allowed="1 or more")


@dataclass(frozen=True, eq=False)
class RefinedNegatives:
    """The outcome of each row of `scores`, as an index into `OUTCOMES`, and its fold."""

    scores: ScoredNegatives
    recipe: RefineRecipe
    outcome: npt.NDArray[np.int8]
    fold: Ints

    @property
    def kept(self) -> Bools:
        """The rows kept at the end."""
        return np.asarray(self.outcome == OUTCOMES.index(KEPT))

    @property
    def chosen(self) -> Bools:
        """The rows that reached the last step."""
        return np.isin(self.outcome, [OUTCOMES.index(KEPT), OUTCOMES.index(REFINED_AWAY)])

    def table(self) -> pl.DataFrame:
        """All rows with their outcomes, ordered by id."""
        names = np.array(OUTCOMES, object)
        return self.scores.table.with_columns(
            pl.Series("outcome", names[self.outcome], pl.String),
            pl.Series("fold", self.fold),
        )


def refined(scores: ScoredNegatives, recipe: RefineRecipe) -> RefinedNegatives:
    """Choose the best of each kind, drop malformed ones, and balance opposite gaps."""
    recipe.check()
    outcome = np.zeros(len(scores), np.int8)
    between = scaled(scores, recipe.scale)
    fold = folds_of(scores.group, recipe.folds, recipe.seed)
    chosen = best(between, scores.kind, len(scores.kinds), recipe.keep, recipe.combine)
    outcome[~chosen] = OUTCOMES.index(NOT_BEST)
    rows = np.flatnonzero(outcome == OUTCOMES.index(KEPT))
    if scores.has_texts:
        wrong = faults(*(scores.table[name][rows] for name in TEXTS))
        outcome[rows] = [OUTCOMES.index(fault or KEPT) for fault in wrong]
        rows = rows[outcome[rows] == OUTCOMES.index(KEPT)]
        if recipe.similar:
            texts = [scores.table[name][rows].to_list() for name in TEXTS]
            outcome[rows[likeness(*texts) >= recipe.similar]] = OUTCOMES.index(NEAR)
            rows = rows[outcome[rows] == OUTCOMES.index(KEPT)]
    gaps = between[:, rows, 0] - between[:, rows, 1]
    by_kind = recipe.within == "kind"
    kind = scores.kind[rows] if by_kind else np.zeros(len(rows), np.int64)
    grid = cells(gaps, kind, len(scores.kinds) if by_kind else 1, recipe.bins)
    kept = balanced(grid, fold[rows], recipe.seed)
    outcome[rows[~kept]] = OUTCOMES.index(REFINED_AWAY)
    return RefinedNegatives(scores, recipe, outcome, fold)


def scaled(scores: ScoredNegatives, scale: str) -> Floats:
    """The scores scaled to between 0 and 1, in the same shape.

    `rank` uses a caption's rank among all captions of its kind, originals and negatives alike
    (equal scores share their mean rank): the unit of a score does not matter, and a classifier that
    says 0.999 to nearly everything still fills all bins. `given` leaves probabilities unchanged.
    """
    if scale == "given":
        for name, values in zip(SCORES, scores.scores, strict=True):
            low, high = float(values.min()), float(values.max())
            if low < 0 or high > 1:
                raise BadInput(
                    f"scores of {name} are between {low:g} and {high:g}",
                    allowed="numbers between 0 and 1 for --scale given",
                    todo="scale by rank instead: --scale rank (scale='rank')",
                )
        return scores.scores
    placed = np.empty_like(scores.scores)
    for rows in rows_by_kind(scores.kind, len(scores.kinds)):
        for own, values in zip(placed, scores.scores, strict=True):
            ranks = rankdata(values[rows].ravel())
            own[rows] = ((ranks - 0.5) / len(ranks)).reshape(-1, 2)
    return placed


def rows_by_kind(kind: Ints, kinds: int) -> list[Ints]:
    """The rows of each kind, in order."""
    order = np.argsort(kind, kind="stable")
    return np.split(order, np.cumsum(np.bincount(kind, minlength=kinds))[:-1])


def likeness(captions: Sequence[str], negatives: Sequence[str]) -> Floats:
    """The cosine of each caption with its negative, by the installed sentence encoder."""
    from tellapart.models.sentence_vectors import PackagedSentences
    from tellapart.score.encoder import embed_texts

    model = PackagedSentences.installed()
    if model is None:
        raise BadInput(
            "--similar needs a sentence encoder, and none is installed",
            todo="install one that the docs name (fairness.md), or leave --similar out",
        )
    sides = [np.asarray(embed_texts(model, texts), float) for texts in (captions, negatives)]
    lengths = [np.linalg.norm(side, axis=1) for side in sides]
    inner = np.einsum("ij,ij->i", *sides)
    cosines: Floats = inner / np.maximum(lengths[0] * lengths[1], 1e-12)
    return cosines


def best(scaled: Floats, kind: Ints, kinds: int, keep: float, combine: str = "mean") -> Bools:
    """The share `keep` of each kind whose negatives have the highest scores.

    By `mean`: of the negative's two scaled scores, with ties broken by id. By `both`: those that
    reach the `1 - keep` quantile of their kind by each score, which are fewer.
    """
    combined = scaled[:, :, 1].mean(axis=0)
    chosen = np.zeros(len(kind), np.bool_)
    for rows in rows_by_kind(kind, kinds):
        if combine == "both":
            own = scaled[:, rows, 1]
            if len(rows):
                reached = own >= np.quantile(own, 1 - keep, axis=1, keepdims=True)
                chosen[rows] = reached.all(axis=0)
            continue
        number = math.ceil(round(keep * len(rows), 9))
        chosen[rows[np.argsort(-combined[rows], kind="stable")[:number]]] = True
    return chosen


def faults(captions: pl.Series, negatives: pl.Series) -> Sequence[str | None]:
    """What is wrong with each negative, None if nothing is; the first of equal ones is good.

    A final mark is required if the original has one. Negatives are equal if they differ only in
    capitals, white space and final marks.
    """
    original, negative = pl.col("original").str.strip_chars(), pl.col("negative").str.strip_chars()
    bare, bare_original = _bare(pl.col("negative")), _bare(pl.col("original"))
    own = (
        pl.when(negative.str.ends_with("?"))
        .then(pl.lit(QUESTION))
        .when(original.str.contains(MARKS) & ~negative.str.contains(MARKS))
        .then(pl.lit(NO_MARK))
        .when(bare == bare_original)
        .then(pl.lit(SAME))
    )
    table = pl.DataFrame({"original": captions, "negative": negatives})
    table = table.select(own.alias("fault"), bare.alias("bare"))
    first = pl.col("bare").is_first_distinct().over(pl.col("fault").is_null())
    repeated = pl.when(pl.col("fault").is_null() & ~first).then(pl.lit(DUPLICATE))
    return table.select(pl.coalesce("fault", repeated)).to_series().to_list()


def _bare(text: pl.Expr) -> pl.Expr:
    small = text.str.to_lowercase().str.replace_all(r"\s+", " ")
    return small.str.strip_chars(" .!?\"'“”‘’")


@dataclass(frozen=True, slots=True)
class GapCells:
    """The cell of each row and the opposite cell; `count` is the number of possible cells.

    `side` groups rows of one kind whose gaps have the same signs.
    """

    cell: Ints
    opposite: Ints
    side: Ints
    count: int


def cells(gaps: Floats, kind: Ints, kinds: int, bins: int) -> GapCells:
    """The cells of gaps, shape (2, n), by kind: a grid of `bins` times `bins` from -1 to 1.

    A bin is closed on the side away from 0 and open on the other, and a gap of exactly 0 has its
    own bin, so that the opposite of a gap is always in the opposite cell. Gaps outside the range go
    into the outermost bins.
    """
    half, width = bins // 2, bins + 1
    steps = np.minimum(np.ceil(np.abs(gaps) * half), half).astype(np.int64)
    across, down = half + np.where(gaps < 0, -steps, steps)
    size, own = width**2, across * width + down
    signs = np.sign(gaps).astype(np.int64) + 1
    side = kind * 9 + signs[0] * 3 + signs[1]
    return GapCells(kind * size + own, kind * size + size - 1 - own, side, kinds * size)


def folds_of(group: Ints, folds: int, seed: int) -> Ints:
    """The fold of each row: groups stay whole, and folds have equally many, as far as possible."""
    groups = int(group.max(initial=-1)) + 1
    drawn = seeds.rng(seed, "refine", "folds").permutation(groups)
    return np.asarray((drawn % max(1, min(folds, groups)))[group])


def balanced(grid: GapCells, fold: Ints, seed: int) -> Bools:
    """Which rows to keep: equally many from two opposite cells.

    With one fold, cells are made exactly equal. With several, the rows of a fold are held out:
    their outcome follows from the counts of the other folds. A row with n others in its cell and m
    in the opposite one is kept with probability min(n + 1, m) / (n + 1), the rate for such rows if
    it were among them. Then opposite cells are equal in expectation, however few rows they have: if
    the other folds have N rows of one cell and M of the other, each row there by chance, the n of a
    held-out row is distributed as N - 1 weighted by N, so that the expected number kept in a cell
    is proportional to E[N min(N, M) / N] = E[min(N, M)], the same on both sides.
    """
    draws = seeds.rng(seed, "refine", "draws").random(len(fold))
    folds = int(fold.max(initial=0)) + 1
    counts = np.bincount(fold * grid.count + grid.cell, minlength=folds * grid.count)
    counts = counts.reshape(folds, grid.count)
    total = counts.sum(axis=0)
    if folds == 1:
        return np.asarray(_place_in_cell(grid.cell, draws) < total[grid.opposite])
    here = (total - counts)[fold, grid.cell]
    there = (total - counts)[fold, grid.opposite]
    chance = np.where(grid.cell == grid.opposite, 1.0, np.minimum(here + 1, there) / (here + 1))
    return _systematic_sample(chance, np.lexsort((draws, grid.side)), seed)


def _place_in_cell(cell: Ints, draws: Floats) -> Ints:
    """How many rows of a row's cell come before it, ordered by their draws."""
    order = np.lexsort((draws, cell))
    ordered = cell[order]
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(cell) else order
    sizes = np.diff(np.r_[begins, len(cell)])
    places = np.empty(len(cell), np.int64)
    places[order] = np.arange(len(cell)) - np.repeat(begins, sizes)
    return places


def _systematic_sample(chance: Floats, order: Ints, seed: int) -> Bools:
    """A systematic sample: each row with its own probability, neighbours rarely together.

    Rows are laid end to end in `order`, each as long as its probability, and a row is kept if a
    ruler with step 1 has a mark on it (Madow 1949). So any run of rows keeps the sum of its
    probabilities to within one, which adds little random variation.
    """
    lengths = np.round(chance[order] * TICKS).astype(np.int64)
    ends = np.cumsum(lengths) + int(seeds.rng(seed, "refine", "start").integers(TICKS))
    kept = np.empty(len(chance), np.bool_)
    kept[order] = ends // TICKS > (ends - lengths) // TICKS
    return kept


@dataclass(frozen=True, slots=True)
class RefinementLine:
    """One kind after one step: its number of items, and how often a guess is right.

    `guesses` are the shares of items whose original has the higher score (or fewer characters),
    with ties counted as one half; 0.5 gives nothing away.
    """

    kind: str
    step: str
    items: int
    guesses: Mapping[str, float]

    @property
    def by_chance(self) -> float:
        """How far from one half random guesses get in 95 of 100 cases, with this many items."""
        return 0.98 / math.sqrt(self.items) if self.items else 0.5

    def cells(self, cues: Sequence[str]) -> tuple[str, ...]:
        """The line as a row of the report's table."""
        shares = (self.guesses.get(cue) for cue in cues)
        guesses = ("-" if share is None else f"{100 * share:.1f}" for share in shares)
        kind = self.kind if self.step == "given" else ""
        return kind, self.step, f"{self.items:,}", *guesses, f"±{100 * self.by_chance:.1f}"


@dataclass(frozen=True, slots=True)
class Refinement:
    """The report of a refinement."""

    of: str
    recipe: RefineRecipe
    scores: Mapping[str, str]
    lines: tuple[RefinementLine, ...]
    left_out: Mapping[str, int]

    def line(self, kind: str, step: str) -> RefinementLine:
        """The line of a kind (or "all") after a step: "given", "chosen" or "refined"."""
        return next(line for line in self.lines if (line.kind, line.step) == (kind, step))

    def remarks(self) -> list[str]:
        """What a reader should know besides the figures."""
        few = [
            line.kind
            for line in self.lines
            if line.step == "refined"
            and line.kind != ALL
            and line.items < FEW * self.line(line.kind, "chosen").items
        ]
        remark = (
            f"little is left of {', '.join(few)}: few cells of gaps have an opposite; to keep "
            f"more, use fewer bins than {self.recipe.bins} (--bins) or more negatives"
        )
        return [remark] if few else []

    def to_json(self) -> dict[str, Any]:
        """For `--json` and the card."""
        return {
            "of": self.of,
            **asdict(self.recipe),
            "scores": dict(self.scores),
            "left_out": dict(self.left_out),
            "lines": [asdict(line) for line in self.lines],
            "remarks": self.remarks(),
        }

    def __str__(self) -> str:
        cues = list(self.lines[0].guesses) or list(SCORES)
        heads = ("kind", "step", "items", *cues, "chance")
        rows = [heads, *(line.cells(cues) for line in self.lines)]
        gone = ", ".join(f"{count:,} {why}" for why, count in self.left_out.items() if count)
        return "\n".join(
            [
                aligned(rows, {0, 1}),
                "",
                f"left out: {gone or 'nothing'}",
                "A guess takes the caption with the higher score, or the shorter one; ties halved.",
                "50.0 gives nothing away; 95 of 100 random guessers stay within the chance shown.",
                "Each negative was held out from the counts that decided on it."
                if self.recipe.folds > 1
                else "Negatives decided on themselves: their scores are at 50.0 by construction.",
                *self.remarks(),
            ]
        )


def report(done: RefinedNegatives, of: str, scores: Mapping[str, str]) -> Refinement:
    """Count and measure a refinement; `scores` names the sources of the two scores."""
    counts = np.bincount(done.outcome, minlength=len(OUTCOMES)).tolist()
    left_out = {why: n for why, n in zip(OUTCOMES, counts, strict=True) if why != KEPT and n}
    return Refinement(of, done.recipe, dict(scores), tuple(_lines(done)), left_out)


def _lines(done: RefinedNegatives) -> Iterator[RefinementLine]:
    own = done.scores
    gaps = dict(zip(SCORES, own.scores[:, :, 0] - own.scores[:, :, 1], strict=True))
    if own.has_texts:
        original, negative = (own.table[name].str.len_chars() for name in TEXTS)
        gaps[SHORTER] = (negative.cast(pl.Int64) - original).to_numpy()
    steps = {"given": np.ones(len(own), np.bool_), "chosen": done.chosen, "refined": done.kept}
    kinds = {kind: own.kind == code for code, kind in enumerate(own.kinds)}
    for kind, of_kind in (kinds | {ALL: steps["given"]} if len(kinds) > 1 else kinds).items():
        for step, there in steps.items():
            rows = there & of_kind
            signs = {name: np.sign(gap[rows]) for name, gap in gaps.items() if rows.any()}
            guesses = {name: float(((sign + 1) / 2).mean()) for name, sign in signs.items()}
            yield RefinementLine(kind, step, int(rows.sum()), guesses)

"""What refining did: how many are left of each kind, and what can still be guessed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from tellapart.mine.refining.scored import SCORES, TEXTS, Flags, Floats
from tellapart.mine.refining.steps import KEPT, OUTCOMES, Recipe, Refined
from tellapart.text.aligned import aligned

SHORTER = "fewer characters"
ALL = "all"
FEW = 0.1
"""A kind of which less than this share of the chosen is left gets a remark."""


@dataclass(frozen=True, slots=True)
class Line:
    """One kind after one step: how many there are, and how often a guess is right.

    `guesses` are shares of the items whose original has the higher score (or fewer characters),
    ties counted as one half; 0.5 says nothing of which caption is the negative.
    """

    kind: str
    step: str
    items: int
    guesses: Mapping[str, float]

    @property
    def by_chance(self) -> float:
        """How far from one half a coin comes in 95 of 100 cases, with so many items."""
        return 0.98 / math.sqrt(self.items) if self.items else 0.5


@dataclass(frozen=True, slots=True)
class Refinement:
    """The report of a refinement; prints itself."""

    of: str
    recipe: Recipe
    scores: Mapping[str, str]
    lines: tuple[Line, ...]
    left_out: Mapping[str, int]

    def line(self, kind: str, step: str) -> Line:
        """One kind (or "all") after one step: "given", "chosen" or "refined"."""
        return next(line for line in self.lines if (line.kind, line.step) == (kind, step))

    def remarks(self) -> list[str]:
        """What a reader should know beside the figures."""
        few = []
        for line in self.lines:
            chosen = self.line(line.kind, "chosen").items
            if line.step == "refined" and line.kind != ALL and line.items < FEW * chosen:
                few.append(line.kind)
        if not few:
            return []
        return [
            f"little is left of {', '.join(few)}: cells of gaps seldom have an opposite; fewer "
            f"bins than {self.recipe.bins} (--bins) or more negatives keep more"
        ]

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
        rows = [heads, *(_row(line, cues) for line in self.lines)]
        gone = ", ".join(f"{count:,} {why}" for why, count in self.left_out.items() if count)
        return "\n".join(
            [
                aligned(rows, {0, 1}),
                "",
                f"left out: {gone or 'nothing'}",
                "Guesses take the caption with the higher score, or the shorter one; ties halved.",
                "50.0 tells nothing; chance is how far from it a coin comes in 95 of 100 cases.",
                "What was refined was held out from the counts that decided on it."
                if self.recipe.folds > 1
                else "What was refined decided on itself: its scores are at 50.0 by construction.",
                *self.remarks(),
            ]
        )


def _row(line: Line, cues: list[str]) -> tuple[str, ...]:
    shares = (line.guesses.get(cue) for cue in cues)
    guesses = ("-" if share is None else f"{100 * share:.1f}" for share in shares)
    kind = line.kind if line.step == "given" else ""
    return kind, line.step, f"{line.items:,}", *guesses, f"±{100 * line.by_chance:.1f}"


def report(done: Refined, of: str, scores: Mapping[str, str]) -> Refinement:
    """Count and measure a refinement; `scores` says where the two scores come from."""
    counts = np.bincount(done.outcome, minlength=len(OUTCOMES))
    left_out = {why: int(n) for why, n in zip(OUTCOMES, counts, strict=True) if why != KEPT and n}
    return Refinement(of, done.recipe, dict(scores), tuple(_lines(done)), left_out)


def _lines(done: Refined) -> Iterator[Line]:
    own = done.scores
    gaps = dict(zip(SCORES, own.scores[:, :, 0] - own.scores[:, :, 1], strict=True))
    if own.has_texts:
        original, negative = (own.table[name].str.len_chars() for name in TEXTS)
        gaps[SHORTER] = (negative.cast(pl.Int64) - original).to_numpy()
    steps = {"given": np.ones(len(own), np.bool_), "chosen": done.chosen, "refined": done.kept}
    for code, kind in (*enumerate(own.kinds), (-1, ALL)):
        of_kind = own.kind == code if code >= 0 else steps["given"]
        if code < 0 and len(own.kinds) == 1:
            return
        for step, there in steps.items():
            rows = there & of_kind
            yield Line(kind, step, int(rows.sum()), _guesses(gaps, rows))


def _guesses(gaps: Mapping[str, Floats], rows: Flags) -> dict[str, float]:
    """How often the original is ahead; nothing where there are no rows."""
    if not rows.any():
        return {}
    return {name: float(((np.sign(gap[rows]) + 1) / 2).mean()) for name, gap in gaps.items()}

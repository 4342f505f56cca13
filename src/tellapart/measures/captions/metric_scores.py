"""Scores of captions as text, LaTeX, JSON, and as a table with one row per image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tellapart.files import write_table
from tellapart.measures.captions.judgements import MetricJudgement
from tellapart.measures.comparison import MARKS, NOISE
from tellapart.text.table_text import aligned, escape


@dataclass(frozen=True, slots=True)
class CaptionScore:
    """A system's score with its 95% interval over images; the interval is None for one image.

    Values are as the metric defines them; tables multiply them by `scale`, as papers do.
    """

    system: str
    metric: str
    value: float
    low: float | None
    high: float | None
    images: int
    scale: float = 100.0


@dataclass(frozen=True, slots=True)
class CaptionPair:
    """Two systems on the same images. `won` and `lost` count images by their own scores.

    `p` comes from approximate randomization over images (`exact`: from all swaps); `p_holm` is
    corrected for all pairs of systems.
    """

    metric: str
    first: str
    second: str
    first_value: float
    second_value: float
    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    won: int
    lost: int
    images: int
    scale: float = 100.0
    exact: bool = False

    @property
    def mark(self) -> str:
        """Stars for significance, or the sign for noise."""
        return next((mark for level, mark in MARKS if self.p_holm < level), NOISE)


@dataclass(frozen=True, slots=True)
class FewerReferences:
    """A score with `used` random references per image: mean and standard deviation over draws.

    `short` counts images with fewer references, which keep all they have.
    """

    system: str
    metric: str
    used: int
    repeats: int
    value: float
    spread: float
    short: int
    scale: float = 100.0


@dataclass(frozen=True, slots=True, eq=False)
class CaptionScores:
    """The results of `captions`; `per_image` has one row per image and system.

    `judgements` has the metrics' correlations with ratings by people, if these were given.
    """

    scores: tuple[CaptionScore, ...]
    pairs: tuple[CaptionPair, ...]
    fewer: tuple[FewerReferences, ...]
    per_image: pl.DataFrame
    remarks: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    judgements: tuple[MetricJudgement, ...] = ()

    def value(self, system: str, metric: str) -> float:
        """One system's score by one metric."""
        (row,) = (r for r in self.scores if (r.system, r.metric) == (system, metric))
        return row.value

    def to_json(self) -> dict[str, Any]:
        """Everything but the table of images."""
        return {
            "scores": [asdict(row) for row in self.scores],
            "pairs": [{**asdict(pair), "mark": pair.mark} for pair in self.pairs],
            "fewer_references": [asdict(row) for row in self.fewer],
            "judgements": [asdict(row) for row in self.judgements],
            "remarks": list(self.remarks),
            "methods": list(self.methods),
        }

    def to_latex(self) -> str:
        """A booktabs table: one row per system, one column per metric, intervals in brackets.

        With judgements only: one row per metric, one column per correlation.
        """
        if not self.scores:
            return judgement_latex(self.judgements)
        systems, metrics = self._names()
        rows = {(row.system, row.metric): row for row in self.scores}
        lines = [
            r"% needs \usepackage{booktabs}",
            rf"\begin{{tabular}}{{l{'r' * len(metrics)}}}",
            r"\toprule",
            " & ".join(["System", *map(escape, metrics)]) + r" \\",
            r"\midrule",
        ]
        for system in systems:
            cells = (_latex_cell(rows[system, metric]) for metric in metrics)
            lines.append(" & ".join([escape(system), *cells]) + r" \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"

    def _names(self) -> tuple[list[str], list[str]]:
        """Systems and metrics in order."""
        every = [(row.system, row.metric) for row in self.scores]
        systems, metrics = (list(dict.fromkeys(names)) for names in zip(*every, strict=True))
        return systems, metrics

    def __str__(self) -> str:
        blocks = [self._score_table()] if self.scores else []
        blocks += [judgement_table(self.judgements)] if self.judgements else []
        blocks += [self._pair_table()] if self.pairs else []
        blocks += [self._fewer_table()] if self.fewer else []
        notes = [*self.methods, *(f"note: {remark}" for remark in self.remarks)]
        return "\n\n".join([*blocks, "\n".join(notes)])

    def _score_table(self) -> str:
        systems, metrics = self._names()
        rows = {(row.system, row.metric): row for row in self.scores}
        heads = ["metric", *(cell for system in systems for cell in (system, "95% interval"))]
        lines = [heads]
        for metric in metrics:
            found = [rows[system, metric] for system in systems]
            lines.append([metric, *(c for r in found for c in (_score_text(r.value, r), _ends(r)))])
        return aligned(lines, {0})

    def _pair_table(self) -> str:
        heads = ("metric", "A", "B", "A - B", "95% interval", "", "p", "p (Holm)",
                 "won-lost-level")  # fmt: skip
        lines = [heads]
        for pair in self.pairs:
            level = pair.images - pair.won - pair.lost
            lines.append(
                (
                    pair.metric,
                    pair.first,
                    pair.second,
                    f"{pair.scale * pair.difference:+.2f}",
                    f"{pair.scale * pair.low:+.2f} to {pair.scale * pair.high:+.2f}",
                    pair.mark,
                    f"{pair.p:.4f}",
                    f"{pair.p_holm:.4f}",
                    f"{pair.won:,}-{pair.lost:,}-{level:,}",
                )
            )
        stars = ", ".join(f"{mark} p < {level}" for level, mark in reversed(MARKS))
        legend = f"{stars} (with Holm's correction); {NOISE} not distinguishable from noise at 5%"
        return aligned(lines, {0, 1, 2, 5}) + f"\n{legend}"

    def _fewer_table(self) -> str:
        """One line per system and metric, one column per number of references; shares below."""
        counts = list(dict.fromkeys(row.used for row in self.fewer))
        whole = {(row.system, row.metric): row.value for row in self.scores}
        rows = {(row.system, row.metric, row.used): row for row in self.fewer}
        lines = [("references used", "", *map(str, counts), "all")]
        for (system, metric), value in whole.items():
            found = [rows[system, metric, used] for used in counts]
            cells = [f"{_score_text(r.value, r)} ± {r.scale * r.spread:.2f}" for r in found]
            lines.append((system, metric, *cells, _score_text(value, found[0])))
            parts = [f"{100 * r.value / value:.0f}%" if value else "-" for r in found]
            lines.append(("", "", *parts, "100%" if value else "-"))
        return aligned(lines, {0, 1})


def _correlations(row: MetricJudgement) -> Iterator[tuple[str, str]]:
    """Each correlation of a metric times 100, and its interval."""
    for one in (row.tau_b, row.tau_c, row.spearman):
        ends = "-" if one.low is None or one.high is None else (
            f"{100 * one.low:.1f} - {100 * one.high:.1f}"
        )  # fmt: skip
        yield f"{100 * one.value:.2f}", ends


def judgement_table(rows: Sequence[MetricJudgement]) -> str:
    """One line per metric: its correlations with ratings by people."""
    kinds = ("Kendall tau-b", "Kendall tau-c", "Spearman")
    lines = [("metric", *(head for kind in kinds for head in (kind, "95% interval")))]
    lines += [(r.metric, *(cell for pair in _correlations(r) for cell in pair)) for r in rows]
    one = rows[0]
    return aligned(lines, {0}) + (
        f"\ncorrelation with {one.ratings:,} ratings of {one.captions:,} captions of "
        f"{one.images:,} images, times 100"
    )


def judgement_latex(rows: Sequence[MetricJudgement]) -> str:
    """The same as a booktabs table."""
    cells = (
        " & ".join(
            [escape(r.metric), *(rf"{v} {{\scriptsize [{e}]}}" for v, e in _correlations(r))]
        )
        for r in rows
    )
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"Metric & $\tau_b$ & $\tau_c$ & $\rho$ \\",
        r"\midrule",
        *(rf"{row} \\" for row in cells),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _score_text(value: float, row: CaptionScore | FewerReferences) -> str:
    return f"{row.scale * value:.2f}"


def _ends(row: CaptionScore) -> str:
    if row.low is None or row.high is None:
        return "-"
    return f"{row.scale * row.low:.2f} - {row.scale * row.high:.2f}"


def _latex_cell(row: CaptionScore) -> str:
    value = _score_text(row.value, row)
    if row.low is None or row.high is None:
        return value
    return rf"{value} {{\scriptsize [{row.scale * row.low:.2f}, {row.scale * row.high:.2f}]}}"


def write_per_image(scores: CaptionScores, path: Path) -> None:
    """Write the table of images in the format that the file name ends with."""
    write_table(path, scores.per_image)

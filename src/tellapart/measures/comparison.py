"""A comparison that prints itself: text with marks of significance, LaTeX, JSON, a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

import polars as pl

from tellapart.measures.ties import TieRule
from tellapart.text.table_text import aligned, escape

MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
NOISE = "~"
_HEADS = ("A", "B", "A %", "B %", "A - B", "95% interval", "", "p", "p (Holm)", "naive p",
          "won-lost-level", "units (groups)", "only A, B", "ties A, B", "failed A, B")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """Two models on the units that both cover; values are shares, 0 to 1, or their differences.

    `kind` is "micro", "macro" or a kind of item. `p` is of the test over clusters, `p_holm` of the
    same corrected for all pairs, `naive_p` of the test that takes units for independent; `error`
    is the difference's standard error over clusters. `won`, `lost` and `level` count units,
    `differing` clusters in which the models differ; `only_first` and `only_second` count units
    left out because one run lacks them. `needed_units` (and clusters) would show a difference of
    this size with 80% power, None where there is none; `detectable` is the smallest difference
    that is shown so with what is there. `by_kind` has the differences on each kind of item.
    """

    benchmark: str
    measure: str
    kind: str
    first: str
    second: str
    tie_rule: TieRule
    first_value: float
    second_value: float
    difference: float
    low: float
    high: float
    p: float
    p_holm: float
    naive_p: float
    error: float | None
    won: int
    lost: int
    level: int
    n: int
    clusters: int
    differing: int
    only_first: int
    only_second: int
    first_ties: int
    second_ties: int
    first_failed: int
    second_failed: int
    test: str
    naive_test: str
    method: str
    needed_units: int | None = None
    needed_clusters: int | None = None
    detectable: float | None = None
    by_kind: dict[str, float] = field(default_factory=dict)

    @property
    def real(self) -> bool:
        """Whether the difference can be told from noise at 5%, all pairs considered."""
        return self.p_holm < MARKS[-1][0]

    @property
    def mark(self) -> str:
        """Stars, or the sign for noise."""
        return next((mark for level, mark in MARKS if self.p_holm < level), NOISE)

    @property
    def verdict(self) -> str:
        """What the numbers say, in words."""
        if self.real:
            winner, loser = self.first, self.second
            if self.difference < 0:
                winner, loser = loser, winner
            return f"{winner} is better than {loser} by {100 * abs(self.difference):.2f} points"
        start = f"{self.first} and {self.second}: not to be told from noise"
        if not self.won and not self.lost:
            return f"{start}: the same on every unit"
        if abs(self.difference) < 1e-9:
            return f"{start}: no difference on average"
        if self.needed_units is None or 2.0 ** (1 - self.differing) > MARKS[-1][0]:
            return f"{start}: they differ in {self.differing} groups, too few for any test"
        return (
            f"{start}; to see a difference of {100 * abs(self.difference):.2f} points takes about "
            f"{self.needed_units:,} units in {self.needed_clusters:,} groups, "
            f"here are {self.n:,} in {self.clusters:,}"
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """All pairs, in the order benchmark, measure, kind; remarks say what was left out and why."""

    pairs: tuple[Pair, ...]
    remarks: tuple[str, ...] = ()

    def only(self, **wanted: str) -> Comparison:
        """The pairs with the given fields, for example `only(measure="accuracy", kind="micro")`."""
        kept = (p for p in self.pairs if all(getattr(p, k) == v for k, v in wanted.items()))
        return Comparison(tuple(kept), self.remarks)

    def to_json(self) -> dict[str, Any]:
        """For `--json`: pairs with their verdicts, and the remarks."""
        pairs = [{**asdict(p), "mark": p.mark, "verdict": p.verdict} for p in self.pairs]
        return {"pairs": pairs, "remarks": list(self.remarks)}

    def to_frame(self) -> pl.DataFrame:
        """One row a pair; `by_kind` becomes a list of kinds and differences."""
        rows = []
        for pair in self.pairs:
            by_kind = [{"kind": k, "difference": d} for k, d in pair.by_kind.items()]
            rows.append({**asdict(pair), "mark": pair.mark, "by_kind": by_kind})
        kinds = pl.List(pl.Struct({"kind": pl.String, "difference": pl.Float64}))
        needed = {"needed_units": pl.Int64, "needed_clusters": pl.Int64, "detectable": pl.Float64}
        return pl.DataFrame(
            rows, schema_overrides={"by_kind": kinds, **needed}, infer_schema_length=None
        )

    def to_latex(self) -> str:
        """A booktabs table, everything escaped; differences and intervals in points."""
        heads = ("Benchmark", "Measure", "Kind", "A", "B", "A", "B", "A $-$ B", r"95\% interval",
                 "$p$ (Holm)", "Units", "Groups", "Needed")  # fmt: skip
        lines = [
            r"% needs \usepackage{booktabs}",
            r"\begin{tabular}{lllllrrrrrrrr}",
            r"\toprule",
            " & ".join(heads) + r" \\",
            r"\midrule",
            *(" & ".join(_latex_cells(pair)) + r" \\" for pair in self.pairs),
            r"\bottomrule",
            r"\end{tabular}",
            r"% " + _legend().replace("\n", "\n% "),
        ]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        blocks = []
        for (benchmark, measure, kind), rows in groupby(
            self.pairs, lambda p: (p.benchmark, p.measure, p.kind)
        ):
            pairs = list(rows)
            title = f"{benchmark}, {measure}, {kind} (ties: {pairs[0].tie_rule})"
            table = aligned([_HEADS, *(_cells(pair) for pair in pairs)], {0, 1, 6})
            words = [f"  {pair.verdict}{_kinds(pair)}" for pair in pairs]
            blocks.append("\n".join([title, table, *words]))
        tests = dict.fromkeys(f"{p.test}; naive: {p.naive_test}" for p in self.pairs)
        methods = dict.fromkeys(p.method for p in self.pairs)
        blocks.append(_legend())
        blocks.append(
            "\n".join([*(f"test: {t}" for t in tests), *(f"interval: {m}" for m in methods)])
        )
        blocks += ["\n".join(f"note: {remark}" for remark in self.remarks)] if self.remarks else []
        return "\n\n".join(blocks)


def _legend() -> str:
    stars = ", ".join(f"{mark} p < {level}" for level, mark in reversed(MARKS))
    return (
        f"{stars} (p with Holm's correction for all pairs); {NOISE} not to be told from noise at "
        "5%.\nThe naive p takes units for independent; where it is smaller, items that share "
        "images made it so.\nNeeded: units to see the same difference with 80% power."
    )


def _kinds(pair: Pair) -> str:
    """The span over kinds: a gain on one kind only should not hide in a mean."""
    if not pair.by_kind:
        return ""
    low, high = (pick(pair.by_kind, key=pair.by_kind.__getitem__) for pick in (min, max))
    if pair.by_kind[high] - pair.by_kind[low] < 5e-4:
        return ""
    return (
        f" (A - B by kind: from {100 * pair.by_kind[low]:+.1f} on {low} "
        f"to {100 * pair.by_kind[high]:+.1f} on {high})"
    )


def _probability(p: float) -> str:
    return "<0.0001" if p < 0.00005 else f"{p:.4f}"


def _cells(pair: Pair) -> tuple[str, ...]:
    return (
        pair.first,
        pair.second,
        f"{100 * pair.first_value:.2f}",
        f"{100 * pair.second_value:.2f}",
        f"{100 * pair.difference:+.2f}",
        f"{100 * pair.low:+.2f} to {100 * pair.high:+.2f}",
        pair.mark,
        _probability(pair.p),
        _probability(pair.p_holm),
        _probability(pair.naive_p),
        f"{pair.won:,}-{pair.lost:,}-{pair.level:,}",
        f"{pair.n:,} ({pair.clusters:,})",
        f"{pair.only_first:,}, {pair.only_second:,}",
        f"{pair.first_ties:,}, {pair.second_ties:,}",
        f"{pair.first_failed:,}, {pair.second_failed:,}",
    )


def _latex_cells(pair: Pair) -> tuple[str, ...]:
    mark = pair.mark if pair.real else r"\sim"
    names = (pair.benchmark, pair.measure, pair.kind, pair.first, pair.second)
    needed = f"{pair.needed_units:,}" if not pair.real and pair.needed_units else "--"
    return (
        *(escape(name) for name in names),
        f"{100 * pair.first_value:.2f}",
        f"{100 * pair.second_value:.2f}",
        f"${100 * pair.difference:+.2f}^{{{mark}}}$",
        f"$[{100 * pair.low:+.2f}, {100 * pair.high:+.2f}]$",
        _probability(pair.p_holm).replace("<", "$<$"),
        f"{pair.n:,}",
        f"{pair.clusters:,}",
        needed,
    )

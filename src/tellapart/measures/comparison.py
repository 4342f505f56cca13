"""A comparison of runs, pair by pair on the units that both cover.

It prints as text with significance marks, and converts to LaTeX, JSON and a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations, groupby
from typing import Any

import numpy as np
import polars as pl

from tellapart.errors import BadInput
from tellapart.measures.contestants import benchmark_labels, is_reference, labels
from tellapart.measures.contrast import (
    ROUNDING,
    Couple,
    RandomDraws,
    Units,
    contrasts,
    kind_differences,
    paired_units,
    reduced_contrasts,
    tally,
)
from tellapart.measures.measure import Contrast, Measure
from tellapart.measures.scores import measures_of, shown_as
from tellapart.measures.ties import TieRule, check_rule
from tellapart.score.run import Run
from tellapart.stats.differences import holm
from tellapart.stats.power import ALPHA, detectable, needed
from tellapart.text.table_text import aligned, escape
from tellapart.types import Bools

MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
NOISE = "~"
_HEADS = ("A", "B", "A %", "B %", "A - B", "95% interval", "", "p", "p (Holm)", "naive p",
          "won-lost-level", "units (groups)", "only A, B", "ties A, B", "failed A, B")  # fmt: skip


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """Two models on the units that both cover; values are shares, 0 to 1, or their differences.

    `kind` is "micro", "macro" or a kind of item. `p` comes from the test over clusters, `p_holm` is
    corrected for all pairs, and `naive_p` comes from a test that treats units as independent;
    `error` is the difference's standard error over clusters. `won`, `lost` and `level` count units,
    `differing` counts clusters in which the models differ; `only_first` and `only_second` count
    units left out because one run lacks them. `needed_units` (and `needed_clusters`) would show a
    difference of this size with 80% power, None if there is no difference; `detectable` is the
    smallest difference that the units at hand show with that power. `by_kind` has the differences
    on each kind of item. `against_line` means that one of the two never looks (see `contestants`)
    and its ties are halved; `ties_behind` counts the units won or lost on which one of the two
    ties. `decided_by` is the procedure that decided both runs' answers.
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
    ties_behind: int
    first_failed: int
    second_failed: int
    test: str
    naive_test: str
    method: str
    needed_units: int | None = None
    needed_clusters: int | None = None
    detectable: float | None = None
    by_kind: dict[str, float] = field(default_factory=dict)
    against_line: bool = False
    decided_by: str = ""

    @property
    def shown(self) -> str:
        """The measure's name with the procedure that decided both runs' answers."""
        return shown_as(self.measure, self.decided_by)

    @property
    def real(self) -> bool:
        """Whether the difference is significant at 5%, corrected for all pairs."""
        return self.p_holm < MARKS[-1][0]

    @property
    def mark(self) -> str:
        """Stars for significance, or the sign for noise."""
        return next((mark for level, mark in MARKS if self.p_holm < level), NOISE)

    @property
    def verdict(self) -> str:
        """The result in words, with the number of ties behind the difference."""
        return self._difference() + self.ties_told

    @property
    def ties_told(self) -> str:
        """How many of the units that differ rest on ties, as the end of a sentence."""
        if not self.ties_behind:
            return ""
        differ = self.won + self.lost
        return f"; {self.ties_behind:,} of the {differ:,} units that differ rest on a tie"

    def _difference(self) -> str:
        points = f"{100 * abs(self.difference):.2f} points"
        if self.real and self.against_line:
            side = "above" if self.difference > 0 else "below"
            return f"{self.first} is {points} {side} {self.second}"
        if self.real:
            winner, loser = self.first, self.second
            if self.difference < 0:
                winner, loser = loser, winner
            return f"{winner} is better than {loser} by {points}"
        start = f"{self.first} and {self.second}: no difference beyond noise is shown"
        if not self.won and not self.lost:
            return f"{start}: they are the same on every unit"
        if abs(self.difference) < 1e-9:
            return f"{start}: their averages are equal"
        if self.needed_units is None or 2.0 ** (1 - self.differing) > MARKS[-1][0]:
            return f"{start}: they differ in only {self.differing} groups, too few for any test"
        return (
            f"{start}; a difference of {points} needs about "
            f"{self.needed_units:,} units in {self.needed_clusters:,} groups, "
            f"and there are {self.n:,} in {self.clusters:,}"
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """All pairs, ordered by benchmark, measure and kind; remarks say what was left out and why."""

    pairs: tuple[ComparedPair, ...]
    remarks: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[ComparedPair]:
        return iter(self.pairs)

    def __repr__(self) -> str:
        return f"<Comparison: {len(self.pairs):,} pairs of runs>"

    def _repr_html_(self) -> str:
        return self.to_frame()._repr_html_()

    def only(self, **wanted: str) -> Comparison:
        """The pairs with the given fields, for example `only(measure="accuracy", kind="micro")`."""
        kept = (p for p in self.pairs if all(getattr(p, k) == v for k, v in wanted.items()))
        return Comparison(tuple(kept), self.remarks)

    def to_json(self) -> dict[str, Any]:
        """For `--json`: pairs with their verdicts, and the remarks."""
        pairs = [{**asdict(p), "mark": p.mark, "verdict": p.verdict} for p in self.pairs]
        return {"pairs": pairs, "remarks": list(self.remarks)}

    def to_frame(self) -> pl.DataFrame:
        """One row per pair; `by_kind` becomes a list of kinds and differences."""
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
        for (benchmark, measure, kind, line), rows in groupby(
            self.pairs, lambda p: (p.benchmark, p.shown, p.kind, p.against_line)
        ):
            pairs = list(rows)
            against = ", against models that never look, their ties halved" if line else ""
            title = f"{benchmark}, {measure}, {kind} (ties: {pairs[0].tie_rule}){against}"
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
        f"{stars} (p with Holm's correction for all pairs); {NOISE} not distinguishable from noise "
        "at 5%.\nThe naive p treats units as independent; if it is smaller, that is because items "
        "share images.\nNeeded: units that would show the same difference with 80% power."
    )


def _kinds(pair: ComparedPair) -> str:
    """The range over kinds, so that a gain on a single kind does not hide in a mean."""
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


def _cells(pair: ComparedPair) -> tuple[str, ...]:
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


def _latex_cells(pair: ComparedPair) -> tuple[str, ...]:
    mark = pair.mark if pair.real else r"\sim"
    names = (pair.benchmark, pair.shown, pair.kind, pair.first, pair.second)
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


DRAWS = 10_000
LEAST_DRAWS = 100
"""Sign flips for each corrected test, enough for a corrected p of 0.01."""


def compare_runs(
    runs: Sequence[Run],
    *,
    measures: Sequence[str] | None = None,
    ties: str = "wrong",
    by_kind: bool = False,
    resamples: int = DRAWS,
    permutations: int = DRAWS,
    seed: int = 0,
    names: Sequence[str] | None = None,
) -> Comparison:
    """Compare all pairs of runs of each benchmark, measure by measure, on the units both cover.

    The interval of a difference is a paired bootstrap over clusters (groups of items that share
    images), the test flips signs over clusters, and Holm's correction covers all pairs of a
    benchmark and measure. `by_kind` adds the macro average and each kind of item, corrected over
    pairs and kinds together. Pairs with a model that never looks are corrected separately from
    pairs of contestants, so that a pair has the same p-value with and without such models. `names`
    gives the runs' names, if they are a selection from more runs (see `contestants.labels`).
    """
    rule = check_rule(ties)
    if min(resamples, permutations) < 1:
        raise BadInput(
            f"{min(resamples, permutations)} random draws are too few",
            allowed="at least 1 resample and 1 permutation",
        )
    pairs: list[ComparedPair] = []
    remarks: list[str] = []
    by_benchmark: dict[str, list[tuple[Run, str, str]]] = {}
    every = zip(runs, names or labels(runs), benchmark_labels(runs), strict=True)
    for row in sorted(every, key=lambda row: is_reference(row[0].model)):
        by_benchmark.setdefault(row[0].benchmark.sha256, []).append(row)
    for sha256, rows in by_benchmark.items():
        together, told = [run for run, *_ in rows], [label for _, label, _ in rows]
        if len(together) < 2:
            remarks.append(f"{together[0]}: the only run on its benchmark, so it is not compared")
            continue
        for measure in measures_of(together[0], measures):
            draws = RandomDraws(resamples, permutations, seed, (sha256, measure.name))
            places, units = paired_units(together, measure, rule)
            benchmark = rows[0][2]
            comparer = _Comparer(together, told, benchmark, measure, rule, draws, places, units)
            pairs += comparer.pairs(by_kind)
            remarks += comparer.remarks(by_kind)
    if not pairs:
        raise BadInput(
            "there is nothing to compare",
            where="; ".join(dict.fromkeys(remarks)),
            allowed="two runs or more on the same benchmark that share units",
            todo="make them with: tellapart evaluate MODEL MODEL --on BENCH --out RUNS",
        )
    return Comparison(tuple(pairs), tuple(dict.fromkeys(remarks)))


@dataclass(frozen=True)
class _Comparer:
    """All pairs of one benchmark's runs by one measure; `places` are the runs it applies to."""

    runs: Sequence[Run]
    names: Sequence[str]
    benchmark: str
    measure: Measure
    ties: TieRule
    draws: RandomDraws
    places: list[int]
    units: Units

    @property
    def couples(self) -> list[Couple]:
        """All pairs of columns that share units that count."""
        every = combinations(range(len(self.places)), 2)
        return [couple for couple in every if self.units.kept(couple).any()]

    def pairs(self, by_kind: bool) -> list[ComparedPair]:
        """Contestants against each other, then against lines; each also kind by kind."""
        by_lines: dict[int, list[Couple]] = {0: [], 1: [], 2: []}
        for couple in self.couples:
            by_lines[self._lines(couple)].append(couple)
        found = self._family(by_lines[0], by_kind) + self._family(by_lines[1], by_kind)
        return found or self._family(by_lines[2], by_kind)  # two lines: only if there is no other

    def _lines(self, couple: Couple) -> int:
        return sum(is_reference(self.runs[self.places[k]].model) for k in couple)

    def _family(self, couples: list[Couple], by_kind: bool) -> list[ComparedPair]:
        """Pairs that are corrected together, then kind by kind."""
        units = self.units
        everything = np.ones(len(units.kind), dtype=bool)
        own = [self._own_contrast(couple) for couple in couples]
        found = [contrast for contrast in own if contrast is not None]
        if found:
            return corrected(self._rows("micro", everything, couples, found))
        overall = corrected(self._compared("micro", everything, couples))
        if not by_kind or len(units.kinds) < 2:
            return overall
        finer = self._compared("macro", everything, couples, 1 + len(units.kinds))
        for code, kind in enumerate(units.kinds):
            finer += self._compared(kind, units.kind == code, couples, 1 + len(units.kinds))
        return overall + corrected(finer)

    def _compared(
        self, kind: str, wanted: Bools, among: list[Couple], families: int = 1
    ) -> list[ComparedPair]:
        couples = [c for c in among if (self.units.kept(c) & wanted).any()]
        if not couples:
            return []
        draws = replace(
            self.draws,
            purpose=(*self.draws.purpose, kind),
            permutations=max(self.draws.permutations, LEAST_DRAWS * families * len(couples)),
        )
        macro = kind == "macro"
        if self.measure.is_mean:
            found = contrasts(self.units, wanted, couples, draws, macro=macro)
        else:
            found = reduced_contrasts(self.measure, self.units, wanted, couples, draws, macro=macro)
        return self._rows(kind, wanted, couples, found)

    def _own_contrast(self, couple: Couple) -> Contrast | None:
        first, second = (self.runs[self.places[k]] for k in couple)
        return self.measure.contrast(first, second, self.ties)

    def _rows(
        self, kind: str, wanted: Bools, couples: list[Couple], found: list[Contrast]
    ) -> list[ComparedPair]:
        names = self.names
        spans = kind in ("micro", "macro") and self.measure.by_item
        return [
            ComparedPair(
                benchmark=self.benchmark,
                measure=self.measure.name,
                kind=kind,
                first=names[self.places[couple[0]]],
                second=names[self.places[couple[1]]],
                tie_rule=self.ties,
                p_holm=contrast.p,
                by_kind=kind_differences(self.measure, self.units, couple) if spans else {},
                against_line=self._lines(couple) > 0,
                decided_by=self._way(couple),
                **asdict(contrast),
                **asdict(tally(self.units, couple, wanted)),
            )
            for couple, contrast in zip(couples, found, strict=True)
        ]

    def _way(self, couple: Couple) -> str:
        """The procedure that decided both runs' answers, if it is the same."""
        ways = {self.measure.decided_by(self.runs[self.places[k]]) or "" for k in couple}
        return ways.pop() if len(ways) == 1 else ""

    def _chances_differ(self, couple: Couple) -> bool:
        chance = self.units.chance[self.units.shared(couple)][:, couple]
        return not np.allclose(chance[:, 0], chance[:, 1])

    def remarks(self, by_kind: bool) -> Iterator[str]:
        """What a reader must know besides the numbers."""
        names = self.names
        for place, name in enumerate(names):
            if place not in self.places:
                yield f"{self.measure.name} does not apply to {name}"
        for couple in combinations(range(len(self.places)), 2):
            if not self.units.kept(couple).any():
                who = " and ".join(names[self.places[k]] for k in couple)
                yield f"{who} have no unit of {self.measure.name} in common that counts"
        ways = {names[place]: self.measure.decided_by(self.runs[place]) for place in self.places}
        if len(set(ways.values())) > 1:
            yield (
                f"{self.measure.name} is decided by different procedures "
                f"({', '.join(f'{name}: {way}' for name, way in ways.items())}): "
                f"{self.measure.name}@fitted compares like with like"
            )
        if any(self._chances_differ(couple) for couple in self.couples):
            yield f"chance by {self.measure.name} is not the same for all models (see measure)"
        if by_kind and not self.measure.by_item:
            yield f"{self.measure.name} compares all true captions with all foils, so not by kind"


def corrected(pairs: list[ComparedPair]) -> list[ComparedPair]:
    """The pairs with Holm's correction, and with the units that each difference would need.

    Needed units are for Holm's first and strictest step, 5% divided by the number of pairs, so
    that they never contradict the marks.
    """
    if not pairs:
        return []
    adjusted = holm(np.array([pair.p for pair in pairs]))
    alpha = ALPHA / len(pairs)
    return [
        _with_needs(replace(pair, p_holm=float(p)), alpha)
        for pair, p in zip(pairs, adjusted, strict=True)
    ]


def _with_needs(pair: ComparedPair, alpha: float) -> ComparedPair:
    error = pair.error
    if not error:
        return pair
    pair = replace(pair, detectable=detectable(error, alpha=alpha))
    if abs(pair.difference) < ROUNDING:
        return pair
    size = needed(pair.difference, error, pair.n, pair.clusters, alpha=alpha)
    return replace(pair, needed_units=size.units, needed_clusters=size.clusters)

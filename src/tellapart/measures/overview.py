"""The overview: models by benchmarks, each by its main measure, with reference lines.

A line is a score that needs no picture: chance, a model that never looks, or what the text alone
gives away. A line is never a contestant: it has no rank and does not affect which score is best.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from tellapart.benchmark.benchmark import Benchmark
from tellapart.measures.contestants import is_reference
from tellapart.text.table_text import aligned

if TYPE_CHECKING:
    from tellapart.measures.scores import Estimate

TEXT_ALONE = "text alone"
BEST_CUE = "best cue"
ONE_BY_ONE = "chance, answers one by one"
"""The lower level of choosers, beside that of scorers."""
PUBLISHED = "*"
"""Marks a score printed in a paper."""
WIDEST = 4
"""With more benchmarks than this, the table has no room for intervals."""

MANY_TIES = 0.1
"""Ties are shown beside a score if they exceed this share of its units."""


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A score without looking (a share, 0 to 1) on a benchmark's main measure, ties halved.

    Chance has no interval. `note` names the attacker and its source; `decided_by` is as in
    `Estimate`.
    """

    label: str
    benchmark: str
    measure: str
    value: float
    low: float | None = None
    high: float | None = None
    note: str = ""
    decided_by: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A benchmark and its main measure."""

    benchmark: str
    measure: str


@dataclass(frozen=True, slots=True)
class Overview:
    """Every contestant on every benchmark by its main measure, and the lines below them."""

    columns: tuple[Column, ...]
    rows: tuple[Estimate, ...]
    lines: tuple[ReferenceLine, ...]
    published: tuple[ReferenceLine, ...] = ()
    """Scores printed in papers, marked as such wherever they are shown."""

    @property
    def models(self) -> tuple[str, ...]:
        """The contestants, in order."""
        return tuple(dict.fromkeys(row.model for row in self.rows))

    def estimate(self, model: str, column: Column) -> Estimate | None:
        """A contestant's score on a benchmark."""
        return next(
            (r for r in self.rows if (r.model, r.benchmark) == (model, column.benchmark)), None
        )

    def line(self, label: str, column: Column) -> ReferenceLine | None:
        """A line's score on a benchmark."""
        found = (one for one in self.lines if one.benchmark == column.benchmark)
        return next((one for one in found if one.label == label), None)

    @property
    def line_labels(self) -> tuple[str, ...]:
        """The names of the lines, chance first."""
        return tuple(dict.fromkeys(line.label for line in self.lines))

    def shown(self, column: Column) -> str:
        """The column's measure, with the procedure that decided all contestants' answers."""
        own = [row for row in self.rows if row.benchmark == column.benchmark]
        return shown_measure(column.measure, own)

    def way(self, one: Estimate | ReferenceLine | None, column: Column) -> str:
        """`@own` or `@fitted` after a score, if the column head does not say it."""
        return way_behind(one, self.shown(column))

    def best(self, column: Column) -> float | None:
        """The contestants' highest score, if there are several contestants."""
        values = [r.value for r in self.rows if r.benchmark == column.benchmark and r.n]
        return max(values) if len(values) > 1 else None

    def with_guesses(self, guesses: Iterable[ReferenceLine]) -> Overview:
        """The overview with guessers' scores from captions, on main measures.

        A benchmark whose card has a text-alone figure does not need one.
        """
        known = {line.benchmark for line in self.lines if line.label == TEXT_ALONE}
        wanted = {(c.benchmark, c.measure) for c in self.columns if c.benchmark not in known}
        lines = [line for line in guesses if (line.benchmark, line.measure) in wanted]
        return replace(self, lines=(*self.lines, *lines))

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "scores": [row.to_json() for row in self.rows],
            "lines": [asdict(line) for line in self.lines],
            "published": [asdict(line) for line in self.published],
        }

    def __str__(self) -> str:
        with_intervals = len(self.columns) <= WIDEST
        heads = ("model", *(f"{c.benchmark}, {self.shown(c)}" for c in self.columns))
        table: list[Sequence[str]] = [heads]
        for model in self.models:
            own = ((self.estimate(model, c), c) for c in self.columns)
            cells = (_cell(one, self.way(one, c), with_intervals) for one, c in own)
            table.append((model, *cells))
        for label in self.line_labels:
            found = ((self.line(label, c), c) for c in self.columns)
            cells = (_line_cell(one, self.way(one, c), with_intervals) for one, c in found)
            table.append((f"- {label}", *cells))
        printed = {(line.label, line.benchmark): line for line in self.published}
        for label in dict.fromkeys(line.label for line in self.published):
            cells = (_line_cell(printed.get((label, c.benchmark)), "", False) for c in self.columns)
            table.append((f"{PUBLISHED} {label}", *cells))
        told = ["- reference lines, which need no picture; ties halved"]
        told = [*self._notes(), *told] if self.lines else []
        told += dict.fromkeys(f"{PUBLISHED} published: {one.note}" for one in self.published)
        return "\n".join([aligned(table, {0}), *told])

    def _notes(self) -> Iterator[str]:
        """What is behind each line, with the benchmarks that it is about."""
        about: dict[tuple[str, str], list[str]] = {}
        for one in self.lines:
            if one.note:
                about.setdefault((one.label, one.note), []).append(one.benchmark)
        for (label, note), benchmarks in about.items():
            yield f"  {label} ({', '.join(benchmarks)}): {note}"


def shown_measure(measure: str, rows: Iterable[Estimate]) -> str:
    """A measure's name as a column head, with the procedure if all rows share it."""
    names = {row.shown for row in rows if row.measure == measure and row.n}
    return names.pop() if len(names) == 1 else measure


def way_behind(one: Estimate | ReferenceLine | None, head: str) -> str:
    """`@own` or `@fitted` to put after a score, if the column head does not say it."""
    told = f"@{one.decided_by}" if one is not None and one.decided_by else ""
    return "" if head.endswith(told) else told


def _cell(row: Estimate | None, way: str, with_interval: bool) -> str:
    if row is None or not row.n:
        return "-"
    ties = f" [{row.ties:,} ties]" if row.ties > MANY_TIES * row.n else ""
    interval = f" ({100 * row.low:.1f} - {100 * row.high:.1f})" if with_interval else ""
    return f"{100 * row.value:.2f}{way}{ties}{interval}"


def _line_cell(line: ReferenceLine | None, way: str, with_interval: bool) -> str:
    if line is None:
        return "-"
    if line.low is None or line.high is None or not with_interval:
        return f"{100 * line.value:.2f}{way}"
    return f"{100 * line.value:.2f}{way} ({100 * line.low:.1f} - {100 * line.high:.1f})"


def overview_of(rows: Iterable[Estimate], lines: Iterable[ReferenceLine]) -> Overview:
    """The overview of main measures, from the micro averages of contestants and all lines."""
    own = [row for row in rows if row.kind == "micro"]
    every = list(lines)
    named = [(row.benchmark, row.measure) for row in own]
    named += [(line.benchmark, line.measure) for line in every]
    columns = tuple(Column(*pair) for pair in dict.fromkeys(named))
    return Overview(
        columns,
        tuple(row for row in own if not is_reference(row.model)),
        tuple(sorted(every, key=lambda line: line.label != "chance")),
    )


def telling_lines(lines: Iterable[ReferenceLine]) -> list[ReferenceLine]:
    """Chance, and the strongest of a benchmark's other lines if it is clearly above chance."""
    every = list(lines)
    chance = [line for line in every if line.label == "chance"]
    level = max((line.value for line in chance), default=0.0)
    others = [line for line in every if not line.label.startswith("chance")]
    strongest = max(others, key=lambda line: line.value, default=None)
    if strongest is None:
        return chance
    surely = strongest.value if strongest.low is None else strongest.low
    return [*chance, *([strongest] if surely > level + 0.005 else [])]


def chance_lines(rows: Iterable[Estimate]) -> list[ReferenceLine]:
    """Chance on each benchmark; scorers and choosers may have different levels."""
    levels: dict[tuple[str, str], dict[float, None]] = {}
    for row in rows:
        if row.n:
            levels.setdefault((row.benchmark, row.measure), {})[round(row.chance, 9)] = None
    made = []
    for (benchmark, measure), found in levels.items():
        for level in found:
            # A scorer's answers follow from one order of its cells, so they are right together
            # more often than answers given one by one.
            label = "chance" if level == max(found) else ONE_BY_ONE
            made.append(ReferenceLine(label, benchmark, measure, level))
    return made


def reference_line(row: Estimate, label: str, benchmark: str) -> ReferenceLine:
    """The line of a run that never looks, from its score with ties halved."""
    name = line_name(label)
    value, low, high = row.value, row.low, row.high
    return ReferenceLine(name, benchmark, row.measure, value, low, high, "", row.decided_by)


def line_name(label: str) -> str:
    """The name of a run's line: a run of `chance` is not the chance level itself."""
    return f"{label} (as run)" if label == "chance" else label


def text_alone_line(benchmark: Benchmark, name: str, measure: str) -> ReferenceLine | None:
    """The strongest known attacker's score from the text alone, if the card has it.

    Only for the measure that this figure is a score of.
    """
    from tellapart.attack.text_alone import TextAlone, read_by  # attackers are slow to import

    known = TextAlone.of_card(benchmark.card.made, benchmark.sha256)
    if known is None or measure not in read_by(benchmark):
        return None
    own, note = known.overall, f"{known.attacker}; {known.source}"
    return ReferenceLine(TEXT_ALONE, name, measure, own.value, own.low, own.high, note)

"""FOIL's Table 4, the easiest and hardest target-foil pairs, and facts about benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import yaml

from tellapart import registry
from tellapart.attack.text_alone import TextAlone, text_alone
from tellapart.benchmark.benchmark import Benchmark
from tellapart.items import word_pair
from tellapart.measures.contestants import benchmark_labels, labels
from tellapart.measures.scores import estimates
from tellapart.models.names import ModelName
from tellapart.papers.figures import FigureColumn, tables_named
from tellapart.papers.table import OURS, PUBLISHED, BenchmarkFacts, system_of
from tellapart.score.run import Run
from tellapart.stats.shrinkage import shrunk_shares
from tellapart.text.table_text import aligned, escape
from tellapart.types import Progress, silent

MOST = 5
"""How many pairs are shown at either end."""
MEASURES = ("T1-foil", "T2-content")

Shares = tuple[tuple[str, float], ...]
"""Target-foil pairs with percentages, in order."""


@dataclass(frozen=True, slots=True)
class PairsRow:
    """The pairs that a system finds easiest and hardest by a measure."""

    name: str
    whose: str
    measure: str
    easiest: Shares
    hardest: Shares


@dataclass(frozen=True, slots=True)
class PublishedPairs:
    """A paper's table of pairs."""

    name: str
    title: str
    cites: str
    benchmark: str
    rows: tuple[PairsRow, ...]
    builds: bool = True
    columns: tuple[FigureColumn, ...] = ()


@dataclass(frozen=True, slots=True)
class PairsTable:
    """Published pairs with ours beside them."""

    name: str
    title: str
    rows: tuple[PairsRow, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return asdict(self)

    def _lines(self) -> list[tuple[str, ...]]:
        lines = []
        for row in self.rows:
            for k in range(max(len(row.easiest), len(row.hardest))):
                head = (row.name, row.whose, row.measure) if k == 0 else ("", "", "")
                cells = [
                    cell
                    for end in (row.easiest, row.hardest)
                    for cell in ((end[k][0], f"{end[k][1]:.2f}") if k < len(end) else ("", ""))
                ]
                lines.append((*head, *cells))
        return lines

    def shown(self) -> list[Sequence[str]]:
        """Column heads and cells as text."""
        return [("", "", "by", "easiest", "", "hardest", ""), *self._lines()]

    def text_columns(self) -> set[int]:
        """The positions of the shown columns that hold text."""
        return {0, 1, 2, 3, 5}

    def __str__(self) -> str:
        notes = [f"- {note}" for note in self.notes]
        table = aligned(self.shown(), self.text_columns())
        return "\n".join([f"{self.name}: {self.title}", table, *notes])

    def to_latex(self) -> str:
        """A booktabs table."""
        lines = [r"% needs \usepackage{booktabs}", *(f"% {escape(note)}" for note in self.notes)]
        lines += [r"\begin{tabular}{llllrlr}", r"\toprule"]
        lines += [r"System & & By & Easiest & & Hardest & \\", r"\midrule"]
        lines += [" & ".join(map(escape, line)) + r" \\" for line in self._lines()]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


@cache
def published_pairs() -> tuple[PublishedPairs, ...]:
    """All known tables of pairs."""
    found = []
    folder = resources.files("tellapart.papers") / "published"
    for file in sorted(folder.iterdir(), key=lambda one: one.name):
        if file.name.endswith(".yaml"):
            paper = yaml.safe_load(file.read_text(encoding="utf-8"))
            for name, table in paper.get("pairs", {}).items():
                rows = tuple(
                    PairsRow(
                        one["name"], PUBLISHED, one["measure"],
                        tuple(one["easiest"].items()), tuple(one["hardest"].items()),
                    )
                    for one in table["systems"]
                )  # fmt: skip
                cites = f"{paper['paper']}, {table['source']}"
                found.append(PublishedPairs(name, table["title"], cites, paper["benchmark"], rows))
    return tuple(found)


def pairs_named(name: str) -> tuple[PublishedPairs, ...]:
    """The tables of pairs of a name: `foil-4`, or all of a paper's: `foil`."""
    found = [one for one in published_pairs() if name in (one.name, one.name.split("-")[0])]
    if not found:
        tables_named(name)  # raises for an unknown name, with the known ones
    return tuple(found)


def pairs_table(published: PublishedPairs, runs: Sequence[Run]) -> PairsTable:
    """The published pairs, each row followed by ours for the same system and measure.

    Several trainings of a system on one benchmark are one row.
    """
    several = len({run.benchmark.sha256 for run in runs}) > 1
    paper = tables_named(published.name.split("-")[0])
    names = {row.system: row.name for table in paper for row in table.rows if row.system}
    trainings: dict[tuple[str, str], list[Run]] = {}
    for run, label, place in zip(runs, labels(runs), benchmark_labels(runs), strict=True):
        whose = f"{OURS}, {place}" if several else OURS
        options = dict(ModelName.parse(run.model).options)
        whose += f", images {options['images']}" if "images" in options else ""
        trainings.setdefault((names.get(system_of(run.model), label), whose), []).append(run)
    ours: dict[tuple[str, str], list[PairsRow]] = {}
    for (name, whose), own in trainings.items():
        for measure in MEASURES:
            row = _ends(own, measure, name, whose)
            if row is not None:
                ours.setdefault((name, measure), []).append(row)
    rows: list[PairsRow] = []
    for row in published.rows:
        rows += [row, *ours.pop((row.name, row.measure), [])]
    rows += [row for left in ours.values() for row in left]
    notes = (
        f"published: {published.cites}; the paper does not say among which words T2 chose",
        "ours: pairs are ordered by shares shrunk towards the mean, so that a pair with one item "
        "cannot come first; the plain share is shown",
    )
    return PairsTable(published.name, published.title, tuple(rows), notes)


def _ends(runs: Sequence[Run], measure: str, name: str, whose: str) -> PairsRow | None:
    """The easiest and hardest pairs of a system, over the answers of all its trainings."""
    values: dict[str, list[float]] = {}
    for run in runs:
        outcomes = registry.measures.get(measure).outcomes(run, "wrong")
        pairs = [word_pair(item) for item in run.benchmark.items]
        for item, value in zip(outcomes.item.tolist(), outcomes.value.tolist(), strict=True):
            pair = pairs[item]
            if pair is not None:
                values.setdefault("::".join(pair), []).append(value)
    if len(values) < 2:
        return None
    names = sorted(values)
    right = np.array([sum(values[pair]) for pair in names])
    sizes = np.array([len(values[pair]) for pair in names], np.float64)
    drawn = shrunk_shares(right, sizes).value
    order = sorted(range(len(names)), key=lambda k: (-drawn[k], names[k]))
    shares = [(names[k], float(100 * right[k] / sizes[k])) for k in order]
    most = min(MOST, len(shares) // 2)
    return PairsRow(name, whose, measure, tuple(shares[:most]), tuple(shares[::-1][:most]))


def facts_of(runs: Sequence[Run], progress: Progress = silent) -> tuple[BenchmarkFacts, ...]:
    """Chance and the text-alone score of the benchmarks of some runs, and how each was made."""
    found = {}
    for run, place in zip(runs, benchmark_labels(runs), strict=True):
        if place not in found:
            alone = text_alone(run.benchmark, progress=progress)
            own = BenchmarkFacts(place, _about(run.benchmark, alone), _chances(run), _shares(alone))
            found[place] = own
    return tuple(found.values())


def _chances(run: Run) -> dict[str, float]:
    """The chance level in percent, by measure."""
    levels: dict[str, float] = {}
    for name in ("T1", "T1-correct", "T1-foil", "T2-nouns", "T2-content", "T3", "T3@substitution"):
        rows = estimates(run, registry.measures.get(name), by_kind=False, resamples=2)
        levels.update((name, 100 * row.chance) for row in rows)
    return levels


def _shares(alone: TextAlone | None) -> dict[str, float]:
    if alone is None:
        return {}
    return {"": 100 * alone.overall.value, **{hit.kind: 100 * hit.value for hit in alone.kinds}}


def _about(benchmark: Benchmark, alone: TextAlone | None) -> str:
    """How a benchmark was made, and its text-alone score."""
    made = benchmark.card.made
    parts = [f"{len(benchmark):,} items on {len(benchmark.images):,} images"]
    if builder := str(made.get("by", "")).partition("tellapart build ")[2]:
        parts.append(f"built by `tellapart build {builder}`, not the published ones")
    parts += [str(made[key]) for key in ("hardest", "split") if made.get(key)]
    parts += [str(alone)] if alone else []
    return "; ".join(parts)

"""Outcomes: what a measure reads off a run, unit by unit, before anything is averaged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from tellapart.benchmark.benchmark import Benchmark
from tellapart.items import Item
from tellapart.measures.ties import Bools, Floats, TieRule
from tellapart.questions import Ask
from tellapart.score.run import Run

Ints = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Outcomes:
    """One entry a unit: its item's index, how right it is (0 to 1), and what is to be known of it.

    A failed unit counts as wrong and stays in; `left_out` marks ties under the rule `drop`.
    """

    item: Ints
    value: Floats
    tied: Bools
    failed: Bools
    chance: Floats
    left_out: Bools

    @classmethod
    def joined(cls, parts: list[Outcomes]) -> Outcomes:
        """Several sets of outcomes as one, in the order of the items."""
        if not parts:
            none, no = np.zeros(0), np.zeros(0, dtype=bool)
            return cls(np.zeros(0, dtype=np.intp), none, no, no, none, no)
        fields = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in cls.__dataclass_fields__
        }
        order = np.argsort(fields["item"], kind="stable")
        return cls(**{name: column[order] for name, column in fields.items()})

    def kept(self, rule: TieRule) -> Outcomes:
        """Without the units that the rule leaves out."""
        return self.where(~self.left_out) if rule == "drop" else self

    def where(self, keep: Bools) -> Outcomes:
        """Some of the units."""
        return Outcomes(*(getattr(self, name)[keep] for name in self.__dataclass_fields__))


class Measure(Protocol):
    """A measure is a value: its name builds it again."""

    @property
    def name(self) -> str:
        """What it prints and is called by."""
        ...

    @property
    def about(self) -> str:
        """One line of explanation."""
        ...

    @property
    def cites(self) -> str:
        """Where it is defined."""
        ...

    @property
    def asks(self) -> frozenset[Ask]:
        """The questions that it reads."""
        ...

    def outcomes(self, run: Run, ties: TieRule) -> Outcomes:
        """What the run answered, unit by unit; empty where the measure does not apply."""
        ...


@dataclass(frozen=True, slots=True)
class Pattern:
    """Items with the same grid and the same truth: their questions are the same."""

    images: int
    captions: int
    example: Item
    items: Ints

    def column(self, image: int, caption: int) -> int:
        """The cell's place when the grid is written in one row."""
        return image * self.captions + caption


@lru_cache(maxsize=16)
def patterns(benchmark: Benchmark, covered: frozenset[str]) -> tuple[Pattern, ...]:
    """The covered items, by pattern."""
    together: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for index, item in enumerate(benchmark.items):
        if item.id in covered:
            key = (len(item.images), len(item.captions), item.true, item.original)
            together[key].append(index)
    return tuple(
        Pattern(
            len(benchmark.items[places[0]].images),
            len(benchmark.items[places[0]].captions),
            benchmark.items[places[0]],
            np.array(places, dtype=np.intp),
        )
        for places in together.values()
    )


@lru_cache(maxsize=16)
def grid_scores(run: Run) -> tuple[Floats, Ints]:
    """All cells of all items in one array (NaN for what is missing), and where each item begins."""
    sizes = [len(item.images) * len(item.captions) for item in run.benchmark.items]
    begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    flat = np.full(int(begins[-1]), np.nan)
    plain = run.scores.filter(pl.col("edit") == "")
    if plain.height:
        places = pl.DataFrame(
            {
                "item": [item.id for item in run.benchmark.items],
                "begin": begins[:-1],
                "width": [len(item.captions) for item in run.benchmark.items],
            }
        )
        joined = plain.join(places, on="item", how="left", maintain_order="left")
        where = joined["begin"] + joined["image"] * joined["width"] + joined["caption"]
        flat[where.to_numpy()] = joined["score"].to_numpy()
    return flat, begins


def pattern_scores(run: Run) -> Iterator[tuple[Pattern, Floats]]:
    """For each pattern, its items' grids as rows (NaN for what is missing)."""
    flat, begins = grid_scores(run)
    for pattern in patterns(run.benchmark, run.covered):
        cells = np.arange(pattern.images * pattern.captions)
        yield pattern, flat[begins[pattern.items][:, None] + cells]


@lru_cache(maxsize=16)
def choices_made(run: Run) -> dict[tuple[str, str], list[tuple[int, int | None]]]:
    """A chooser's answers by item and question: (trial, choice or None)."""
    found: dict[tuple[str, str], list[tuple[int, int | None]]] = defaultdict(list)
    columns = run.answers.select("item", "question", "trial", "choice").sort("trial")
    for item, question, trial, choice in columns.iter_rows():
        found[item, question].append((trial, choice))
    return found

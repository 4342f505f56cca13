"""What all forms share: items are looked up, places seen once, what is missing named."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput, Problems
from tellapart.items import Item
from tellapart.models.model import ModelKind
from tellapart.questions import Ask, Question, questions
from tellapart.score.run import Failure

Part = tuple[str, tuple[Any, ...]]
"""The name of what a row answers, and the row as a run keeps it."""


class Form:
    """A form of table; the ones beside this file say which columns it has and what a row means."""

    kind: ModelKind
    columns: ClassVar[tuple[str, ...]]

    def __init__(self, benchmark: Benchmark, path: Path, problems: Problems) -> None:
        self.benchmark, self.path, self.problems = benchmark, path, problems
        self.seen: set[tuple[str, str]] = set()

    @classmethod
    def fits(cls, columns: list[str]) -> bool:
        """Whether a table with these columns has this form."""
        return set(cls.columns) <= set(columns)

    def wanted(self, columns: list[str]) -> list[str]:
        """The columns that `parts` reads, the item's first."""
        return list(self.columns)

    def needs(self, item: Item) -> list[str]:
        """The names of all that an item needs an answer to."""
        raise NotImplementedError

    def parts(self, item: Item, row: dict[str, Any]) -> Iterator[Part]:
        """What a row of the table answers about its item."""
        raise NotImplementedError

    def item_of(self, row: dict[str, Any]) -> Item:
        """The item that a row is about."""
        found = self.benchmark.by_id.get(str(row["item"]))
        if found is None:
            example = self.benchmark.items[0].id
            raise BadInput(
                f"there is no item {row['item']!r} in {self.benchmark.name}",
                allowed=f"ids of its {len(self.benchmark.items):,} items, such as {example}",
            )
        return found

    def read(self, table: pl.DataFrame) -> list[tuple[Any, ...]]:
        """The rows that fit, in the order of the benchmark's items."""
        kept: dict[str, list[tuple[Any, ...]]] = {}
        wanted = self.wanted(table.columns)
        for number, row in enumerate(table.select(wanted).iter_rows(named=True), 1):
            try:
                item = self.item_of(row)
                for part, answer in self.parts(item, row):
                    if (item.id, part) in self.seen:
                        raise BadInput(f"{part} of item {item.id} is there twice", allowed="once")
                    self.seen.add((item.id, part))
                    kept.setdefault(item.id, []).append(answer)
            except BadInput as problem:
                problem.where = f"{self.path}, row {number}"
                self.problems.add(problem)
        return [row for item in self.benchmark.items for row in sorted(kept.get(item.id, []))]

    def missing(self) -> list[Failure]:
        """Parts of items that no row answers."""
        failures = []
        touched = {item for item, _ in self.seen}
        for item in self.benchmark.items:
            needed = self.needs(item)
            absent = [part for part in needed if (item.id, part) not in self.seen]
            if absent:
                more = f" (and {len(absent) - 1} more of it)" if len(absent) > 1 else ""
                self.problems.add(
                    BadInput(
                        f"item {item.id} has no row for {absent[0]}{more}",
                        where=str(self.path),
                        allowed="a row for each of " + ", ".join(needed),
                        todo="add the missing rows",
                    )
                )
            if item.id in touched:
                failures += [Failure(item.id, part, "not in the table") for part in absent]
        return failures

    @cached_property
    def asks(self) -> frozenset[Ask]:
        """The questions that a table of answers must answer: those of choice."""
        return frozenset({Ask.CAPTION, Ask.IMAGE})

    def asked(self, item: Item) -> list[Question]:
        """An item's questions of choice."""
        return list(questions(item, self.asks))


def place_of(value: Any, things: tuple[str, ...], noun: str, item: Item) -> int:
    """A place in the item, given as such, as an id or as a text."""
    text = str(value)
    if text in things:
        return things.index(text)
    if text in map(str, range(len(things))):
        return int(text)
    raise BadInput(
        f"item {item.id} has no {noun} {value!r}",
        allowed=f"0 to {len(things) - 1}, or one of " + ", ".join(map(repr, things)),
    )


def answer_row(question: Question, choice: int) -> tuple[Any, ...]:
    """An answer as a run keeps it."""
    order = list(range(len(question.options)))
    return question.item.id, question.id, 0, order, choice, "answered", ""

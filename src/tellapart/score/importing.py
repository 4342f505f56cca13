"""The verb `import`: answers that were computed elsewhere become a run like any other.

Two forms of table are read (CSV, TSV, JSONL, Parquet, each also gzipped): scores, with the columns
item, image, caption, score; and choices, with the columns item, question, choice. Images and
captions are given by their place in the item (0, 1, ...), by image id or by the caption's text;
questions as `tellapart show` prints them, such as caption@0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from tellapart.benchmark.benchmark import Benchmark, load_benchmark
from tellapart.errors import BadInput, Problems, UnknownName
from tellapart.items import Item
from tellapart.models.model import ModelKind
from tellapart.questions import Ask, Question, questions
from tellapart.score.engine import versions
from tellapart.score.run import (
    Failure,
    Run,
    RunCard,
    answers_frame,
    save_run,
    scores_frame,
)  # fmt: skip
from tellapart.tables import read_table, require_columns

SCORES = ("item", "image", "caption", "score")
CHOICES = ("item", "question", "choice")


def import_scores(
    benchmark: Benchmark | Path | str,
    table: Path | str,
    *,
    name: str,
    out: Path | str,
    skip_bad: bool = False,
    overwrite: bool = False,
) -> Run:
    """Make a run called `name` from a table of scores or choices.

    Every cell (or question) of every item must be there once. With `skip_bad` rows that fit
    nothing are left out and listed, cells that are missing are recorded as failures, and items
    that are missing altogether are not covered by the run.
    """
    benchmark = benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark)
    path = Path(table)
    rows = read_table(path)
    problems = Problems(skip=skip_bad)
    reader = _Choices if "question" in rows.columns or "choice" in rows.columns else _Cells
    reading = reader(benchmark, path, problems)
    require_columns(rows, reading.columns, path)
    kept = reading.read(rows)
    failures = reading.missing()
    problems.settle()
    card = RunCard(
        model=name,
        kind=reading.kind,
        benchmark=benchmark.name,
        benchmark_sha256=benchmark.sha256,
        made_by=f"import of {path.name}",
        versions=versions(),
    )
    scorer = reading.kind == "scorer"
    run = Run(
        card,
        benchmark,
        scores_frame(kept if scorer else []),
        answers_frame([] if scorer else kept),
        tuple(failures),
    )
    return save_run(run, Path(out), overwrite=overwrite)


class _Table:
    """What both forms share: items are looked up, places seen once, what is missing named."""

    columns: tuple[str, ...]
    kind: ModelKind

    def __init__(self, benchmark: Benchmark, path: Path, problems: Problems) -> None:
        self.benchmark, self.path, self.problems = benchmark, path, problems
        self.seen: set[tuple[str, str]] = set()

    def parts(self, item: Item) -> Iterable[str]:
        """The names of all that an item needs an answer to."""
        raise NotImplementedError

    def row(self, item: Item, *values: Any) -> tuple[str, tuple[Any, ...]]:
        """The part that a row answers, and the row as it is kept."""
        raise NotImplementedError

    def read(self, table: pl.DataFrame) -> list[Any]:
        """The rows that fit, in the order of the benchmark's items."""
        kept: dict[str, list[tuple[Any, ...]]] = {}
        for number, (item_id, *values) in enumerate(table.select(self.columns).iter_rows(), 1):
            try:
                item = self._item(item_id)
                part, row = self.row(item, *values)
                if (item.id, part) in self.seen:
                    raise BadInput(f"{part} of item {item.id} is there twice", allowed="once")
            except BadInput as problem:
                problem.where = f"{self.path}, row {number}"
                self.problems.add(problem)
                continue
            self.seen.add((item.id, part))
            kept.setdefault(item.id, []).append(row)
        return [row for item in self.benchmark.items for row in sorted(kept.get(item.id, []))]

    def _item(self, item_id: Any) -> Item:
        found = self.benchmark.by_id.get(str(item_id))
        if found is None:
            example = self.benchmark.items[0].id
            raise BadInput(
                f"there is no item {item_id!r} in {self.benchmark.name}",
                allowed=f"ids of its {len(self.benchmark.items):,} items, such as {example}",
            )
        return found

    def missing(self) -> list[Failure]:
        """Parts of items that no row answers."""
        failures = []
        touched = {item for item, _ in self.seen}
        for item in self.benchmark.items:
            absent = [part for part in self.parts(item) if (item.id, part) not in self.seen]
            if absent:
                more = f" (and {len(absent) - 1} more of it)" if len(absent) > 1 else ""
                self.problems.add(
                    BadInput(
                        f"item {item.id} has no row for {absent[0]}{more}",
                        where=str(self.path),
                        allowed="a row for each of " + ", ".join(self.parts(item)),
                        todo="add the missing rows",
                    )
                )
            if item.id in touched:
                failures += [Failure(item.id, part, "not in the table") for part in absent]
        return failures


class _Cells(_Table):
    columns = SCORES
    kind: ModelKind = "scorer"

    def parts(self, item: Item) -> list[str]:
        return [f"{i},{j}" for i in range(len(item.images)) for j in range(len(item.captions))]

    def row(self, item: Item, *values: Any) -> tuple[str, tuple[Any, ...]]:
        image, caption, score = values
        i = _place(image, item.images, "image", item)
        j = _place(caption, item.captions, "caption", item)
        return f"{i},{j}", (item.id, i, j, "", _number(score, item))


class _Choices(_Table):
    columns = CHOICES
    kind: ModelKind = "chooser"

    def parts(self, item: Item) -> list[str]:
        return [question.id for question in _asked(item)]

    def row(self, item: Item, *values: Any) -> tuple[str, tuple[Any, ...]]:
        name, choice = values
        by_name = {question.id: question for question in questions(item, frozenset(Ask))}
        if name not in by_name:
            raise BadInput(
                f"item {item.id} has no question {name!r}", allowed=", ".join(by_name) or "none"
            )
        place = _option(by_name[name], choice, item)
        order = list(range(len(by_name[name].options)))
        return str(name), (item.id, name, 0, order, place, "answered", "")


def _asked(item: Item) -> list[Question]:
    return list(questions(item, frozenset({Ask.CAPTION, Ask.IMAGE})))


def _place(value: Any, things: tuple[str, ...], noun: str, item: Item) -> int:
    """A place in the item, given as such, as an id or as a text."""
    if str(value) in things:
        return things.index(str(value))
    if str(value).isdecimal() and int(str(value)) < len(things):
        return int(str(value))
    raise BadInput(
        f"item {item.id} has no {noun} {value!r}",
        allowed=f"0 to {len(things) - 1}, or one of " + ", ".join(map(repr, things)),
    )


def _option(question: Question, value: Any, item: Item) -> int:
    options = [str(option) for option in question.options]
    if question.ask is Ask.CAPTION:
        return _place(value, item.captions, "caption", item)
    if question.ask is Ask.IMAGE:
        return _place(value, item.images, "image", item)
    if str(value) in options:
        return options.index(str(value))
    error = UnknownName(f"answer to {question.id} of item {item.id}", str(value), options)
    raise BadInput(error.what, allowed=error.allowed, todo=error.todo)


def _number(value: Any, item: Item) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise BadInput(f"a score of item {item.id} is {value!r}", allowed="a finite number")
    return number

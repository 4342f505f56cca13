"""Answers computed elsewhere: the table formats in which they come.

Scores (one row or one column per cell), choices, and BISON's predictions file; `outcome_tables` has
the formats that only say right or wrong. Items are looked up, each part must occur once, and
missing parts are named. A position given as a number is ambiguous if options were shuffled, unless
the user says whose order is meant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from tellapart.benchmark.benchmark import Benchmark
from tellapart.benchmark.source_order import Side, is_shuffled, source_order
from tellapart.errors import BadInput, Problems, UnknownName
from tellapart.items import Item
from tellapart.models.model import ModelKind
from tellapart.questions import Ask, Question, questions
from tellapart.score.run import SCORE_COLUMNS, Failure

NamedAnswer = tuple[str, tuple[Any, ...]]
"""The name of the part that a row answers, and the row in a run's format."""

Order = Literal["", "shown", "source"]
"""Whose positions the numbers in a table are: this benchmark's, or its source's."""


class UnclearOrder(BadInput):
    """A position is given as a number, and the source has another option there."""

    def __init__(self, benchmark: Benchmark, item: Item, side: Side) -> None:
        order = getattr(source_order(item), side)
        super().__init__(
            f"the table gives {side} by position, and the options of {benchmark.name} were "
            f"shuffled on import: position 0 of item {item.id} was position {order[0]} of its "
            "source",
            allowed="--order source for a table that follows the authors' files, --order shown "
            "for one that follows this benchmark as `tellapart show` prints it",
            todo="choose one with --order, or give images by id and captions by text",
        )


class AnswerTable:
    """A table format; each subclass defines its columns and what a row means."""

    kind: ModelKind
    columns: ClassVar[tuple[str, ...]]

    def __init__(
        self, benchmark: Benchmark, path: Path, problems: Problems, order: Order = ""
    ) -> None:
        self.benchmark, self.path, self.problems, self.order = benchmark, path, problems, order
        self.seen: set[tuple[str, str]] = set()

    @classmethod
    def fits(cls, columns: list[str]) -> bool:
        """Whether a table with these columns has this format."""
        return set(cls.columns) <= set(columns)

    def wanted(self, columns: list[str]) -> list[str]:
        """The columns that `parts` reads, the item's first."""
        return list(self.columns)

    def needs(self, item: Item) -> list[str]:
        """The names of all parts of an item that need an answer."""
        raise NotImplementedError

    def parts(self, item: Item, row: dict[str, Any]) -> Iterator[NamedAnswer]:
        """The answers in a row of the table."""
        raise NotImplementedError

    def item_of(self, row: dict[str, Any]) -> Item:
        """The item that a row is about."""
        found = self._by_id.get(str(row["item"]))
        if found is None:
            example = self.benchmark.items.ids[0]
            raise BadInput(
                f"there is no item {row['item']!r} in {self.benchmark.name}",
                allowed=f"ids of its {len(self.benchmark.items):,} items, such as {example}",
            )
        return found

    @cached_property
    def _by_id(self) -> dict[str, Item]:
        return {item.id: item for item in self.benchmark.items}

    def whole(self, table: pl.DataFrame) -> pl.DataFrame | None:
        """All rows together in a run's format; None if any row must be read by itself."""
        return None

    def read(self, table: pl.DataFrame) -> list[tuple[Any, ...]]:
        """The valid rows, in the order of the benchmark's items."""
        kept: dict[str, list[tuple[Any, ...]]] = {}
        wanted = self.wanted(table.columns)
        for number, row in enumerate(table.select(wanted).iter_rows(named=True), 1):
            try:
                item = self.item_of(row)
                for part, answer in self.parts(item, row):
                    if (item.id, part) in self.seen:
                        raise BadInput(f"{part} of item {item.id} occurs twice", allowed="once")
                    self.seen.add((item.id, part))
                    kept.setdefault(item.id, []).append(answer)
            except BadInput as problem:
                problem.where = f"{self.path}, row {number}"
                if isinstance(problem, UnclearOrder):
                    raise
                self.problems.add(problem)
        return [row for item in self.benchmark.items.ids for row in sorted(kept.get(item, []))]

    def missing(self) -> list[Failure]:
        """Parts of items that no row answers."""
        failures = []
        touched = {item for item, _ in self.seen}
        for item in self._by_id.values():
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

    # Positions

    def place(self, value: Any, side: Side, item: Item) -> int:
        """A position in the item, given as a number, an id or a text (white space aside).

        A number that is also an image's own name means that image, unless `order` says whose
        positions numbers are.
        """
        things: tuple[str, ...] = getattr(item, side)
        text = str(value)
        is_place = text in map(str, range(len(things)))
        if text in things and not (is_place and self.order):
            return things.index(text)
        if is_place:
            return self.placed(int(text), side, item)
        trimmed = list(map(collapsed, things))
        if collapsed(text) in trimmed:
            return trimmed.index(collapsed(text))
        raise BadInput(
            f"item {item.id} has no {side.removesuffix('s')} {value!r}",
            allowed=f"0 to {len(things) - 1}, or one of " + ", ".join(map(repr, things)),
        )

    def placed(self, place: int, side: Side, item: Item) -> int:
        """The item's position of an option that a row gives by number."""
        order = source_order(item)
        if self.order == "shown" or not order.moved(side):
            return place
        if self.order == "source":
            return order.here(side, place)
        raise UnclearOrder(self.benchmark, item, side)

    def named(self, item: Item, name: Any, asks: frozenset[Ask]) -> Question:
        """The question of a name such as `caption@0`, whose numbers are positions."""
        found = list(questions(item, asks))
        ask, _, shown = str(name).partition("@")
        sides: tuple[Side, ...] = SHOWN.get(ask, ("images", "captions"))
        places = shown.split(",")
        if len(places) == len(sides) and all(re.fullmatch(r"\d{1,9}", one) for one in places):
            given = zip(map(int, places), sides, strict=True)
            sized = [(k, side) for k, side in given if k < len(getattr(item, side))]
            if len(sized) == len(sides):
                name = f"{ask}@{','.join(str(self.placed(k, side, item)) for k, side in sized)}"
        for question in found:
            if question.id == name:
                return question
        raise BadInput(
            f"item {item.id} has no question {name!r}",
            allowed=", ".join(question.id for question in found) or "none",
        )

    # Questions

    @cached_property
    def asks(self) -> frozenset[Ask]:
        """The questions that a table of answers must answer: choice questions."""
        return frozenset({Ask.CAPTION, Ask.IMAGE})

    def asked(self, item: Item) -> list[Question]:
        """An item's choice questions."""
        return list(questions(item, self.asks))


def collapsed(text: str) -> str:
    """A text without white space at its ends, and with single spaces inside."""
    return " ".join(text.split())


def answer_row(
    question: Question, choice: int | None, trial: int = 0, order: list[int] | None = None
) -> tuple[Any, ...]:
    """An answer in a run's format; without a choice it failed."""
    shown = list(range(len(question.options))) if order is None else order
    status = "failed" if choice is None else "answered"
    return question.item.id, question.id, trial, shown, choice, status, ""


SHOWN: dict[str, tuple[Side, ...]] = {"caption": ("images",), "image": ("captions",)}
"""What is shown with a question, by its name: for all others, an image and a caption."""

CELL_COLUMN = re.compile(r"(?:score|cell|s)?[ _]?(\d{1,9})[ ,_x](\d{1,9})", re.IGNORECASE)


class LongScores(AnswerTable):
    """item, image, caption, score: a row for each cell."""

    kind: ModelKind = "scorer"
    columns: ClassVar[tuple[str, ...]] = ("item", "image", "caption", "score")

    def needs(self, item: Item) -> list[str]:
        """Every cell of the grid."""
        return [f"{i},{j}" for i in range(len(item.images)) for j in range(len(item.captions))]

    def whole(self, table: pl.DataFrame) -> pl.DataFrame | None:
        """A table with every cell of every item once, by number, needs no lookup by row."""
        items = self.benchmark.items
        if self.order != "shown" and is_shuffled(items):
            return None
        given = table.select(self.columns)
        kinds = given.schema
        numbers = kinds["image"].is_integer() and kinds["caption"].is_integer()
        if kinds["item"] != pl.String or not numbers or not kinds["score"].is_numeric():
            return None
        if given.null_count().sum_horizontal().item() or not given["score"].is_finite().all():
            return None
        images, captions = items.shape
        # A number that is an image's or caption's own name means that one, not a position.
        places = [str(k) for k in range(max(images.max(initial=0), captions.max(initial=0)))]
        if any(items.frame[name].explode().is_in(places).any() for name in ("images", "captions")):
            return None
        cells = int((images * captions).sum())
        if given.height != cells or not given["item"].is_in(items.ids.implode()).all():
            return None
        item = items.places_of(given["item"])
        image, caption = given["image"].to_numpy(), given["caption"].to_numpy()
        inside = (image >= 0) & (caption >= 0)
        inside &= (image < images[item]) & (caption < captions[item])
        begins = np.cumsum(images * captions) - images * captions
        place = np.where(inside, begins[item] + image * captions[item] + caption, -1)
        order = np.argsort(place, kind="stable")
        if not np.array_equal(place[order], np.arange(cells)):
            return None
        found = given if np.array_equal(order, np.arange(cells)) else given[order]
        return found.with_columns(edit=pl.lit("")).select(
            pl.col(name).cast(kind) for name, kind in SCORE_COLUMNS.items()
        )

    def parts(self, item: Item, row: dict[str, Any]) -> Iterator[NamedAnswer]:
        """The cell of the row."""
        i = self.place(row["image"], "images", item)
        j = self.place(row["caption"], "captions", item)
        yield f"{i},{j}", (item.id, i, j, "", number(row["score"], item))


class WideScores(LongScores):
    """item and one column per cell, named by image and caption: 0,0 or s_0_1 or score_1_0."""

    columns: ClassVar[tuple[str, ...]] = ("item",)

    @classmethod
    def fits(cls, columns: list[str]) -> bool:
        """Whether a column is named like a cell."""
        return "item" in columns and any(CELL_COLUMN.fullmatch(name) for name in columns)

    def whole(self, table: pl.DataFrame) -> pl.DataFrame | None:
        """There are only as many rows as items, so they are read one by one."""
        return None

    def wanted(self, columns: list[str]) -> list[str]:
        """The item and all cells."""
        return ["item", *(name for name in columns if CELL_COLUMN.fullmatch(name))]

    def parts(self, item: Item, row: dict[str, Any]) -> Iterator[NamedAnswer]:
        """All cells of an item; columns beyond its grid must be empty."""
        for name, value in row.items():
            match = CELL_COLUMN.fullmatch(name)
            if match is None or value is None or value == "":
                continue
            i, j = int(match.group(1)), int(match.group(2))
            if i >= len(item.images) or j >= len(item.captions):
                raise BadInput(
                    f"item {item.id} has no cell {name}",
                    allowed=f"{len(item.images)} images x {len(item.captions)} captions",
                )
            i, j = self.placed(i, "images", item), self.placed(j, "captions", item)
            yield f"{i},{j}", (item.id, i, j, "", number(value, item))


def number(value: Any, item: Item) -> float:
    """A score, which must be a finite number."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise BadInput(f"a score of item {item.id} is {value!r}", allowed="a finite number")
    return found


class LongChoices(AnswerTable):
    """item, question, choice: a row for each question, named as `tellapart show` prints it.

    A question asked several times has a row for each `trial` (0, 1, ...), and `order` has the
    positions of its options in the order in which they were shown.
    """

    kind: ModelKind = "chooser"
    columns: ClassVar[tuple[str, ...]] = ("item", "question", "choice")
    more: ClassVar[tuple[str, ...]] = ("trial", "order", "status")

    def wanted(self, columns: list[str]) -> list[str]:
        """The required columns and the optional ones."""
        return [*self.columns, *(name for name in self.more if name in columns)]

    def needs(self, item: Item) -> list[str]:
        """Every choice question, in every trial that occurs in the table."""
        asked = self.asked(item)
        return [f"{question.id} {trial}".strip() for trial in self._trials for question in asked]

    @cached_property
    def _trials(self) -> list[str]:
        return sorted({part.partition(" ")[2] for _, part in self.seen}) or [""]

    def parts(self, item: Item, row: dict[str, Any]) -> Iterator[NamedAnswer]:
        """The answer of the row."""
        question = self.named(item, row["question"], frozenset(Ask))
        trial = self._trial(row, item)
        order = self._shown(row, question)
        failed = row.get("status") == "failed" and row["choice"] in (None, "")
        choice = None if failed else self.option(question, row["choice"])
        part = f"{question.id} trial {trial}" if "trial" in row else question.id
        yield part, answer_row(question, choice, trial, order)

    def _trial(self, row: dict[str, Any], item: Item) -> int:
        text = str(row.get("trial", 0))
        if not re.fullmatch(r"\d{1,9}", text):
            raise BadInput(f"a trial of item {item.id} is {row['trial']!r}", allowed="0, 1, ...")
        return int(text)

    def _shown(self, row: dict[str, Any], question: Question) -> list[int] | None:
        """The positions of a question's options in the order in which they were shown."""
        given = row.get("order")
        if given is None or given == "":
            return None
        listed = given if isinstance(given, list) else re.split(r"[\s,]+", str(given).strip("[] "))
        order = [self.option(question, one) for one in listed]
        if sorted(order) != list(range(len(question.options))):
            raise BadInput(
                f"the order of {question.id} of item {question.item.id} is {given!r}",
                allowed=f"each of its {len(question.options)} options once",
            )
        return order

    def option(self, question: Question, value: Any) -> int:
        """The position, among a question's options, of the option that an answer names."""
        item = question.item
        if question.ask in (Ask.CAPTION, Ask.IMAGE):
            return self.place(value, "captions" if question.ask is Ask.CAPTION else "images", item)
        options = [str(option) for option in question.options]
        if str(value) in options:
            return options.index(str(value))
        error = UnknownName(f"answer to {question.id} of item {item.id}", str(value), options)
        raise BadInput(error.what, allowed=error.allowed, todo=error.todo)


class BisonPredictions(AnswerTable):
    """bison_id, predicted_image_id: the predictions file of the BISON authors."""

    kind: ModelKind = "chooser"
    columns: ClassVar[tuple[str, ...]] = ("bison_id", "predicted_image_id")

    def item_of(self, row: dict[str, Any]) -> Item:
        """Items imported from COCO-BISON are named bison:ID."""
        return super().item_of({"item": f"bison:{row['bison_id']}"})

    def needs(self, item: Item) -> list[str]:
        """The only question."""
        return ["image@0"]

    def parts(self, item: Item, row: dict[str, Any]) -> Iterator[NamedAnswer]:
        """The chosen image."""
        (question,) = self.asked(item)
        named = str(row["predicted_image_id"])  # an id, never a position
        if named not in item.images:
            raise BadInput(
                f"item {item.id} has no image {named}", allowed=", ".join(map(repr, item.images))
            )
        choice = item.images.index(named)
        yield question.id, answer_row(question, choice)

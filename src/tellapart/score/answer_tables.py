"""Answers that were computed elsewhere: the forms of table in which they come.

Scores (a row or a column a cell), choices, outcomes (right or wrong for each question) and BISON's
predictions file. Items are looked up, every place is seen once, and what is missing is named.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput, Problems, UnknownName
from tellapart.items import Item
from tellapart.models.model import ModelKind
from tellapart.questions import Ask, Question, questions
from tellapart.score.run import SCORE_COLUMNS, Failure

NamedAnswer = tuple[str, tuple[Any, ...]]
"""The name of what a row answers, and the row as a run keeps it."""


class AnswerTable:
    """A form of table; those below say which columns it has and what a row means."""

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

    def parts(self, item: Item, row: dict[str, Any]) -> Iterator[NamedAnswer]:
        """What a row of the table answers about its item."""
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
        """All rows at once as a run keeps them; None where any of them needs a closer look."""
        return None

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


CELL_COLUMN = re.compile(r"(?:score|cell|s)?[ _]?(\d{1,9})[ ,_x](\d{1,9})", re.IGNORECASE)


class LongScores(AnswerTable):
    """item, image, caption, score: a row for each cell."""

    kind: ModelKind = "scorer"
    columns: ClassVar[tuple[str, ...]] = ("item", "image", "caption", "score")

    def needs(self, item: Item) -> list[str]:
        """Every cell of the grid."""
        return [f"{i},{j}" for i in range(len(item.images)) for j in range(len(item.captions))]

    def whole(self, table: pl.DataFrame) -> pl.DataFrame | None:
        """Every cell of every item once, by numbers: then nothing is to be looked up or said."""
        items = self.benchmark.items
        given = table.select(self.columns)
        kinds = given.schema
        numbers = kinds["image"].is_integer() and kinds["caption"].is_integer()
        if kinds["item"] != pl.String or not numbers or not kinds["score"].is_numeric():
            return None
        if given.null_count().sum_horizontal().item() or not given["score"].is_finite().all():
            return None
        images, captions = items.shape
        # A number that is some image's or caption's own name means that one, not a place.
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
        """One cell."""
        i = place_of(row["image"], item.images, "image", item)
        j = place_of(row["caption"], item.captions, "caption", item)
        yield f"{i},{j}", (item.id, i, j, "", number(row["score"], item))


class WideScores(LongScores):
    """item and a column a cell, named by image and caption: 0,0 or s_0_1 or score_1_0."""

    columns: ClassVar[tuple[str, ...]] = ("item",)

    @classmethod
    def fits(cls, columns: list[str]) -> bool:
        """Whether there is a column that is named like a cell."""
        return "item" in columns and any(CELL_COLUMN.fullmatch(name) for name in columns)

    def whole(self, table: pl.DataFrame) -> pl.DataFrame | None:
        """Rows are as many as items: they are read one by one."""
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


class Choices(AnswerTable):
    """item, question, choice: a row for each question, named as `tellapart show` prints it."""

    kind: ModelKind = "chooser"
    columns: ClassVar[tuple[str, ...]] = ("item", "question", "choice")

    def needs(self, item: Item) -> list[str]:
        """Every question of choice."""
        return [question.id for question in self.asked(item)]

    def parts(self, item: Item, row: dict[str, Any]) -> Iterator[NamedAnswer]:
        """One answer."""
        by_name = {question.id: question for question in questions(item, frozenset(Ask))}
        if not isinstance(row["question"], str) or row["question"] not in by_name:
            raise BadInput(
                f"item {item.id} has no question {row['question']!r}",
                allowed=", ".join(by_name) or "none",
            )
        question = by_name[row["question"]]
        yield question.id, answer_row(question, option_of(question, row["choice"]))


class BisonPredictions(AnswerTable):
    """bison_id, predicted_image_id: the predictions file of the BISON authors."""

    kind: ModelKind = "chooser"
    columns: ClassVar[tuple[str, ...]] = ("bison_id", "predicted_image_id")

    def item_of(self, row: dict[str, Any]) -> Item:
        """Items that were imported from COCO-BISON are called bison:ID."""
        return super().item_of({"item": f"bison:{row['bison_id']}"})

    def needs(self, item: Item) -> list[str]:
        """The one question."""
        return ["image@0"]

    def parts(self, item: Item, row: dict[str, Any]) -> Iterator[NamedAnswer]:
        """The image that was picked."""
        (question,) = self.asked(item)
        choice = place_of(row["predicted_image_id"], item.images, "image", item)
        yield question.id, answer_row(question, choice)


def option_of(question: Question, value: Any) -> int:
    """The place among a question's options that an answer names."""
    item = question.item
    if question.ask is Ask.CAPTION:
        return place_of(value, item.captions, "caption", item)
    if question.ask is Ask.IMAGE:
        return place_of(value, item.images, "image", item)
    options = [str(option) for option in question.options]
    if str(value) in options:
        return options.index(str(value))
    error = UnknownName(f"answer to {question.id} of item {item.id}", str(value), options)
    raise BadInput(error.what, allowed=error.allowed, todo=error.todo)


SIDES = {
    "ipos2t": (Ask.CAPTION, True),
    "ineg2t": (Ask.CAPTION, False),
    "tpos2i": (Ask.IMAGE, True),
    "tneg2i": (Ask.IMAGE, False),
}
YES, NO = ("true", "1", "1.0", "right", "correct", "yes"), ("false", "0", "0.0", "wrong", "no")


class OutcomeColumns(AnswerTable):
    """A column of true and false for each question."""

    kind: ModelKind = "chooser"
    columns: ClassVar[tuple[str, ...]] = ("item",)

    @classmethod
    def fits(cls, columns: list[str]) -> bool:
        """Whether rows name an item and some column is named like a question."""
        named = "item" in columns or {"caption", "negative_caption"} <= set(columns)
        return named and any(is_question(name) for name in columns)

    def wanted(self, columns: list[str]) -> list[str]:
        """What names the item, and the questions."""
        names = ["item"] if "item" in columns else ["caption", "negative_caption"]
        return [*names, *(name for name in columns if is_question(name))]

    def needs(self, item: Item) -> list[str]:
        """Every question of choice."""
        return [question.id for question in self.asked(item)]

    @cached_property
    def _by_captions(self) -> dict[tuple[str, str], list[Item]]:
        found: dict[tuple[str, str], list[Item]] = defaultdict(list)
        for item in self._by_id.values():
            if item.original is not None and len(item.captions) == 2:
                positive = item.original[1]
                found[item.captions[positive], item.captions[1 - positive]].append(item)
        return found

    def item_of(self, row: dict[str, Any]) -> Item:
        """By id, or by captions: rows with equal captions are taken in the items' order."""
        if "item" in row:
            return super().item_of(row)
        captions = str(row["caption"]), str(row["negative_caption"])
        known = self._by_captions.get(captions, [])
        free = [
            item for item in known if not any((item.id, n) in self.seen for n in self.needs(item))
        ]
        if not free:
            raise BadInput(
                f"no item of {self.benchmark.name} has the captions {captions[0]!r} and "
                f"{captions[1]!r}" + (" that is not in the table already" if known else "")
            )
        return free[0]

    def parts(self, item: Item, row: dict[str, Any]) -> Iterator[NamedAnswer]:
        """For each column the question that it is about."""
        for name, value in row.items():
            if not is_question(name) or value is None or value == "":
                continue
            question = self._question(item, name)
            right = _truth(value, name, item)
            choice = next(k for k in range(len(question.options)) if (k in question.right) == right)
            yield question.id, answer_row(question, choice)

    def _question(self, item: Item, name: str) -> Question:
        asked = self.asked(item)
        if name.lower() == "correct" and len(asked) == 1:
            return asked[0]
        for question in asked:
            if question.id == name or _side(question) == name.lower():
                return question
        raise BadInput(
            f"item {item.id} has no question {name!r}",
            allowed=", ".join(question.id for question in asked),
        )


def is_question(name: str) -> bool:
    """Whether a column is named like a question."""
    asks = tuple(f"{ask}@" for ask in Ask)
    return name.lower() in SIDES or name.lower() == "correct" or name.startswith(asks)


def _side(question: Question) -> str:
    """BiVLC's name of a question of a 2 x 2 item."""
    original = question.item.original
    if original is None:
        return ""
    shown = question.image if question.ask is Ask.CAPTION else question.caption
    of_original = shown == original[0 if question.ask is Ask.CAPTION else 1]
    return next((n for n, side in SIDES.items() if side == (question.ask, of_original)), "")


def _truth(value: Any, name: str, item: Item) -> bool:
    text = str(value).strip().lower()
    if text in YES:
        return True
    if text in NO:
        return False
    raise BadInput(f"{name} of item {item.id} is {value!r}", allowed="true or false (also 1 and 0)")


FORMS: tuple[type[AnswerTable], ...] = (
    LongScores, Choices, BisonPredictions, WideScores, OutcomeColumns,
)  # fmt: skip
"""All forms, in the order in which they are tried on a table's columns."""

"""Outcomes computed elsewhere: right or wrong for each question, as authors publish them.

A row names its item by `item`, or by its captions, compared without surrounding white space;
`filename`, `type` and `subtype` distinguish items with the same captions. BiVLC's files have used
two sets of names for the four questions of an item, and both are known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

from tellapart.benchmark.published.bivlc import kind_name
from tellapart.benchmark.source_order import source_order
from tellapart.corpus.coco import coco_id
from tellapart.errors import BadInput
from tellapart.items import Cell, Item
from tellapart.models.model import ModelKind
from tellapart.questions import Ask, Question
from tellapart.score.answer_tables import (
    AnswerTable,
    BisonPredictions,
    LongChoices,
    LongScores,
    NamedAnswer,
    WideScores,
    answer_row,
    collapsed,
)

SIDES = {
    "ipos2t": (Ask.CAPTION, True),
    "ineg2t": (Ask.CAPTION, False),
    "tpos2i": (Ask.IMAGE, True),
    "tneg2i": (Ask.IMAGE, False),
    "text_score_i0": (Ask.CAPTION, True),
    "text_score_i1": (Ask.CAPTION, False),
    "image_score_c0": (Ask.IMAGE, True),
    "image_score_c1": (Ask.IMAGE, False),
}
"""BiVLC's questions: which side is asked, and whether about the first pair. `Ipos_2T`, in the
current output of its evaluation script, is `Ipos2T`."""

YES, NO = ("true", "1", "1.0", "right", "correct", "yes"), ("false", "0", "0.0", "wrong", "no")
CAPTIONS = ("caption", "negative_caption")
HINTS = ("filename", "type", "subtype")


class OutcomeColumns(AnswerTable):
    """A column of true and false for each question."""

    kind: ModelKind = "chooser"
    columns: ClassVar[tuple[str, ...]] = ("item",)

    @classmethod
    def fits(cls, columns: list[str]) -> bool:
        """Whether rows name an item and a column is named like a question."""
        named = "item" in columns or set(CAPTIONS) <= set(columns)
        return named and any(is_question(name) for name in columns)

    def wanted(self, columns: list[str]) -> list[str]:
        """The columns that name the item, and those of questions."""
        hints = [name for name in HINTS if name in columns]
        names = ["item"] if "item" in columns else [*CAPTIONS, *hints]
        return [*names, *(name for name in columns if is_question(name))]

    def needs(self, item: Item) -> list[str]:
        """Every choice question."""
        return [question.id for question in self.asked(item)]

    @cached_property
    def _by_captions(self) -> dict[tuple[str, str], list[Item]]:
        found: dict[tuple[str, str], list[Item]] = defaultdict(list)
        for item in self._by_id.values():
            first = first_pair(item)
            if first is not None and len(item.captions) == 2:
                captions = [collapsed(caption) for caption in item.captions]
                found[captions[first[1]], captions[1 - first[1]]].append(item)
        return found

    def item_of(self, row: dict[str, Any]) -> Item:
        """By id, or by captions; equal captions are resolved by other columns, else by order."""
        if "item" in row:
            return super().item_of(row)
        captions = collapsed(str(row[CAPTIONS[0]])), collapsed(str(row[CAPTIONS[1]]))
        known = self._by_captions.get(captions, [])
        free = [
            item for item in known if not any((item.id, n) in self.seen for n in self.needs(item))
        ]
        if not free:
            raise BadInput(
                f"no item of {self.benchmark.name} has the captions {captions[0]!r} and "
                f"{captions[1]!r}" + (" and is not in the table yet" if known else "")
            )
        return self._nearest(free, row)

    def _nearest(self, items: list[Item], row: dict[str, Any]) -> Item:
        """The item, among several with the same captions, that fits the rest of the row."""
        if len(items) == 1:
            return items[0]
        file, kind = str(row.get("filename") or ""), kind_name(row.get("type"), row.get("subtype"))
        images = {file, coco_id(file) or file}
        return min(items, key=lambda item: (images.isdisjoint(item.images), item.kind != kind))

    def parts(self, item: Item, row: dict[str, Any]) -> Iterator[NamedAnswer]:
        """The question and outcome of each column."""
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
        side = SIDES.get(_plain(name))
        if side is None:
            return self.named(item, name, self.asks)
        for question in asked:
            if _side(question) == side:
                return question
        raise BadInput(
            f"item {item.id} has no question {name!r}",
            allowed=", ".join(question.id for question in asked),
        )


def _plain(name: str) -> str:
    """A column's name in one spelling.

    >>> _plain("Ipos_2T"), _plain("text_score_i0")
    ('ipos2t', 'text_score_i0')
    """
    return name.lower().replace("_2", "2")


def is_question(name: str) -> bool:
    """Whether a column is named like a question."""
    asks = tuple(f"{ask}@" for ask in Ask)
    return _plain(name) in SIDES or name.lower() == "correct" or name.startswith(asks)


def first_pair(item: Item) -> Cell | None:
    """The original pair, from which the other was made, or the first pair in the source."""
    if item.original is not None:
        return item.original
    order = source_order(item)
    first = order.here("images", 0), order.here("captions", 0)
    return first if first in item.true else None


def _side(question: Question) -> tuple[Ask, bool] | None:
    """Which of BiVLC's four questions this one is."""
    first = first_pair(question.item)
    if first is None:
        return None
    asks_caption = question.ask is Ask.CAPTION
    shown = question.image if asks_caption else question.caption
    return question.ask, shown == first[0 if asks_caption else 1]


def _truth(value: Any, name: str, item: Item) -> bool:
    text = str(value).strip().lower()
    if text in YES:
        return True
    if text in NO:
        return False
    raise BadInput(f"{name} of item {item.id} is {value!r}", allowed="true or false (also 1 and 0)")


FORMS: tuple[type[AnswerTable], ...] = (
    LongScores, LongChoices, BisonPredictions, WideScores, OutcomeColumns,
)  # fmt: skip
"""All formats, in the order in which they are tried on a table's columns."""

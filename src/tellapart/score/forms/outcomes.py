"""Tables of outcomes: whether each question was answered rightly, without saying what was picked.

Columns are named by the question (caption@0) or by what BiVLC calls it (Ipos2T, Ineg2T, Tpos2I,
Tneg2I); `correct` for items with a single question. Items are named by their id, or by their
captions (caption and negative_caption).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

from tellapart.errors import BadInput
from tellapart.items import Item
from tellapart.models.model import ModelKind
from tellapart.questions import Ask, Question
from tellapart.score.forms.form import Form, Part, answer_row

SIDES = {
    "ipos2t": (Ask.CAPTION, True),
    "ineg2t": (Ask.CAPTION, False),
    "tpos2i": (Ask.IMAGE, True),
    "tneg2i": (Ask.IMAGE, False),
}
YES, NO = ("true", "1", "1.0", "right", "correct", "yes"), ("false", "0", "0.0", "wrong", "no")


class Outcomes(Form):
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
        for item in self.benchmark.items:
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

    def parts(self, item: Item, row: dict[str, Any]) -> Iterator[Part]:
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

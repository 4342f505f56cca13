"""Tables of choices: item, question, choice; and BISON's own predictions file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from tellapart.errors import BadInput, UnknownName
from tellapart.items import Item
from tellapart.models.model import ModelKind
from tellapart.questions import Ask, Question, questions
from tellapart.score.forms.form import Form, Part, answer_row, place_of


class Choices(Form):
    """item, question, choice: a row for each question, named as `tellapart show` prints it."""

    kind: ModelKind = "chooser"
    columns: ClassVar[tuple[str, ...]] = ("item", "question", "choice")

    def needs(self, item: Item) -> list[str]:
        """Every question of choice."""
        return [question.id for question in self.asked(item)]

    def parts(self, item: Item, row: dict[str, Any]) -> Iterator[Part]:
        """One answer."""
        by_name = {question.id: question for question in questions(item, frozenset(Ask))}
        if not isinstance(row["question"], str) or row["question"] not in by_name:
            raise BadInput(
                f"item {item.id} has no question {row['question']!r}",
                allowed=", ".join(by_name) or "none",
            )
        question = by_name[row["question"]]
        yield question.id, answer_row(question, option_of(question, row["choice"]))


class BisonPredictions(Form):
    """bison_id, predicted_image_id: the predictions file of the BISON authors."""

    kind: ModelKind = "chooser"
    columns: ClassVar[tuple[str, ...]] = ("bison_id", "predicted_image_id")

    def item_of(self, row: dict[str, Any]) -> Item:
        """Items that were imported from COCO-BISON are called bison:ID."""
        return super().item_of({"item": f"bison:{row['bison_id']}"})

    def needs(self, item: Item) -> list[str]:
        """The one question."""
        return ["image@0"]

    def parts(self, item: Item, row: dict[str, Any]) -> Iterator[Part]:
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

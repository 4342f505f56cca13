"""The card of an item: its pictures and captions, what is true, and every model's choice.

Reports, views and the owner's page of a study show the same card. `templates/cards.html` renders it
in written pages, and `static/card.js` in the browser (both in `tellapart.web`), from the output of
`to_json`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tellapart.items import Item
from tellapart.questions import Ask, Question
from tellapart.reports.picks import Pick, State

MAX_NAMED = 8
"""At most this many tied words are named; more are only counted."""
STATE_NAMES = {
    State.RIGHT: ("✓", "right"),
    State.WRONG: ("✗", "wrong"),
    State.TIE: ("=", "tie"),
    State.MIXED: ("±", "mixed"),
    State.FAILED: ("!", "no answer"),
    State.UNASKED: ("·", "not asked"),
}


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A picture on a page: where it is and its size in pixels, or why it is missing.

    `place` is a number in the page's album, or an address; None if there is no picture.
    """

    place: int | str | None
    width: int = 0
    height: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture of an item: its letter, its thumbnail, and the numbers of captions that fit it."""

    letter: str
    thumbnail: Thumbnail
    fits: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CaptionLine:
    """A caption: its number, and its text in three parts with the foil word in the middle."""

    number: int
    before: str
    foil: str
    after: str
    fits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CardAnswer:
    """One model's answer to one question; `full` is the long form if `text` is abbreviated.

    `state` is None if nothing is right or wrong, as for a caption by a system, or a score.
    """

    text: str
    state: State | None
    full: str = ""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """All answers of one model to an item, and the item's outcome for it.

    `margin` is by how much the right options score higher than the wrong ones, if known.
    """

    label: str
    verdict: State | None
    answers: tuple[CardAnswer, ...]
    margin: float | None = None


@dataclass(frozen=True, slots=True)
class ItemCard:
    """One item; `columns` are the questions: the heading of each, and its full text."""

    item: Item
    benchmark: str
    shots: tuple[Shot, ...]
    lines: tuple[CaptionLine, ...]
    target: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[ModelRow, ...]

    @classmethod
    def of(
        cls,
        item: Item,
        benchmark: str,
        thumbnail: Callable[[str], Thumbnail],
        asked: list[Question],
        rows: tuple[ModelRow, ...],
    ) -> ItemCard:
        """The card of an item that was asked some questions."""
        return cls(
            item=item,
            benchmark=benchmark,
            shots=tuple(shots_of(item, thumbnail)),
            lines=tuple(lines_of(item)),
            target=item.slot.target if item.slot else "",
            columns=tuple(column_of(question) for question in asked),
            rows=rows,
        )

    @property
    def kind(self) -> str:
        """The item's kind."""
        return self.item.kind

    def to_json(self) -> dict[str, Any]:
        """For `card.js`."""
        return {
            "id": self.item.id,
            "kind": self.item.kind,
            "benchmark": self.benchmark,
            "shots": [asdict(shot) for shot in self.shots],
            "lines": [asdict(line) for line in self.lines],
            "target": self.target,
            "columns": self.columns,
            "rows": [asdict(row) for row in self.rows],
        }


def letter(image: int) -> str:
    """The page's name for an image of an item: A, B, ..."""
    return chr(ord("A") + image) if image < 26 else f"picture {image + 1}"


def shots_of(item: Item, thumbnail: Callable[[str], Thumbnail]) -> Iterator[Shot]:
    """The pictures of an item; `thumbnail` finds one by the image's id."""
    for i, image in enumerate(item.images):
        fits = tuple(j + 1 for j in range(len(item.captions)) if (i, j) in item.true)
        yield Shot(letter(i), thumbnail(image), fits)


def lines_of(item: Item) -> Iterator[CaptionLine]:
    """The captions of an item."""
    for j, caption in enumerate(item.captions):
        start, end = len(caption), len(caption)
        if item.slot is not None and item.slot.caption == j:
            start, end = item.slot.start, item.slot.end
        fits = tuple(letter(i) for i in range(len(item.images)) if (i, j) in item.true)
        yield CaptionLine(j + 1, caption[:start], caption[start:end], caption[end:], fits)


def column_of(question: Question) -> tuple[str, str]:
    """A question as a column heading, and in full."""
    image, caption = letter(question.image), question.caption + 1
    one_image, one_caption = len(question.item.images) == 1, len(question.item.captions) == 1
    columns = {
        Ask.CAPTION: ("choice" if one_image else f"for {image}", f"which caption fits {image}?"),
        Ask.IMAGE: (
            "choice" if one_caption else f"for {caption}",
            f"which picture fits {caption}?",
        ),
        Ask.JUDGE: (
            f"T1 {'' if one_image else image}{caption}",
            f"is caption {caption} true of {image}, or a foil?",
        ),
        Ask.NOUN: ("T2 noun", "which noun is wrong?"),
        Ask.WORD: ("T2 word", "which content word is wrong?"),
        Ask.MEND: ("T3", "which word corrects the caption?"),
    }
    return columns[question.ask]


def answer_of(question: Question, pick: Pick) -> CardAnswer:
    """A model's pick in the wording of the card."""
    if pick.state is State.UNASKED:
        return CardAnswer("not asked", pick.state)
    if pick.state is State.FAILED:
        return CardAnswer("no answer", pick.state)
    joint = " / " if pick.state is State.MIXED else " = "
    names = [_name(question, place) for place in pick.options]
    if question.ask in (Ask.CAPTION, Ask.IMAGE) or len(names) == 1:
        return CardAnswer(joint.join(names), pick.state)
    if question.ask is Ask.JUDGE:
        return CardAnswer("both" if pick.state is State.MIXED else "tie", pick.state)
    count = f"{len(names)} words" if pick.state is State.MIXED else f"{len(names)} alike"
    more = " ..." if len(names) > MAX_NAMED else ""
    return CardAnswer(count, pick.state, joint.join(names[:MAX_NAMED]) + more)


def _name(question: Question, place: int) -> str:
    option = question.options[place]
    match question.ask:
        case Ask.CAPTION:
            return str(int(option) + 1)
        case Ask.IMAGE:
            return letter(int(option))
        case Ask.JUDGE:
            return "true" if place == 0 else "foil"
        case Ask.MEND:
            return str(option)
    slot = question.item.slot
    assert slot is not None
    word = slot.words[int(option)]
    return question.item.captions[slot.caption][word.start : word.end]

"""Cards of the gallery: an item, what is true of it, and what every model made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tellapart.items import Item
from tellapart.questions import Ask, Question, questions
from tellapart.reports.picks import Pick, Reader, State, reader, verdict_measure, verdicts
from tellapart.reports.sheets import Sheet
from tellapart.reports.thumbnails import Album, Thumbnail
from tellapart.score.evaluate import asks_of

TEXT_ONLY = "text-only"
MAX_NAMED = 8
"""So many words that tie are named; more are counted."""


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture of an item: its letter, its thumbnail, and the captions that fit it."""

    letter: str
    thumbnail: Thumbnail
    fits: frozenset[int]


@dataclass(frozen=True, slots=True)
class Line:
    """A caption: its number, its text in three parts with the foil word in the middle."""

    number: int
    before: str
    foil: str
    after: str
    fits: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A question: what its column is headed, and what was asked."""

    label: str
    about: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What one model answered to one question; `full` where `text` is short for more."""

    text: str
    state: State
    full: str = ""


@dataclass(frozen=True, slots=True)
class ModelRow:
    """All answers of one model to an item, and how the item came out for it."""

    label: str
    verdict: State
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """One item; `codes` has one letter a model of the whole report, the text-only one last."""

    item: Item
    sheet: int
    benchmark: str
    shots: tuple[Shot, ...]
    lines: tuple[Line, ...]
    target: str
    columns: tuple[Column, ...]
    rows: tuple[ModelRow, ...]
    codes: str


def make_cards(
    sheet: Sheet, number: int, items: Sequence[Item], models: tuple[str, ...], album: Album
) -> Iterator[Card]:
    """The cards of some items of a sheet; `models` are those of the whole report."""
    ids = frozenset(item.id for item in items)
    judge = verdict_measure(sheet.measures)
    asks = asks_of([measure.name for measure in sheet.measures])
    looks: list[tuple[str, Reader, dict[str, State]]] = []
    for entry in (*sheet.entries, sheet.text_only):
        label = TEXT_ONLY if entry is sheet.text_only else entry.label
        looks.append((label, reader(entry.run, ids), verdicts(entry.run, judge)))
    for item in items:
        asked = list(questions(item, asks))
        rows = tuple(
            ModelRow(
                label,
                found.get(item.id, State.UNASKED),
                tuple(_answer(question, read(question)) for question in asked),
            )
            for label, read, found in looks
        )
        by_label = {row.label: row.verdict for row in rows[:-1]}
        codes = "".join(by_label.get(model, State.UNASKED) for model in models)
        yield Card(
            item=item,
            sheet=number,
            benchmark=sheet.label,
            shots=tuple(_shots(sheet, item, album)),
            lines=tuple(_lines(item)),
            target=item.slot.target if item.slot else "",
            columns=tuple(_column(question) for question in asked),
            rows=rows,
            codes=codes + rows[-1].verdict,
        )


def letter(image: int) -> str:
    """What the page calls an image of an item: A, B, ..."""
    return chr(ord("A") + image) if image < 26 else f"picture {image + 1}"


def _shots(sheet: Sheet, item: Item, album: Album) -> Iterator[Shot]:
    for i, image in enumerate(item.images):
        fits = frozenset(j + 1 for j in range(len(item.captions)) if (i, j) in item.true)
        yield Shot(letter(i), album.add(sheet.benchmark, image), fits)


def _lines(item: Item) -> Iterator[Line]:
    for j, caption in enumerate(item.captions):
        start, end = len(caption), len(caption)
        if item.slot is not None and item.slot.caption == j:
            start, end = item.slot.start, item.slot.end
        fits = tuple(letter(i) for i in range(len(item.images)) if (i, j) in item.true)
        yield Line(j + 1, caption[:start], caption[start:end], caption[end:], fits)


def _column(question: Question) -> Column:
    """What was asked, short enough for the head of a column, and in full."""
    image, caption = letter(question.image), question.caption + 1
    match question.ask:
        case Ask.CAPTION:
            alone = len(question.item.images) == 1
            return Column("choice" if alone else f"for {image}", f"which caption fits {image}?")
        case Ask.IMAGE:
            alone = len(question.item.captions) == 1
            return Column("choice" if alone else f"for {caption}", f"which picture fits {caption}?")
        case Ask.JUDGE:
            where = "" if len(question.item.images) == 1 else image
            return Column(
                f"T1 {where}{caption}", f"is caption {caption} true of {image}, or a foil?"
            )
        case Ask.NOUN:
            return Column("T2 noun", "which noun is wrong?")
        case Ask.WORD:
            return Column("T2 word", "which content word is wrong?")
    return Column("T3", "which word mends the caption?")


def _answer(question: Question, pick: Pick) -> Answer:
    if pick.state is State.UNASKED:
        return Answer("not asked", pick.state)
    if pick.state is State.FAILED:
        return Answer("no answer", pick.state)
    joint = " / " if pick.state is State.MIXED else " = "
    names = [_name(question, place) for place in pick.options]
    if question.ask in (Ask.CAPTION, Ask.IMAGE) or len(names) == 1:
        return Answer(joint.join(names), pick.state)
    if question.ask is Ask.JUDGE:
        return Answer("both" if pick.state is State.MIXED else "tie", pick.state)
    count = f"{len(names)} words" if pick.state is State.MIXED else f"{len(names)} alike"
    more = " ..." if len(names) > MAX_NAMED else ""
    return Answer(count, pick.state, joint.join(names[:MAX_NAMED]) + more)


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

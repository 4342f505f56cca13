"""What passes between a question type and the rest: matters, forms, answers and truths.

A question type says two things: which tasks an item gives (`matters`), and what a person is shown
and may answer (`form`). Drawing the order of options, showing, checking answers and knowing whether
they are right is done here and in `showing.py`, alike for every type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

from tellapart.items import Item


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said: the key of an option and, where a word was asked for, its place."""

    choice: str
    word: int | None = None


@dataclass(frozen=True, slots=True)
class Truth:
    """The keys that are right and, where a word is asked for, the places that are."""

    choices: frozenset[str]
    words: frozenset[int] = frozenset()

    def fits(self, answer: Answer) -> bool:
        """Whether an answer is right, the word included where one is asked for."""
        if answer.choice not in self.choices:
            return False
        return answer.word is None or not self.words or answer.word in self.words


@dataclass(frozen=True, slots=True)
class Matter:
    """What one task is about; no word of it but the pictures and captions reaches the page.

    `item` and `question` name it as runs do (`bison-1a2b`, `image@0`). `check` is the key that an
    attention check asks for; `explanation` is what a training example says after the answer.
    """

    item: str
    question: str
    images: tuple[str, ...]
    captions: tuple[str, ...]
    truth: Truth | None = None
    check: str = ""
    explanation: str = ""

    @property
    def key(self) -> str:
        """The matter's name within its stage."""
        return f"{self.item}#{self.question}"

    def to_json(self) -> dict[str, Any]:
        """As it is stored."""
        truth = self.truth
        return {
            "item": self.item,
            "question": self.question,
            "images": list(self.images),
            "captions": list(self.captions),
            "truth": truth and [sorted(truth.choices), sorted(truth.words)],
            "check": self.check,
            "explanation": self.explanation,
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        """What `to_json` gave."""
        truth = stored["truth"]
        return cls(
            stored["item"],
            stored["question"],
            tuple(stored["images"]),
            tuple(stored["captions"]),
            Truth(frozenset(truth[0]), frozenset(truth[1])) if truth else None,
            stored["check"],
            stored["explanation"],
        )


@dataclass(frozen=True, slots=True)
class Option:
    """Something that can be chosen: a picture (its place in the matter), a text, or a label."""

    key: str
    label: str = ""
    text: str = ""
    image: int | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """A picture or a text that stands beside the options, with the label above it."""

    label: str
    text: str = ""
    image: int | None = None


@dataclass(frozen=True, slots=True)
class WordAsked:
    """A second step for those who chose `when`: which word of the text is it?"""

    when: str
    prompt: str
    text: str


@dataclass(frozen=True, slots=True)
class Form:
    """What is shown and asked.

    `options` are shown in an order drawn for each person, with the labels `places` by place;
    `fixed` ones ("both", "none of these", 1 to 5) always stand behind them in the order given.
    """

    prompt: str
    shown: tuple[Shown, ...] = ()
    options: tuple[Option, ...] = ()
    fixed: tuple[Option, ...] = ()
    places: tuple[str, ...] = ()
    word: WordAsked | None = None


@dataclass(frozen=True, slots=True)
class Scenery:
    """A picture for a training example: what the built-in world draws.

    Things are named as "two small red dog"; the first stands in the relation to the second.
    """

    background: str
    things: tuple[str, ...]
    relation: str = "left"


@dataclass(frozen=True, slots=True)
class Example:
    """A training example: a matter with drawn pictures, its right keys, and why they are right.

    `word` is the text of the wrong word, where one is asked for.
    """

    pictures: tuple[Scenery, ...]
    captions: tuple[str, ...]
    right: tuple[str, ...]
    explanation: str
    word: str = ""


class QuestionType(Protocol):
    """One kind of question; registered under its name in `tellapart.questions`.

    `needs` says which items it can be asked of; `instructions` are what people read first, and
    `examples` what they practise with (both can be edited in each study's folder).
    """

    @property
    def name(self) -> str:
        """The name it is registered under."""
        ...

    @property
    def about(self) -> str:
        """One line that says what is asked."""
        ...

    @property
    def needs(self) -> str:
        """Which items it can be asked of."""
        ...

    @property
    def instructions(self) -> str:
        """What people read first: blank lines, **bold** and "- " lists are shown as such."""
        ...

    @property
    def examples(self) -> tuple[Example, ...]:
        """What people practise with; may be empty."""
        ...

    def matters(self, item: Item) -> Iterable[Matter]:
        """The tasks that an item gives; none where the question does not fit it."""
        ...

    def form(self, matter: Matter) -> Form:
        """What is shown and asked of a matter."""
        ...


@runtime_checkable
class Following(Protocol):
    """A question type that can be asked of what an earlier stage chose."""

    def follow(self, earlier: Matter, chosen: str) -> Iterator[Matter]:
        """The tasks that come out of an earlier matter and the key that was chosen."""
        ...


def true_images(item: Item, caption: int) -> frozenset[str]:
    """The keys of the images that a caption is true of."""
    return frozenset(str(i) for i in range(len(item.images)) if (i, caption) in item.true)


def true_captions(item: Item, image: int) -> frozenset[str]:
    """The keys of the captions that are true of an image."""
    return frozenset(str(j) for j in range(len(item.captions)) if (image, j) in item.true)


def numbered(images: int = 0, captions: tuple[str, ...] = ()) -> tuple[Option, ...]:
    """Options for so many images, or for captions, with their places in the matter as keys."""
    pictures = tuple(Option(str(i), image=i) for i in range(images))
    return pictures + tuple(Option(str(j), text=text) for j, text in enumerate(captions))

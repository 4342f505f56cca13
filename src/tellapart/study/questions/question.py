"""What passes between a question type and the rest of a study.

A question type says which tasks an item gives (`matters`) and what a person is shown and may answer
(`form`); the rest has defaults that it may replace. Drawing the order of options, showing them and
checking answers is done in `page.py`, alike for every type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from tellapart.items import Item, Origin


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """What a person said: the key of an option and, where a word was asked for, its place."""

    choice: str
    word: int | None = None


@dataclass(frozen=True, slots=True)
class Truth:
    """The keys that are right and, where a word is asked for, the places that are."""

    choices: frozenset[str]
    words: frozenset[int] = frozenset()

    def fits(self, answer: PersonAnswer) -> bool:
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
class ShownPart:
    """A picture or a text that stands beside the options, with the label above it."""

    label: str
    text: str = ""
    image: int | None = None


@dataclass(frozen=True, slots=True)
class WordAsked:
    """A second step for those who chose `when`: which word of the text is it?

    `hint` stands beside the button until a word is chosen.
    """

    when: str
    prompt: str
    text: str
    hint: str = "Now point at the word."


@dataclass(frozen=True, slots=True)
class TaskForm:
    """What is shown and asked.

    `options` are shown in an order drawn for each person, with the labels `places` by place;
    `fixed` ones ("both", "none of these", 1 to 5) always stand behind them in the order given.
    """

    prompt: str
    shown: tuple[ShownPart, ...] = ()
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
class TrainingExample:
    """A training example: a matter with drawn pictures, its right keys, and why they are right.

    `word` is the text of the wrong word, where one is asked for.
    """

    pictures: tuple[Scenery, ...]
    captions: tuple[str, ...]
    right: tuple[str, ...]
    explanation: str
    word: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one person said of a task; `order` is how the options stood."""

    person: str
    choice: str
    word: int | None
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JudgedTask:
    """A task about an item, with its judgements in the order in which they were given."""

    id: int
    parent: int | None
    stage: str
    ask: str
    matter: Matter
    state: str
    kept: bool | None
    chosen: str | None
    judgements: tuple[Judgement, ...]

    def right(self, judgement: Judgement) -> bool:
        """Whether the choice is right, whatever word was pointed at."""
        return self.matter.truth is not None and judgement.choice in self.matter.truth.choices

    def points_right(self, judgement: Judgement) -> bool:
        """Whether the choice and the word are right."""
        truth = self.matter.truth
        return self.right(judgement) and truth is not None and judgement.word in truth.words


@dataclass(frozen=True, slots=True)
class KeptTask:
    """A task that people kept: what they chose, the item it came from, and the study's seed.

    Where a later stage asked about it too, that stage has kept it as well. `origin` is for the item
    that is made of it.
    """

    matter: Matter
    chosen: str
    source: Item
    origin: Origin
    seed: int


@dataclass(frozen=True, slots=True)
class Share:
    """A figure before its interval: tasks (or single answers), each with whether it is right."""

    about: str
    how: str
    rows: tuple[tuple[JudgedTask, bool], ...]


RULES: dict[str, Callable[[list[bool]], bool]] = {
    "majority": lambda right: 2 * sum(right) > len(right),
    "unanimity": all,
    "at least one": any,
}
"""When the judgements of a task count as right together."""


def rules_for(tasks: Sequence[JudgedTask]) -> list[str]:
    """The rules that mean something for tasks.

    Unanimity does only where every task has the same number of judgements: where asking stopped at
    a majority, those who might have disagreed were never asked.
    """
    numbers = {len(task.judgements) for task in tasks}
    if numbers <= {1}:
        return []
    return list(RULES) if len(numbers) == 1 else ["majority"]


def right_shares(about: str, tasks: Sequence[JudgedTask]) -> Iterator[Share]:
    """The share of right answers, and of tasks right by each rule, where the truth is known."""
    tasks = [task for task in tasks if task.matter.truth is not None]
    right = [[task.right(one) for one in task.judgements] for task in tasks]
    if not right:
        return
    each = [(task, one) for task, row in zip(tasks, right, strict=True) for one in row]
    yield Share(about, "each answer", tuple(each))
    for how in rules_for(tasks):
        decided = [(task, RULES[how](row)) for task, row in zip(tasks, right, strict=True)]
        yield Share(about, how, tuple(decided))


class QuestionType:
    """One kind of question; registered under its name in `tellapart.questions`.

    `about` is one line that says what is asked, `needs` which items it can be asked of.
    `instructions` are what people read first (blank lines, **bold** and "- " lists are shown as
    such), `examples` what they practise with; both can be edited in each study's folder.

    `layout` is a class of the page's form (`scale`: the fixed options stand below each other), and
    `script` a JavaScript module that exports a `taskForm` of its own, usually one that changes what
    `/static/task.js` makes. `ordinal` says that answers are steps of a scale, for agreement;
    `measures` are those of the verified benchmark where the items name none.
    """

    name: ClassVar[str]
    about: ClassVar[str]
    needs: ClassVar[str] = "any items"
    instructions: ClassVar[str] = ""
    examples: ClassVar[tuple[TrainingExample, ...]] = ()
    layout: ClassVar[str] = ""
    script: ClassVar[str] = ""
    ordinal: ClassVar[bool] = False
    measures: ClassVar[tuple[str, ...]] = ("accuracy",)

    def matters(self, item: Item) -> Iterable[Matter]:
        """The tasks that an item gives; none where the question does not fit it."""
        raise NotImplementedError

    def form(self, matter: Matter) -> TaskForm:
        """What is shown and asked of a matter."""
        raise NotImplementedError

    def figures(self, tasks: Sequence[JudgedTask]) -> Iterator[Share]:
        """The figures of a stage, of its closed tasks (default: what is known to be right)."""
        return right_shares("all", tasks)

    def model_option(self, choice: str) -> int | None:
        """The option of a model's question that a choice stands for; None where none does."""
        return int(choice) if choice.isdigit() else None


@runtime_checkable
class Following(Protocol):
    """A question type that can be asked of what an earlier stage chose."""

    def follow(self, earlier: Matter, chosen: str) -> Iterator[Matter]:
        """The tasks that come out of an earlier matter and the key that was chosen."""
        ...


@runtime_checkable
class ItemMaking(Protocol):
    """A question type of whose answers new items are made; of others, items stay as they are."""

    def make_item(self, kept: KeptTask) -> Item | None:
        """The verified item; None where what was kept makes none."""
        ...


def true_images(item: Item, caption: int) -> frozenset[str]:
    """The keys of the images that a caption is true of."""
    return frozenset(str(i) for i in range(len(item.images)) if (i, caption) in item.true)


def which_picture(matter: Matter, *fixed: Option, places: tuple[str, ...] = ()) -> TaskForm:
    """The form of a caption and pictures, one for each of `places`, or all of the matter's."""
    return TaskForm(
        "Which picture does the caption describe?",
        shown=(ShownPart("Caption", matter.captions[0]),),
        options=numbered(images=len(places) or len(matter.images)),
        fixed=fixed,
        places=places,
    )


def numbered(images: int = 0, captions: tuple[str, ...] = ()) -> tuple[Option, ...]:
    """Options for a number of images, or for captions, with their places in the matter as keys."""
    pictures = tuple(Option(str(i), image=i) for i in range(images))
    return pictures + tuple(Option(str(j), text=text) for j, text in enumerate(captions))

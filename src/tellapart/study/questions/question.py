"""The interface between question types and the rest of a study.

A question type says which tasks an item yields (`matters`) and what a person sees and may answer
(`form`); everything else has defaults that it may override. `page.py` draws the order of options,
shows them and checks answers in the same way for every type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from tellapart.items import Item, Origin


@dataclass(frozen=True, slots=True)
class PersonAnswer:
    """A person's answer: the key of an option and, if a word was asked for, its index."""

    choice: str
    word: int | None = None


@dataclass(frozen=True, slots=True)
class Truth:
    """The right keys and, if a word is asked for, the indices of right words."""

    choices: frozenset[str]
    words: frozenset[int] = frozenset()

    def fits(self, answer: PersonAnswer) -> bool:
        """Whether an answer is right, including the word if one is asked for."""
        if answer.choice not in self.choices:
            return False
        return answer.word is None or not self.words or answer.word in self.words


@dataclass(frozen=True, slots=True)
class Matter:
    """What one task is about; only its pictures and captions ever reach the page.

    `item` and `question` name it as in runs (`bison-1a2b`, `image@0`). `check` is the key that an
    attention check asks for; `explanation` is shown after the answer to a training example.
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
        """The form stored in the database."""
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
        """Read the result of `to_json`."""
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
    """An option to choose: a picture (its index in the matter), a text, or a label."""

    key: str
    label: str = ""
    text: str = ""
    image: int | None = None


@dataclass(frozen=True, slots=True)
class ShownPart:
    """A picture or text beside the options, with a label above it."""

    label: str
    text: str = ""
    image: int | None = None


@dataclass(frozen=True, slots=True)
class WordAsked:
    """A second step for people who chose `when`: which word of the text is it?

    `hint` is shown beside the button until a word is chosen.
    """

    when: str
    prompt: str
    text: str
    hint: str = "Now point at the word."


@dataclass(frozen=True, slots=True)
class TaskForm:
    """What a task shows and asks.

    `options` are shown in an order drawn for each person, with the labels `places` by position;
    `fixed` options ("both", "none of these", 1 to 5) always follow them in the given order.
    """

    prompt: str
    shown: tuple[ShownPart, ...] = ()
    options: tuple[Option, ...] = ()
    fixed: tuple[Option, ...] = ()
    places: tuple[str, ...] = ()
    word: WordAsked | None = None


@dataclass(frozen=True, slots=True)
class Scenery:
    """A picture for a training example, drawn by the built-in world.

    Things are described as in "two small red dog"; the first has the relation to the second.
    """

    background: str
    things: tuple[str, ...]
    relation: str = "left"


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """A training example: a matter with drawn pictures, its right keys, and why they are right.

    `word` is the text of the wrong word, if one is asked for.
    """

    pictures: tuple[Scenery, ...]
    captions: tuple[str, ...]
    right: tuple[str, ...]
    explanation: str
    word: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One person's answer to a task; `order` is the order of options they saw."""

    person: str
    choice: str
    word: int | None
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class JudgedTask:
    """A task about an item, with its judgements in chronological order."""

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
        """Whether the choice is right, regardless of the word."""
        return self.matter.truth is not None and judgement.choice in self.matter.truth.choices

    def points_right(self, judgement: Judgement) -> bool:
        """Whether the choice and the word are right."""
        truth = self.matter.truth
        return self.right(judgement) and truth is not None and judgement.word in truth.words


@dataclass(frozen=True, slots=True)
class KeptTask:
    """A task that people kept: what they chose, the item it came from, and the study's seed.

    If a later stage asked about it, too, that stage has also kept it. `origin` is for the item
    built from it.
    """

    matter: Matter
    chosen: str
    source: Item
    origin: Origin
    seed: int


@dataclass(frozen=True, slots=True)
class Share:
    """A score without its interval: tasks (or single answers), each right or wrong."""

    about: str
    how: str
    rows: tuple[tuple[JudgedTask, bool], ...]


RULES: dict[str, Callable[[list[bool]], bool]] = {
    "majority": lambda right: 2 * sum(right) > len(right),
    "unanimity": all,
    "at least one": any,
}
"""Rules for when a task's judgements count as right overall."""


def rules_for(tasks: Sequence[JudgedTask]) -> list[str]:
    """The rules that are meaningful for these tasks.

    Unanimity is meaningful only if every task has the same number of judgements: if asking stopped
    at a majority, people who might have disagreed were never asked.
    """
    numbers = {len(task.judgements) for task in tasks}
    if numbers <= {1}:
        return []
    return list(RULES) if len(numbers) == 1 else ["majority"]


def right_shares(about: str, tasks: Sequence[JudgedTask]) -> Iterator[Share]:
    """The share of right answers, and of tasks right by each rule, if the truth is known."""
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

    `about` describes the question in one line, `needs` says which items it fits. People read
    `instructions` first (blank lines, **bold** and "- " lists are rendered) and practise with
    `examples`; both can be edited in each study's folder.

    `layout` is a CSS class of the page's form (`scale`: the fixed options are stacked), and
    `script` a JavaScript module that exports its own `taskForm`, usually one that modifies the form
    built by `/static/task.js`. `ordinal` says that answers are steps of a scale, for agreement;
    `measures` are the verified benchmark's if the items name none.
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
        """The tasks that an item yields; none if the question does not fit it."""
        raise NotImplementedError

    def form(self, matter: Matter) -> TaskForm:
        """What the task about a matter shows and asks."""
        raise NotImplementedError

    def block(self, matter: Matter) -> int:
        """Where a matter comes in a survey: a person answers the lowest block first."""
        return 0

    def figures(self, tasks: Sequence[JudgedTask]) -> Iterator[Share]:
        """The scores of a stage's closed tasks (default: shares of right answers)."""
        return right_shares("all", tasks)

    def model_option(self, choice: str) -> int | None:
        """The option of a model's question that corresponds to a choice; None if there is none."""
        return int(choice) if choice.isdigit() else None


@runtime_checkable
class Following(Protocol):
    """A question type that can be asked about the choice of an earlier stage."""

    def follow(self, earlier: Matter, chosen: str) -> Iterator[Matter]:
        """The tasks that follow from an earlier matter and the chosen key."""
        ...


@runtime_checkable
class ItemMaking(Protocol):
    """A question type whose answers yield new items; with other types, items stay unchanged."""

    def make_item(self, kept: KeptTask) -> Item | None:
        """The verified item; None if the kept task yields none."""
        ...


def true_images(item: Item, caption: int) -> frozenset[str]:
    """The keys of the images that a caption is true of."""
    return frozenset(str(i) for i in range(len(item.images)) if (i, caption) in item.true)


def which_picture(matter: Matter, *fixed: Option, places: tuple[str, ...] = ()) -> TaskForm:
    """The form of a caption with pictures, one for each of `places`, or all of the matter's."""
    return TaskForm(
        "Which picture does the caption describe?",
        shown=(ShownPart("Caption", matter.captions[0]),),
        options=numbered(images=len(places) or len(matter.images)),
        fixed=fixed,
        places=places,
    )


def numbered(images: int = 0, captions: tuple[str, ...] = ()) -> tuple[Option, ...]:
    """Options for images or captions, with their indices in the matter as keys."""
    pictures = tuple(Option(str(i), image=i) for i in range(images))
    return pictures + tuple(Option(str(j), text=text) for j, text in enumerate(captions))

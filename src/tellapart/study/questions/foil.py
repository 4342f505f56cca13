"""FOIL, T1 and T2: is the caption right, and if not, which word is wrong?

Shekhar et al. 2017, section 4.1: people judge the caption first, then click the wrong word. Scores
are by majority and unanimity; those for the wrong word are over the foils that the same rule judges
correctly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tellapart.items import Item
from tellapart.study.questions.page import word_spans
from tellapart.study.questions.question import (
    RULES,
    JudgedTask,
    Matter,
    Option,
    QuestionType,
    Scenery,
    Share,
    ShownPart,
    TaskForm,
    TrainingExample,
    Truth,
    WordAsked,
    right_shares,
    rules_for,
)

WORD = "wrong word, of foils judged rightly"
WORD_HINT = "Now point at the word that is wrong."


class Foil(QuestionType):
    """Shows a picture and one caption; people who find it wrong point at the word."""

    name = "foil"
    about = "is the caption right or wrong, and which word is wrong (FOIL)"
    needs = "any items; the wrong word is known where they have a slot (FOIL)"
    instructions = (
        "You see a picture and a caption. Decide whether the caption is **right** or **wrong**.\n\n"
        "A wrong caption has one wrong word: something it says is not in the picture. Look at "
        "everything it names. A caption that leaves something out is not wrong. If you say that it "
        "is wrong, point at the wrong word."
    )
    examples = (
        TrainingExample(
            (Scenery("street", ("green bus", "brown dog")),),
            ("A dog next to a truck on a street.",),
            ("wrong",),
            "The picture shows a bus, so the wrong word is “truck”. The rest is right.",
            word="truck",
        ),
        TrainingExample(
            (Scenery("meadow", ("white horse", "brown sheep")),),
            ("A horse on the grass.",),
            ("right",),
            "The caption does not mention the sheep, but leaving something out is not wrong.",
        ),
        TrainingExample(
            (Scenery("room", ("red apple", "big brown table"), "on"),),
            ("A banana lies on a table.",),
            ("wrong",),
            "There is an apple on the table, so “banana” is wrong.",
            word="banana",
        ),
    )

    def matters(self, item: Item) -> Iterator[Matter]:
        """One task for each image with each caption."""
        for i, image in enumerate(item.images):
            for j, caption in enumerate(item.captions):
                yield Matter(item.id, f"judge@{i},{j}", (image,), (caption,), _truth(item, i, j))

    def form(self, matter: Matter) -> TaskForm:
        """Right or wrong, then the word."""
        caption = matter.captions[0]
        return TaskForm(
            "Is this caption right or wrong?",
            shown=(ShownPart("Picture", image=0), ShownPart("Caption", caption)),
            fixed=(Option("right", "Right"), Option("wrong", "Wrong")),
            word=WordAsked("wrong", "Which word is wrong?", caption, WORD_HINT),
        )

    def figures(self, tasks: Sequence[JudgedTask]) -> Iterator[Share]:
        """All captions, right ones and foils apart, and the wrong word."""
        yield from right_shares("all", tasks)
        yield from right_shares("right captions", [task for task in tasks if not _is_foil(task)])
        yield from right_shares("foils", [task for task in tasks if _is_foil(task)])
        yield from _word_shares(tasks)

    def model_option(self, choice: str) -> int | None:
        """The option of a model's `judge` question: yes or no."""
        return {"right": 0, "wrong": 1}.get(choice)


def _truth(item: Item, image: int, caption: int) -> Truth:
    if (image, caption) in item.true:
        return Truth(frozenset({"right"}))
    slot = item.slot
    if slot is None or slot.caption != caption:
        return Truth(frozenset({"wrong"}))
    spans = enumerate(word_spans(item.captions[caption]))
    words = {k for k, (start, end) in spans if start < slot.end and end > slot.start}
    return Truth(frozenset({"wrong"}), frozenset(words))


def _is_foil(task: JudgedTask) -> bool:
    return task.matter.truth is not None and "wrong" in task.matter.truth.choices


def _word_shares(tasks: Sequence[JudgedTask]) -> Iterator[Share]:
    """T2: of the foils that a rule judges correctly, the share whose word it finds."""
    foils = [task for task in tasks if task.matter.truth and task.matter.truth.words]
    for how in rules_for(foils):
        if how == "at least one":
            continue
        rule = RULES[how]
        judged = [task for task in foils if rule([task.right(one) for one in task.judgements])]
        if judged:
            pointed = (
                (task, rule([task.points_right(one) for one in task.judgements])) for task in judged
            )
            yield Share(WORD, how, tuple(pointed))


FOIL = Foil()

"""Yes or no: does a caption describe a picture?

Hu et al. 2019 (BISON's short paper, section 2) ask it about the pictures that retrieval ranked
above the right one: more than half of these "errors" are not errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tellapart.items import Item
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
    right_shares,
    rules_for,
)

YES, NO = "yes", "no"
UNKNOWN = {"truth": "unknown"}
"""The note of an item for which it is unknown whether its caption is true."""


class YesNo(QuestionType):
    """Shows a picture and a caption."""

    name = "yes-no"
    about = "does the caption describe the picture, yes or no"
    needs = "any items: each image is shown with each caption"
    instructions = (
        "You see a picture and a caption. Does the caption **describe the picture**?\n\n"
        "- Yes: everything it says is true of the picture. It may leave things out.\n"
        "- No: something it says is not in the picture, or is different there.\n\n"
        "It does not matter whether it was written for this picture."
    )
    examples = (
        TrainingExample(
            (Scenery("meadow", ("brown horse", "white sheep")),),
            ("A horse on the grass.",),
            (YES,),
            "It leaves out the sheep, but what it says is true.",
        ),
        TrainingExample(
            (Scenery("street", ("green bus", "brown dog")),),
            ("Two dogs next to a bus.",),
            (NO,),
            "There is one dog, not two.",
        ),
    )

    def matters(self, item: Item) -> Iterator[Matter]:
        """One task for each image with each caption."""
        known = item.origin.notes.get("truth") != UNKNOWN["truth"]
        for i, image in enumerate(item.images):
            for j, caption in enumerate(item.captions):
                truth = Truth(frozenset({YES if (i, j) in item.true else NO})) if known else None
                yield Matter(item.id, f"judge@{i},{j}", (image,), (caption,), truth)

    def form(self, matter: Matter) -> TaskForm:
        """A picture, a caption and two answers."""
        return TaskForm(
            "Does the caption describe the picture?",
            shown=(ShownPart("Picture", image=0), ShownPart("Caption", matter.captions[0])),
            fixed=(Option(YES, "Yes"), Option(NO, "No")),
        )

    def figures(self, tasks: Sequence[JudgedTask]) -> Iterator[Share]:
        """The share of right answers if the truth is known, and the share of yes."""
        yield from right_shares("all", tasks)
        said = [[one.choice == YES for one in task.judgements] for task in tasks]
        each = [(task, one) for task, row in zip(tasks, said, strict=True) for one in row]
        yield Share("yes", "each answer", tuple(each))
        for how in rules_for(tasks):
            decided = [(task, RULES[how](row)) for task, row in zip(tasks, said, strict=True)]
            yield Share("yes", how, tuple(decided))

    def model_option(self, choice: str) -> int | None:
        """Models are asked the same question; yes is their first option."""
        return {YES: 0, NO: 1}.get(choice)


YES_NO = YesNo()

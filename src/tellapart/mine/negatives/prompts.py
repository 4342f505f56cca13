"""The prompts for a language model: an instruction and worked examples for each kind.

The kinds are SugarCrepe's (Hsieh et al. 2023); TROHN-Text asks for one negative of each for every
caption (Miranda et al. 2024, section 5.1).
"""

from __future__ import annotations

from dataclasses import dataclass

from tellapart import seeds
from tellapart.models.writer import Talk, Turn

MARK, NONE = "NEW:", "NONE"
"""How a reply begins, and the reply if a caption has nothing to change."""

TASK = (
    "I show you captions of photographs. Rewrite each so that it is false of its photograph. "
    "{change} Change nothing else, and keep the sentence fluent and sensible: it should read like "
    "a caption of another photograph of the same sort. Reply with a single line that begins with "
    f"{MARK} and holds the whole new caption. If the caption has nothing of the sort to change, "
    f"reply {NONE}."
)


@dataclass(frozen=True, slots=True)
class Lesson:
    """The instruction for one kind, and captions with their changed versions."""

    change: str
    examples: tuple[tuple[str, str], ...]


LESSONS = {
    "replace-object": Lesson(
        "Exchange one object that the caption names for a different object, one that could well "
        "be in such a place but is not another word for the same thing.",
        (
            ("A man rides a bicycle along the shore.", "A man rides a horse along the shore."),
            ("Two kittens sleep on a blue couch.", "Two puppies sleep on a blue couch."),
            ("A bowl of soup next to a spoon.", "A bowl of soup next to a candle."),
        ),
    ),
    "replace-attribute": Lesson(
        "Exchange one property that the caption gives (a colour, size, material, age, number or "
        "state) for another that excludes it.",
        (
            ("A man in a red jacket waits for a bus.", "A man in a green jacket waits for a bus."),
            ("A large dog lies in the grass.", "A tiny dog lies in the grass."),
            ("An empty street with three parked cars.", "A crowded street with three parked cars."),
        ),
    ),
    "replace-relation": Lesson(
        "Exchange one relation or action that the caption tells of (where something is, or what "
        "is done) for another that excludes it, between the same things.",
        (
            ("A cat lies on top of a car.", "A cat lies under a car."),
            ("A woman pushes a cart up the road.", "A woman pulls a cart up the road."),
            ("A boy is holding a kite.", "A boy is chasing a kite."),
        ),
    ),
    "swap-object": Lesson(
        "Let two objects that the caption names change places, so that each is where the other "
        "was; use the very same words.",
        (
            ("A dog watches a cat from the window.", "A cat watches a dog from the window."),
            ("A cup stands on a book beside the bed.", "A book stands on a cup beside the bed."),
            ("A girl feeds a goat at the farm.", "A goat feeds a girl at the farm."),
        ),
    ),
    "swap-attribute": Lesson(
        "Let two properties that the caption gives to different things change places, so that "
        "each thing has the other's; use the very same words.",
        (
            ("A white cat sits on a black chair.", "A black cat sits on a white chair."),
            ("A tall man talks to a short woman.", "A short man talks to a tall woman."),
            ("A wooden table with a metal lamp.", "A metal table with a wooden lamp."),
        ),
    ),
    "add-object": Lesson(
        "Add one object that the caption does not name, with the few words that it takes; it "
        "should be something that the photograph surely does not show.",
        (
            ("A man sits on a bench.", "A man sits on a bench with a parrot."),
            ("A plate of pasta on a table.", "A plate of pasta and a trophy on a table."),
            ("Children play football in a park.", "Children play football with a robot in a park."),
        ),
    ),
    "add-attribute": Lesson(
        "Add one property to one thing that the caption names, a word before its noun that the "
        "photograph surely does not bear out.",
        (
            ("A bus stops at a corner.", "A purple bus stops at a corner."),
            ("A woman holds an umbrella.", "A woman holds a broken umbrella."),
            ("A horse stands behind a fence.", "A striped horse stands behind a fence."),
        ),
    ),
}  # fmt: skip

AGAIN = {
    "empty": "There is no caption in that.",
    "form": "That is not in the form that I asked for.",
    "question": "That is a question.",
    "no final mark": "That does not end with a full stop.",
    "several sentences": "That is more than one sentence.",
    "no edit": "That says what the caption said before.",
    "several edits": "That changes more than one thing.",
    "long edit": "That changes too many words.",
    "paraphrase": "That says the same thing in another order.",
    "other kind": "That is another sort of change than I asked for.",
}
"""The answer to a rejected reply, by reason; all other reasons mean that it may be true."""
MAY_BE_TRUE = "That may be true of the photograph."
AGAIN_ASKS = f"Try once more, with one line that begins with {MARK} and holds the whole caption."
ANOTHER = "Good. Now change the same caption in another way."


def lesson(kind: str) -> Talk:
    """The beginning of every conversation about a kind: instruction, captions and replies."""
    own = LESSONS[kind]
    turns: list[Turn] = []
    for old, new in own.examples:
        turns += [("user", f"Caption: {old}"), ("assistant", f"{MARK} {new}")]
    task = TASK.replace("{change}", own.change)
    return (("user", f"{task}\n\n{turns[0][1]}"), *turns[1:])


def opening(kind: str, caption: str) -> Talk:
    """The first question about a caption: the lesson, then the caption."""
    return (*lesson(kind), ("user", f"Caption: {caption}"))


def again(talk: Talk, reply: str, reason: str) -> Talk:
    """The conversation after a rejected reply."""
    what = AGAIN.get(reason, MAY_BE_TRUE)
    return (*talk, ("assistant", reply), ("user", f"{what} {AGAIN_ASKS}"))


def another(talk: Talk, reply: str) -> Talk:
    """The conversation after a good reply, if another is wanted."""
    return (*talk, ("assistant", reply), ("user", ANOTHER))


def wording() -> str:
    """The hash of all prompts, for the card."""
    lessons = {kind: [one.change, one.examples] for kind, one in LESSONS.items()}
    return seeds.digest(TASK, lessons, AGAIN, MAY_BE_TRUE, AGAIN_ASKS, ANOTHER)

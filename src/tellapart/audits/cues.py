"""Cues that a caption gives away by its looks: a caption in, a number out, no image anywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tellapart.audits.sheet import Floats, Sheet

CAPTION_PLACE, IMAGE_PLACE = "place of the caption", "place of the image"
Sees = Literal["caption", "image", "place", "both"]


@dataclass(frozen=True)
class Guesser:
    """Scores cells without comparing image and caption; higher means "I take this one".

    `name` says what is taken, `reverse` what is taken if the scores are turned round ("" where
    that makes no sense); guessers of one `family` are ways of using one cue. `sees` tells what it
    looks at; "both" is an image and a caption, each by itself.
    """

    family: str
    name: str
    reverse: str
    sees: Sees
    scores: Callable[[Sheet], Floats]


def characters(text: str) -> float:
    """Length in characters, as the caption is stored (blanks at its ends count)."""
    return len(text)


def words(text: str) -> float:
    """Length in words, split at white space."""
    return len(text.split())


def final_stop(text: str) -> float:
    """1 if the last mark is a full stop.

    >>> final_stop("A dog. "), final_stop("A dog")
    (True, False)
    """
    return text.rstrip().endswith(".")


def stop_then_characters(text: str) -> float:
    """The final stop first, length in characters where that does not decide.

    >>> stop_then_characters("A dog.") > stop_then_characters("A much longer caption of a dog")
    True
    """
    return 1e6 * final_stop(text) + characters(text)


def capital_first(text: str) -> float:
    """1 if the first letter is a capital."""
    return next((letter.isupper() for letter in text if letter.isalpha()), False)


def any_capital(text: str) -> float:
    """1 unless all letters are lower case."""
    return text != text.lower()


def edge_space(text: str) -> float:
    """1 if there is white space before or behind the caption."""
    return text != text.strip()


TEXT_CUES: tuple[tuple[str, str, str, Callable[[str], float]], ...] = (
    ("characters", "fewer characters", "more characters", characters),
    ("words", "fewer words", "more words", words),
    ("final stop", "without a final stop", "with a final stop", final_stop),
    (
        "final stop, then characters",
        "without a final stop, else fewer characters",
        "with a final stop, else more characters",
        stop_then_characters,
    ),
    ("first letter", "starts with a small letter", "starts with a capital", capital_first),
    ("capitals", "all letters small", "with a capital somewhere", any_capital),
    ("white space", "no white space at its ends", "white space at its ends", edge_space),
)
"""Family, what is taken if the number is low, what if it is high, and the number."""


def text_guessers() -> list[Guesser]:
    """One guesser for each cue; its score is the number turned round (low is taken)."""
    return [_text_guesser(*row) for row in TEXT_CUES]


def _text_guesser(family: str, low: str, high: str, cue: Callable[[str], float]) -> Guesser:
    return Guesser(family, low, high, "caption", lambda sheet: -sheet.by_text(cue))


def place_guessers(sheet: Sheet) -> dict[str, list[Guesser]]:
    """Always the option at one place, in the order in which the items store them, by family."""
    captions = max(len(item.captions) for item in sheet.items)
    images = max(len(item.images) for item in sheet.items)
    made = {
        CAPTION_PLACE: [_caption_at(k) for k in range(captions)],
        IMAGE_PLACE: [_image_at(k) for k in range(images)],
    }
    return {family: guessers for family, guessers in made.items() if len(guessers) > 1}


def _caption_at(place: int) -> Guesser:
    name = f"the caption at place {place}"
    return Guesser(CAPTION_PLACE, name, "", "place", lambda sheet: (sheet.caption == place) * 1.0)


def _image_at(place: int) -> Guesser:
    name = f"the image at place {place}"
    return Guesser(IMAGE_PLACE, name, "", "place", lambda sheet: (sheet.image == place) * 1.0)

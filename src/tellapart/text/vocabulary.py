"""A vocabulary: the words that a trained system knows, each with a number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tellapart import seeds
from tellapart.errors import BadInput
from tellapart.files import can_be_written, read_json, write_json
from tellapart.text.tokens import tokens

PAD, START, END, UNKNOWN = range(4)
"""The numbers that are not words: padding, start and end of a caption, unknown word."""
SPECIAL = ("<pad>", "<start>", "<end>", "<unknown>")
SCHEMA = "tellapart-vocabulary-1"


@dataclass(frozen=True)
class Vocabulary:
    """Words in the order of their numbers, which begin after those of `SPECIAL`.

    >>> known = Vocabulary.counted(["A dog.", "a red dog"], least=2)
    >>> known.words, known.encode("A red dog!")
    (('a', 'dog'), [4, 3, 5])
    >>> known.decode([4, 5, 2, 4])
    'a dog'
    """

    words: tuple[str, ...]

    @classmethod
    def counted(cls, texts: Iterable[str], least: int = 1, most: int | None = None) -> Vocabulary:
        """The words that occur at least `least` times, the most frequent first."""
        counts = Counter(word for text in texts for word in tokens(text))
        ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        return cls(tuple(word for word, count in ranked[:most] if count >= least))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each word."""
        return {word: number for number, word in enumerate(self.words, len(SPECIAL))}

    def __len__(self) -> int:
        return len(SPECIAL) + len(self.words)

    def encode(self, text: str, longest: int | None = None) -> list[int]:
        """The numbers of a text's words, at most `longest`; a text without words is unknown."""
        known = self.numbers
        return [known.get(word, UNKNOWN) for word in tokens(text)[:longest]] or [UNKNOWN]

    def encode_masked(self, text: str, start: int, end: int) -> list[int]:
        """The numbers of a text's words, with one unknown word in place of text[start:end].

        >>> Vocabulary(("a", "dog", "runs")).encode_masked("A dog runs.", 2, 5)
        [4, 3, 6]
        """
        known, sides = self.numbers, (tokens(text[:start]), tokens(text[end:]))
        before, behind = ([known.get(word, UNKNOWN) for word in side] for side in sides)
        return [*before, UNKNOWN, *behind]

    def decode(self, numbers: Iterable[int]) -> str:
        """The words up to the end mark."""
        found: list[str] = []
        for number in numbers:
            if number == END:
                break
            if number not in (PAD, START):
                found.append((SPECIAL + self.words)[number])
        return " ".join(found)

    @property
    def sha256(self) -> str:
        """The hash of the words in order."""
        return seeds.digest("vocabulary", list(self.words))

    def save(self, path: Path) -> None:
        """Write the words as JSON."""
        write_json(path, {"schema": SCHEMA, "words": list(self.words)})


def load_vocabulary(path: Path) -> Vocabulary:
    """Read a vocabulary that `save` wrote."""
    card = read_json(path)
    words: Any = card.get("words") if isinstance(card, dict) else None
    texts = words if isinstance(words, list) and all(isinstance(w, str) for w in words) else []
    if not texts or not can_be_written(*texts):
        raise BadInput(
            f"{path.name} is not a vocabulary",
            where=str(path),
            allowed=f'"schema": "{SCHEMA}" with a list of words',
            todo="train the system again; its files must not be edited by hand",
        )
    return Vocabulary(tuple(texts))

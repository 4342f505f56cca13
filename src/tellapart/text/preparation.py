"""Preparing captions as a paper did before judging them, hypotheses and references alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tellapart.errors import UnknownName

MCIC = "mcic"
PREPARATIONS = (MCIC,)
LEAST, LONGEST = 5, 30
"""How often a word must occur to be kept, and how many words of a caption count."""
UNKNOWN = "unk"
"""The token for unknown words."""


def letter_words(text: str) -> list[str]:
    """Lower-case words of a text, letters only.

    >>> letter_words("A dog's ball, 2 on-the grass.")
    ['a', 'dogs', 'ball', 'onthe', 'grass']
    """
    return "".join(c for c in text if c.isalpha() or c.isspace()).lower().split()


@dataclass(frozen=True, slots=True)
class Preparation:
    """MCIC's preparation (Ding et al. 2016, section 5.1): letters only, lower case, split at space.

    Words that occur fewer than five times become one unknown word, and everything after the first
    thirty words is cut off. The paper counts words in COCO's training captions.

    >>> Preparation.of("mcic", 5 * ["A dog!"]).text("A DOG, a cat")
    'a dog a unk'
    """

    known: frozenset[str]

    @classmethod
    def of(cls, name: str, texts: Iterable[str]) -> Preparation:
        """The preparation of a name, with the words counted in some texts."""
        if name not in PREPARATIONS:
            raise UnknownName("preparation", name, PREPARATIONS)
        counts = Counter(word for text in texts for word in letter_words(text))
        return cls(frozenset(word for word, count in counts.items() if count >= LEAST))

    def text(self, text: str) -> str:
        """The prepared caption."""
        words = letter_words(text)[:LONGEST]
        return " ".join(word if word in self.known else UNKNOWN for word in words)

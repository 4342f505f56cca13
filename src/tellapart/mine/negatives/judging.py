"""The judge of negatives: the strict check of form and kind, then whether it may be true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tellapart.mine.negatives.checking import PartsOfSpeech, anything, problem_of
from tellapart.mine.negatives.edit import Source
from tellapart.mine.negatives.facts import Facts
from tellapart.mine.negatives.truth import doubt_of


@dataclass(frozen=True, slots=True)
class Judge:
    """Knows the images' facts and which parts of speech the corpus's words take."""

    facts: Callable[[str], Facts]
    parts_of_speech: PartsOfSpeech = anything

    def problem(self, source: Source, negative: str, kind: str) -> str | None:
        """Why a negative is refused: one of `REASONS` or of `DOUBTS`; None where it is good."""
        wrong = problem_of(source.parse, negative, kind, self.parts_of_speech)
        return wrong or doubt_of(source.parse, negative, kind, self.facts(source.image))

"""The word lists of a corpus: its nouns, the words that go together, and the alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tellapart.mine.negatives.rules.counting import Counts
from tellapart.mine.negatives.rules.nouns import Nouns
from tellapart.mine.negatives.rules.others import Others
from tellapart.mine.negatives.rules.pairs import Pairs


@dataclass(frozen=True, slots=True)
class Lists:
    """What the rules ask of a corpus, learnt from it; `name` is the corpus's."""

    name: str
    counts: Counts
    nouns: Nouns
    pairs: Pairs
    others: Others

    @classmethod
    def of(cls, name: str, counts: Counts, sorts: Mapping[str, str]) -> Lists:
        """The lists that follow from counts; `sorts` is the supercategory of objects' names."""
        nouns = Nouns(counts)
        return cls(name, counts, nouns, Pairs(counts), Others(nouns, sorts))

    @property
    def about(self) -> dict[str, str]:
        """What the card says of the lists."""
        net = self.others.wordnet
        sorts = "a table of categories, else WordNet" if net else "a table of categories"
        return {
            "word lists from": f"{self.name}: {self.counts.pictures:,} images, "
            f"{self.counts.described:,} of them with a list of objects",
            "sorts of things by": f"{sorts}, else the words that they go with",
        }

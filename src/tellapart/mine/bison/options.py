"""What `build bison` can be told."""

from __future__ import annotations

from dataclasses import dataclass, field

from tellapart.errors import BadInput, UnknownName
from tellapart.mine.neighbours.nearest import Search

DIRECTIONS = ("both", "one")


@dataclass(frozen=True, slots=True)
class BisonOptions:
    """How pairs of images are found, and what is made of them.

    `vectors` are those that images are compared by: `fasttext` (trained on the corpus),
    `tf-idf`, `paragraphs`, `sentences:NAME`, a file of word vectors, or `auto`: fasttext where
    gensim is installed and there are captions enough to train on, else tf-idf. `neighbours` is
    the number of decoys of an image. With `directions` "both" each image of a pair is the
    target in turn, as in the released data.

    Without a verifier the caption that tells most is proposed if it tells at least
    `least_telling`: the logarithm of how many times likelier its words are to be said of the
    target than of the decoy (see `telling.py`). With `for_study` nothing is chosen: the pairs and
    their captions are written for people.
    `parser` is the spaCy pipeline that parts of speech are counted by, or `none`.
    """

    vectors: str = "auto"
    neighbours: int = 1
    directions: str = "both"
    least_telling: float = 3.5
    for_study: bool = False
    search: Search = field(default_factory=Search)
    parser: str = "auto"
    fast_training: bool = False

    def check(self) -> None:
        """Raise where a value cannot be meant."""
        if self.neighbours < 1:
            raise BadInput(f"{self.neighbours} neighbours are none", allowed="1 or more")
        if self.directions not in DIRECTIONS:
            raise UnknownName("way to ask a pair", self.directions, DIRECTIONS)

"""What `build mcic` can be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tellapart.errors import BadInput, UnknownName
from tellapart.mine.mcic.guards import Guards
from tellapart.mine.mcic.score import Choice
from tellapart.mine.mcic.tuning import Tuning
from tellapart.mine.neighbours.nearest import Search
from tellapart.text.caption_metrics.bleu import smoothing_of
from tellapart.text.gensim_vectors import ParagraphOptions

WAYS = ("auto", "paper", "fair-sets")


@dataclass(frozen=True, slots=True)
class McicOptions:
    """The ways to build MCIC, and what the paper's way depends on.

    `way` is `paper` (decoys for each caption by itself, Ding et al. 2016), `fair-sets` (five near
    captions of five images share one set of options, see `fair.py`) or `auto`: fair sets on the
    built-in world, where near captions are many and a verifier knows the truth.

    `vectors` is `paragraphs` (trained on the corpus with each setting of `tuning`), `tf-idf`,
    `sentences:NAME` (a model of sentence-transformers), a file with a vector for each caption
    (.npy, .parquet) or of word vectors, or `auto`: tf-idf up to 50,000 captions, by which siblings
    have better ranks; paragraphs beyond, or where there is a grid to search. `paragraphs` says how
    they are trained; dimensions, epochs and seed are set by `tuning` and by the build.

    `splits` are names with shares or numbers of images: `train:0.8,test:0.2`.
    """

    way: str = "auto"
    vectors: str = "auto"
    choice: Choice = field(default_factory=Choice)
    tuning: Tuning = field(default_factory=Tuning)
    guards: Guards = field(default_factory=Guards)
    search: Search = field(default_factory=Search)
    splits: str = ""
    paragraphs: ParagraphOptions = field(default_factory=ParagraphOptions)

    def check(self) -> None:
        """Raise where a value cannot be meant."""
        if self.way not in WAYS:
            raise UnknownName("way to build mcic", self.way, WAYS)
        if self.way == "fair-sets" and (self.splits or self.vectors not in ("auto", "tf-idf")):
            raise BadInput(
                "fair sets have no splits and no vectors but tf-idf",
                allowed="--options paper with --split and --vectors",
            )
        smoothing_of(self.choice.smoothing)
        self.guards.check()
        numbers = {
            "neighbours": (self.choice.neighbours,),
            "decoys": (self.choice.decoys,),
            "dimensions": self.tuning.dimensions,
            "epochs": self.tuning.epochs or (1,),
            "sample": (self.tuning.sample,),
        }
        for name, values in numbers.items():
            if not values or min(values) < 1:
                raise BadInput(f"{name}: {_shown(values)}", allowed="1 or more")
        if self.choice.decoys > self.choice.neighbours:
            raise BadInput(
                f"{self.choice.decoys} decoys cannot come from {self.choice.neighbours} neighbours",
                allowed="at least as many neighbours as decoys",
            )
        for name, shares in {"lambda": self.tuning.weights, "L": (self.choice.limit,)}.items():
            if not shares or not all(0 <= share <= 1 for share in shares):
                raise BadInput(f"{name}: {_shown(shares)}", allowed="0 to 1")


def _shown(values: Sequence[float]) -> str:
    return ", ".join(map(str, values)) or "none"

"""Which caption a pair of images is asked with: by a verifier, or by what it tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np

from tellapart.mine.bison.pairs import Target
from tellapart.mine.bison.telling import Telling
from tellapart.mine.building import Verifier
from tellapart.mine.captions import Captions
from tellapart.text.tokens import FUNCTION_WORDS

TRIES = 10
"""With a verifier so many neighbours are tried for each decoy that is wanted."""
PAIRS = 8192
"""Pairs whose captions are compared together."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two images, one of them the target."""

    target: int
    decoy: int
    similarity: float

    def ways(self, directions: str) -> tuple[Pair, ...]:
        """The pair as it is asked: once, or each image being the target in turn."""
        if directions == "one":
            return (self,)
        return (self, Pair(self.decoy, self.target, self.similarity))


@dataclass(frozen=True, slots=True)
class Asked:
    """A pair with the caption to ask with, and the caption's score."""

    pair: Pair
    caption: int
    score: float


@dataclass(slots=True)
class Tally:
    """Pairs, each way by itself: all, and those that no caption tells apart."""

    pairs: int = 0
    dropped: int = 0


def pairs_of(targets: Iterable[Target], directions: str) -> Iterator[Pair]:
    """Each pair once, or once each way."""
    seen: set[tuple[int, int]] = set()
    for one in targets:
        for decoy, similarity in zip(one.decoys.tolist(), one.similarities.tolist(), strict=True):
            for way in Pair(one.image, decoy, similarity).ways(directions):
                if (way.target, way.decoy) not in seen:
                    seen.add((way.target, way.decoy))
                    yield way


@dataclass(frozen=True, eq=False)
class ByTelling:
    """The caption that tells most; pairs of which none tells at least so much are dropped."""

    captions: Captions
    directions: str
    least: float
    tally: Tally = field(default_factory=Tally)

    tries = 1

    @property
    def rule(self) -> str:
        """For the card."""
        return (
            "the one that tells most: the sum over its content words of max(0, log(q / p)), q "
            "being how likely a caption of the target has the word and p how likely one of the "
            "decoy has it, from their captions and from what captions of one image share "
            f"throughout the corpus; at least {self.least}"
        )

    def asked(self, targets: Iterable[Target]) -> Iterator[Asked]:
        """Pairs with their captions."""
        pairs = pairs_of(targets, self.directions)
        while some := list(islice(pairs, PAIRS)):
            places, scores = self._telling.scores(
                np.array([pair.target for pair in some], np.int32),
                np.array([pair.decoy for pair in some], np.int32),
            )
            best = scores.argmax(axis=1)
            for row, pair in enumerate(some):
                caption, score = int(places[row, best[row]]), float(scores[row, best[row]])
                self.tally.pairs += 1
                if score >= self.least:
                    yield Asked(pair, caption, score)
                else:
                    self.tally.dropped += 1

    @cached_property
    def _telling(self) -> Telling:
        return Telling(self.captions)


@dataclass(frozen=True, eq=False)
class ByVerifier:
    """A caption that is true of the target alone; of several the hardest.

    The hardest is the one with fewest content words that the decoy's captions lack. Where none is
    true of the target alone, the next neighbour is tried.
    """

    captions: Captions
    directions: str
    neighbours: int
    verifier: Verifier
    tally: Tally = field(default_factory=Tally)

    tries = TRIES
    rule = (
        "true of the target alone by the verifier; of several the one with fewest content words "
        "that the decoy's captions lack"
    )

    def asked(self, targets: Iterable[Target]) -> Iterator[Asked]:
        """Pairs with their captions."""
        known: dict[tuple[int, int], Asked | None] = {}
        for one in targets:
            found = 0
            for pair in pairs_of([one], "one"):
                for way in pair.ways(self.directions):
                    key = (way.target, way.decoy)
                    if key not in known:
                        known[key] = self._hardest(way)
                        self.tally.pairs += 1
                        self.tally.dropped += known[key] is None
                        yield from filter(None, [known[key]])
                found += known[pair.target, pair.decoy] is not None
                if found == self.neighbours:
                    break

    def _hardest(self, pair: Pair) -> Asked | None:
        target, decoy = (self.captions.images[k] for k in (pair.target, pair.decoy))
        of_decoy = {w for k in self._of_image[pair.decoy] for w in self.captions.words[k]}
        told = sorted((len(self._content(k) - of_decoy), k) for k in self._of_image[pair.target])
        for new_words, caption in told:
            if self.verifier.tells_apart(self.captions.texts[caption], target, decoy):
                return Asked(pair, caption, float(new_words))
        return None

    def _content(self, caption: int) -> set[str]:
        return set(self.captions.words[caption]) - FUNCTION_WORDS

    @cached_property
    def _of_image(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in self.captions.images]
        for caption, image in enumerate(self.captions.image_of.tolist()):
            found[image].append(caption)
        return found

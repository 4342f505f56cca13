"""OPTIMIZE-PV and OPTIMIZE-SCORE: settings under which captions of one image are near each other.

Ding et al. 2016, section 3.3. The mgs-rank is the mean rank, by cosine, of an image's other
captions among the neighbours of a caption; the wmgs-rank is their mean rank, by Score.
Both are taken over captions of a sample of images, with neighbours from the whole corpus. Where the
paper is silent: a caption outside the N nearest has rank N + 1, one without a Score above 0 rank N.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tellapart import seeds
from tellapart.errors import BadInput
from tellapart.mine.captions import Captions, Ints, numbered
from tellapart.mine.mcic.score import Candidates, Choice, Floats, scores
from tellapart.mine.mcic.vectors import CaptionVectors
from tellapart.mine.neighbours.nearest import Neighbours, Search
from tellapart.text.caption_metrics.pair_bleu import PairBleu
from tellapart.text.gensim_vectors import ParagraphOptions

WORDS = 80_000_000
"""Words that training goes over in all: on COCO more of them help little."""
EPOCHS = (20, 160)
"""The fewest and the most epochs that this makes."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """The grids; what has one value is not tuned. `sample` is the most captions to rank for.

    Without `epochs` there are as many as the corpus needs (see `with_epochs`).
    """

    dimensions: tuple[int, ...] = (256,)
    epochs: tuple[int, ...] = ()
    weights: tuple[float, ...] = (0.3,)
    sample: int = 10_000

    def with_epochs(self, words: int) -> Tuning:
        """The same with epochs: the fewer words a corpus has, the more often each is needed.

        >>> [Tuning().with_epochs(words).epochs for words in (0, 1_000_000, 9_000_000)]
        [(160,), (80,), (20,)]
        """
        fewest, most = EPOCHS
        needed = min(most, max(fewest, round(WORDS / max(1, words))))
        return replace(self, epochs=self.epochs or (needed,))

    @property
    def settings(self) -> tuple[tuple[int, int], ...]:
        """Dimensions and epochs to try."""
        return tuple((size, epochs) for size in self.dimensions for epochs in self.epochs)


GRID = Tuning(
    dimensions=(128, 256, 512), epochs=(5, 10, 20, 40, 80), weights=tuple(k / 10 for k in range(11))
)
"""What `--tune` searches where nothing else is said."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A point of a grid: the mean rank of siblings, and the share of them among the N nearest."""

    measure: str
    setting: dict[str, float]
    rank: float
    found: float


@dataclass(frozen=True, eq=False)
class Development:
    """Captions of whole images, on which settings are compared."""

    captions: Captions
    sample: Ints
    neighbours: int

    @classmethod
    def of(cls, captions: Captions, most: int, neighbours: int, seed: int) -> Development:
        """A random sample of images with two or more captions, of at most so many captions."""
        sizes = np.bincount(captions.image_of, minlength=len(captions.images))
        several = np.flatnonzero(sizes > 1)
        if not len(several):
            raise BadInput(
                "no image has two captions: there is nothing to tune on",
                allowed="images with two or more captions",
                todo="leave out --tune, with one value each for dimensions, epochs and lambda",
            )
        order = seeds.rng(seed, "mcic", "development sample").permutation(several)
        fit = max(1, int(np.searchsorted(np.cumsum(sizes[order]), most, side="right")))
        taken = np.zeros(len(captions.images), bool)
        taken[order[:fit]] = True
        sample = np.flatnonzero(taken[captions.image_of]).astype(np.int32)
        return cls(captions, sample, min(neighbours, len(captions) - 1))

    def near(self, vectors: CaptionVectors, search: Search) -> tuple[Ints, Floats]:
        """The N nearest captions of each one in the sample, siblings among them."""
        neighbours = Neighbours(vectors.vectors, search=search)
        blocks = list(neighbours.nearest(self.neighbours, self.sample))
        indices = np.concatenate([block.indices for block in blocks])
        return indices, np.concatenate([block.similarities for block in blocks])

    def rank(self, near: Ints, ranks: Ints) -> tuple[float, float]:
        """The mean rank of siblings if neighbours have these ranks, and the share among the N."""
        number = self._siblings
        is_sibling = (near >= 0) & self._are_siblings(near)
        inside = is_sibling.sum(axis=1)
        outside = number - inside
        total = (ranks * is_sibling).sum(axis=1) + outside * (self.neighbours + 1)
        some = number > 0
        return float((total[some] / number[some]).mean()), float(inside.sum() / number.sum())

    @cached_property
    def _texts(self) -> Ints:
        return numbered(self.captions.texts)

    def _are_siblings(self, near: Ints) -> npt.NDArray[np.bool_]:
        """Captions of the same image with another text."""
        own = self.sample[:, None]
        same_image = self.captions.image_of[near] == self.captions.image_of[own]
        other_text = self._texts[near] != self._texts[own]
        both: npt.NDArray[np.bool_] = same_image & other_text
        return both

    @cached_property
    def _siblings(self) -> Ints:
        """How many siblings each caption of the sample has."""
        image_of = self.captions.image_of
        sizes = np.bincount(image_of)[image_of]
        _, pairs, same = np.unique(
            np.stack([image_of, self._texts]), axis=1, return_inverse=True, return_counts=True
        )
        return (sizes - same[pairs.ravel()])[self.sample].astype(np.int32)


def mgs_rank(dev: Development, near: Ints) -> tuple[float, float]:
    """The mean rank of siblings by cosine, and the share of them among the N nearest."""
    return dev.rank(near, np.broadcast_to(np.arange(1, near.shape[1] + 1), near.shape))


def wmgs_rank(dev: Development, near: Candidates, choice: Choice) -> tuple[float, float]:
    """The mean rank of siblings by Score, and the share of them among the N nearest."""
    score = scores(near.cosines, near.bleus, choice.weight, choice.limit)
    order = np.argsort(-np.maximum(score, 0), axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(1, score.shape[1] + 1)[None, :], axis=1)
    return dev.rank(near.captions, np.where(score > 0, ranks, dev.neighbours))


def optimise_vectors(
    dev: Development,
    train: Callable[[ParagraphOptions], CaptionVectors],
    tuning: Tuning,
    base: ParagraphOptions,
    search: Search,
) -> tuple[ParagraphOptions, list[Trial]]:
    """OPTIMIZE-PV: the setting with the lowest mgs-rank, of equal ones the first."""
    trials = []
    for size, epochs in tuning.settings:
        vectors = train(replace(base, dimensions=size, epochs=epochs))
        near, _ = dev.near(vectors, search)
        rank, found = mgs_rank(dev, near)
        trials.append(Trial("mgs-rank", {"dimensions": size, "epochs": epochs}, rank, found))
    best = tuning.settings[int(np.argmin([trial.rank for trial in trials]))]
    return replace(base, dimensions=best[0], epochs=best[1]), trials


def optimise_weight(
    dev: Development,
    vectors: CaptionVectors,
    bleu: PairBleu,
    choice: Choice,
    tuning: Tuning,
    search: Search,
) -> tuple[float, list[Trial]]:
    """OPTIMIZE-SCORE: the lambda with the lowest wmgs-rank, of equal ones the first."""
    near, cosines = dev.near(vectors, search)
    bleus = bleu.scores_against(dev.sample, np.maximum(near, 0))
    candidates = Candidates(dev.sample, np.full_like(dev.sample, -1), near, cosines, bleus)
    trials = []
    for weight in tuning.weights:
        rank, found = wmgs_rank(dev, candidates, replace(choice, weight=weight))
        trials.append(Trial("wmgs-rank", {"lambda": weight}, rank, found))
    return tuning.weights[int(np.argmin([trial.rank for trial in trials]))], trials

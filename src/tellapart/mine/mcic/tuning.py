"""OPTIMIZE-PV and OPTIMIZE-SCORE: settings under which captions of one image are near each other.

Ding et al. 2016, section 3.3. The mgs-rank is the mean rank, by cosine, of an image's other
captions among the neighbours of a caption; the wmgs-rank is their mean rank by Score. Both are
computed over captions of a sample of images, with neighbours from the whole corpus. The paper does
not define these cases: a caption outside the N nearest has rank N + 1, and one without a Score
above 0 has rank N.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from tellapart import seeds
from tellapart.errors import BadInput
from tellapart.mine.captions import MinedCaptions
from tellapart.mine.mcic.decoys import pair_bleu
from tellapart.mine.mcic.score import DecoyCandidates, DecoyChoice, Numbers, scores
from tellapart.mine.neighbours.nearest import Neighbours, Search
from tellapart.mine.vectors import (
    AUTO,
    PARAGRAPHS,
    MinedVectors,
    caption_vectors,
    chosen_spec,
    paragraph_vectors,
)
from tellapart.text.gensim_vectors import ParagraphOptions
from tellapart.text.table_text import aligned
from tellapart.types import Ints32, Progress

WORDS = 80_000_000
"""The total number of words in training: on COCO more of them help little."""
EPOCHS = (20, 160)
"""The fewest and the most epochs that follow from it."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """The grids; a setting with one value is not tuned. `sample` is the most captions to rank.

    Without `epochs`, their number follows from the corpus (see `with_epochs`).
    """

    dimensions: tuple[int, ...] = (256,)
    epochs: tuple[int, ...] = ()
    weights: tuple[float, ...] = (0.3,)
    sample: int = 10_000

    def with_epochs(self, words: int) -> Tuning:
        """The same with epochs: the fewer words a corpus has, the more epochs.

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
"""The default search of `--tune`."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A point of a grid: the mean rank of siblings, and their share among the N nearest."""

    measure: str
    setting: dict[str, float]
    rank: float
    found: float


@dataclass(frozen=True, eq=False)
class Development:
    """Captions of whole images, on which settings are compared."""

    captions: MinedCaptions
    sample: Ints32
    neighbours: int

    @classmethod
    def of(cls, captions: MinedCaptions, most: int, neighbours: int, seed: int) -> Development:
        """A random sample of images with two or more captions, with at most `most` captions."""
        sizes = captions.per_image
        several = np.flatnonzero(sizes > 1)
        if not len(several):
            raise BadInput(
                "no image has two captions, so there is nothing to tune on",
                allowed="images with two or more captions",
                todo="leave out --tune, and give one value each for dimensions, epochs and lambda",
            )
        order = seeds.rng(seed, "mcic", "development sample").permutation(several)
        fit = max(1, int(np.searchsorted(np.cumsum(sizes[order]), most, side="right")))
        taken = np.zeros(len(captions.images), bool)
        taken[order[:fit]] = True
        sample = np.flatnonzero(taken[captions.image_of]).astype(np.int32)
        return cls(captions, sample, min(neighbours, len(captions) - 1))

    def near(self, vectors: MinedVectors, search: Search) -> tuple[Ints32, Numbers]:
        """The N nearest captions of each caption in the sample, including siblings."""
        neighbours = Neighbours(vectors.rows, search=search)
        blocks = list(neighbours.nearest(self.neighbours, self.sample))
        indices = np.concatenate([block.indices for block in blocks])
        return indices, np.concatenate([block.similarities for block in blocks])

    def rank(self, near: Ints32, ranks: Ints32) -> tuple[float, float]:
        """The mean rank of siblings, given the neighbours' ranks, and their share among the N."""
        own, number = self.sample[:, None], self._siblings
        same_image = self.captions.image_of[near] == self.captions.image_of[own]
        other_text = self.captions.text_numbers[near] != self.captions.text_numbers[own]
        is_sibling = (near >= 0) & same_image & other_text
        inside = is_sibling.sum(axis=1)
        total = (ranks * is_sibling).sum(axis=1) + (number - inside) * (self.neighbours + 1)
        some = number > 0
        return float((total[some] / number[some]).mean()), float(inside.sum() / number.sum())

    @cached_property
    def _siblings(self) -> Ints32:
        """How many siblings (same image, different text) each caption of the sample has."""
        texts, image_of = self.captions.text_numbers, self.captions.image_of
        pair = image_of.astype(np.int64) * len(texts) + texts
        _, pairs, same = np.unique(pair, return_inverse=True, return_counts=True)
        others = self.captions.per_image[image_of] - same[pairs]
        return np.asarray(others[self.sample], np.int32)


def mgs_rank(dev: Development, near: Ints32) -> tuple[float, float]:
    """The mean rank of siblings by cosine, and their share among the N nearest."""
    return dev.rank(near, np.broadcast_to(np.arange(1, near.shape[1] + 1), near.shape))


def wmgs_rank(dev: Development, near: DecoyCandidates, choice: DecoyChoice) -> tuple[float, float]:
    """The mean rank of siblings by Score, and their share among the N nearest."""
    score = scores(near.cosines, near.bleus, choice.weight, choice.limit)
    order = np.argsort(-np.maximum(score, 0), axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(1, score.shape[1] + 1)[None, :], axis=1)
    return dev.rank(near.captions, np.where(score > 0, ranks, dev.neighbours))


@dataclass(frozen=True, eq=False)
class TunedMining:
    """The final vectors and choice, and the trials that led to them."""

    vectors: MinedVectors
    choice: DecoyChoice
    trials: tuple[Trial, ...] = ()

    def for_card(self) -> dict[str, Any]:
        """The facts for a methods section."""
        choice = self.choice
        return {
            "vectors": self.vectors.about["vectors"],
            "N": choice.neighbours,
            "L": choice.limit,
            "lambda": choice.weight,
            "decoys": choice.decoys,
            "BLEU": f"decoy against target, up to 4-grams, no brevity penalty, {choice.smoothing} "
            "smoothing, lower-case words without punctuation",
            "tuned": [
                {"measure": one.measure, **one.setting, "rank": round(one.rank, 3),
                 "found": round(one.found, 4)}
                for one in self.trials
            ],
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Tuner:
    """Finds vectors and lambda for the captions of a corpus; single values are used unchanged.

    `paragraphs` says how paragraph vectors are trained; dimensions and epochs come from the tuning.
    """

    captions: MinedCaptions
    tuning: Tuning
    choice: DecoyChoice
    paragraphs: ParagraphOptions
    search: Search
    progress: Progress

    def tuned(self, spec: str) -> TunedMining:
        """OPTIMIZE-PV and OPTIMIZE-SCORE, if a grid has several values.

        `spec` names vectors; `auto` means paragraph vectors if there are several to try.
        """
        settings = self._tuning.settings
        grid = len(settings) > 1
        spec = PARAGRAPHS if grid and spec == AUTO else chosen_spec(self.captions, spec)
        trials: list[Trial] = []
        if (grid and spec == PARAGRAPHS) or len(self._tuning.weights) > 1:
            _ = self._development  # raises early if there is nothing to tune on
        if spec == PARAGRAPHS:
            best, trials = self._optimise_vectors() if grid else (settings[0], [])
            vectors = self._trained(*best)
        else:
            vectors = caption_vectors(self.captions, spec, self.progress)
        weight = self._tuning.weights[0]
        if len(self._tuning.weights) > 1:
            weight, weight_trials = self._optimise_weight(vectors)
            trials += weight_trials
        return TunedMining(vectors, replace(self.choice, weight=weight), tuple(trials))

    def _optimise_vectors(self) -> tuple[tuple[int, int], list[Trial]]:
        """OPTIMIZE-PV: the first setting with the lowest mgs-rank."""
        trials = []
        for size, epochs in self._tuning.settings:
            near, _ = self._development.near(self._trained(size, epochs), self.search)
            rank, found = mgs_rank(self._development, near)
            trials.append(Trial("mgs-rank", {"dimensions": size, "epochs": epochs}, rank, found))
        lowest = min(trials, key=lambda trial: trial.rank)
        return self._tuning.settings[trials.index(lowest)], trials

    def _optimise_weight(self, vectors: MinedVectors) -> tuple[float, list[Trial]]:
        """OPTIMIZE-SCORE: the first lambda with the lowest wmgs-rank."""
        sample = self._development.sample
        near, cosines = self._development.near(vectors, self.search)
        bleu = pair_bleu(self.captions, self.choice)
        bleus = bleu.scores_against(sample, np.maximum(near, 0))
        candidates = DecoyCandidates(sample, np.full_like(sample, -1), near, cosines, bleus)
        trials = []
        for weight in self._tuning.weights:
            choice = replace(self.choice, weight=weight)
            rank, found = wmgs_rank(self._development, candidates, choice)
            trials.append(Trial("wmgs-rank", {"lambda": weight}, rank, found))
        return min(trials, key=lambda trial: trial.rank).setting["lambda"], trials

    def _trained(self, dimensions: int, epochs: int) -> MinedVectors:
        options = replace(self.paragraphs, dimensions=dimensions, epochs=epochs)
        return paragraph_vectors(self.captions, options, self.progress)

    @cached_property
    def _tuning(self) -> Tuning:
        return self.tuning.with_epochs(sum(map(len, self.captions.words)))

    @cached_property
    def _development(self) -> Development:
        neighbours, seed = self.choice.neighbours, self.paragraphs.seed
        return Development.of(self.captions, self.tuning.sample, neighbours, seed)


def trial_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """The trials of the card, with the best of each rank marked."""
    lowest: dict[str, float] = {}
    for row in rows:
        lowest[row["measure"]] = min(row["rank"], lowest.get(row["measure"], row["rank"]))
    shown = [("tuned by", "setting", "rank", "found")]
    for row in rows:
        values = {k: v for k, v in row.items() if k not in ("measure", "rank", "found")}
        setting = ", ".join(f"{name} {value:g}" for name, value in values.items())
        mark = " *" if row["rank"] == lowest[row["measure"]] else ""
        rank, found = f"{row['rank']:.1f}", f"{row['found']:.1%}"
        shown.append((row["measure"], setting + mark, rank, found))
    return aligned(shown, {0, 1})


def draw_curves(trials: Sequence[Trial]) -> str:
    """An SVG with a panel for each rank used in tuning."""
    import vl_convert

    panels = []
    for measure, across in (("mgs-rank", "epochs"), ("wmgs-rank", "lambda")):
        points = [{"rank": one.rank, **one.setting} for one in trials if one.measure == measure]
        encoding: dict[str, Any] = {
            "x": {"field": across, "type": "quantitative", "title": across},
            "y": {
                "field": "rank", "type": "quantitative", "title": f"{measure} (lower is better)",
                "scale": {"zero": False},
            },
        }  # fmt: skip
        if len({point.get("dimensions") for point in points}) > 1:
            encoding["color"] = {"field": "dimensions", "type": "nominal"}
        panel = {"width": 300, "height": 220, "data": {"values": points}, "encoding": encoding}
        if points:
            panels.append({**panel, "mark": {"type": "line", "point": True}})
    drawing = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "hconcat": panels,
        "config": {"view": {"stroke": None}, "font": "sans-serif"},
    }
    svg: str = vl_convert.vegalite_to_svg(drawing, allowed_base_urls=[])
    return svg

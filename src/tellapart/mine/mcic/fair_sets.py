"""Fair sets: five images whose captions are near each other share one set of options.

Ding et al. 2016, section 3.2, uses the nearest captions of other images. Chosen one by one, they
give the target away: it is the one option that all others are near to. A fair set is asked once for
each of its five images. Any answer that ignores the image is right exactly once in five.

Sets come from the graph of captions that can be options together (`OptionGraph`), the nearest
first. An image is in at most one set, with one of its captions, so that each set is a separate
group for statistics; sets that shared images would all be connected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tellapart import seeds
from tellapart.mine.mcic.decoys import DecoyMine
from tellapart.mine.mcic.option_graph import OptionGraph
from tellapart.mine.mcic.score import REASONS, ChosenDecoys, scores
from tellapart.types import Ints32, Progress, silent

SAMPLE = 5_000
"""How many captions get decoys by the paper's method, for comparison."""
STEP = 0.97
"""Sets are chosen level by level, each this share of the one above: nearly best first."""
LIKELY = 0.3
"""The guard `likely` of fair sets: it finds most true decoys and costs a few sets in a hundred."""
GROWING = "fair sets"
TINY = 1e-9
"""Every set needs a Score above 0."""


@dataclass(frozen=True, eq=False)
class FairSets:
    """Sets of captions, one of each image, that can be options together.

    `mine` chooses decoys by the paper's method. `least` is how near the captions of a set must be:
    their mean Score, as a share of the Score of the paper's decoys. A verifier checks the sets
    found.
    """

    mine: DecoyMine
    least: float

    @cached_property
    def paper_score(self) -> float:
        """The mean Score of decoys by the paper's method, for a sample of the captions."""
        number = len(self.mine.captions)
        lot = seeds.rng(self.mine.seed, "mcic", "sample of the paper's way").permutation(number)
        targets = np.sort(lot[:SAMPLE]).astype(np.int32)
        guards = replace(self.mine.guards, likely=1.0)
        own = replace(self.mine.choosing(self.mine.choice, guards), crew=None)  # quick
        chosen = own.decoys(targets)
        found = chosen.scores[chosen.complete]
        return float(found.mean()) if found.size else 0.0

    def chosen(self, most: int | None, progress: Progress = silent) -> tuple[Ints32, ChosenDecoys]:
        """The captions of all sets, set after set, each with the others as its decoys.

        `most` is the most sets.
        """
        sets = self._sets(most, progress)
        size = sets.shape[1]
        others = np.array([[k for k in range(size) if k != own] for own in range(size)])
        targets, decoys = sets.ravel(), sets[:, others].reshape(-1, size - 1)
        return targets, self._scored(targets, decoys)

    def _scored(self, targets: Ints32, decoys: Ints32) -> ChosenDecoys:
        """Decoys with their numbers, the highest Score first."""
        choice, flat = self.mine.choice, decoys.ravel()
        rows = np.repeat(targets, decoys.shape[1])
        cosines = self.mine.vectors.cosines(rows, flat).reshape(decoys.shape)
        bleus = self.mine.bleu.scores(flat, rows).reshape(decoys.shape)
        score = scores(cosines, bleus, choice.weight, choice.limit)
        order = np.argsort(-score, axis=1, kind="stable")
        refused = np.zeros((len(targets), len(REASONS)), np.int32)
        columns = (decoys, score, bleus, cosines)
        sorted_ = [np.take_along_axis(values, order, 1) for values in columns]
        return ChosenDecoys._make([*sorted_, refused])

    def _sets(self, most: int | None, progress: Progress) -> Ints32:
        """Sets by nearness, level by level, down to the least.

        The best set of a caption can only get worse as images are used up. So a set stays the best
        as long as all its images are free; only then is another searched for.
        """
        captions, size = self.mine.captions, self.mine.choice.decoys + 1
        floor = max(self.least * self.paper_score, TINY)
        graph = OptionGraph.of(self.mine, progress)
        taken = np.zeros(len(captions.images), bool)
        every = np.arange(len(captions), dtype=np.int32)
        sets, means = graph.best_sets(every, size, taken)
        found: list[Ints32] = []
        while means.max(initial=0) >= floor and (most is None or len(found) < most):
            level = max(float(means.max()) * STEP, floor)
            due = np.flatnonzero(means >= level)
            again = []
            for seed in due[np.argsort(-means[due], kind="stable")].tolist():
                if taken[captions.image_of[sets[seed]]].any() or not self._holds(sets[seed], graph):
                    again.append(seed)
                else:
                    found.append(sets[seed].copy())
                    taken[captions.image_of[sets[seed]]] = True
                    means[seed] = -1
            seeds_again = np.array(again, np.int32)
            sets[seeds_again], means[seeds_again] = graph.best_sets(seeds_again, size, taken)
            progress(GROWING, int(taken.sum()), len(taken))
        progress(GROWING, len(taken), len(taken))
        return np.array(found[:most], np.int32).reshape(-1, size)

    def _holds(self, members: Ints32, graph: OptionGraph) -> bool:
        """Whether the verifier accepts a set; what it rejects is removed from the graph."""
        verifier = self.mine.verifier
        if not verifier.name:
            return True
        texts, images = self.mine.captions.texts, self.mine.captions.images
        own = [(k, images[self.mine.captions.image_of[k]]) for k in members.tolist()]
        wrong = [k for k, image in own if not verifier.may_fit(image, texts[k])]
        true = [
            (k, other)
            for k, image in own
            for other, _ in own
            if other != k and not verifier.may_be_false(image, texts[other])
        ]
        for caption in wrong:
            graph.leave_out(caption)
        for k, other in true:
            graph.part(k, other)
        return not wrong and not true

"""What is settled before decoys are chosen: the vectors and lambda, tuned where that was asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tellapart.mine.building import BuildOptions
from tellapart.mine.captions import Captions
from tellapart.mine.mcic.decoys import pair_bleu
from tellapart.mine.mcic.options import McicOptions
from tellapart.mine.mcic.score import Choice
from tellapart.mine.mcic.tuning import Development, Trial, optimise_vectors, optimise_weight
from tellapart.mine.mcic.vectors import (
    AUTO,
    PARAGRAPHS,
    CaptionVectors,
    chosen_spec,
    other_vectors,
    paragraph_vectors,
)  # fmt: skip
from tellapart.text.gensim_vectors import ParagraphOptions


@dataclass(frozen=True, eq=False)
class Settled:
    """Vectors and choice as they are used, and the trials that led to them."""

    vectors: CaptionVectors
    choice: Choice
    trials: tuple[Trial, ...] = ()

    def for_card(self) -> dict[str, Any]:
        """What a methods section says of it."""
        choice = self.choice
        return {
            "vectors": self.vectors.name,
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


def settle(captions: Captions, own: McicOptions, options: BuildOptions) -> Settled:
    """OPTIMIZE-PV and OPTIMIZE-SCORE where a grid has several values, else what was given."""
    tuning = own.tuning.with_epochs(sum(map(len, captions.words)))
    choice, search = own.choice, own.search
    dimensions, epochs = tuning.settings[0]
    base = replace(own.paragraphs, dimensions=dimensions, epochs=epochs, seed=options.seed)
    grid = len(tuning.settings) > 1
    spec = PARAGRAPHS if grid and own.vectors == AUTO else chosen_spec(captions, own.vectors)
    tuned_vectors = grid and spec == PARAGRAPHS
    trials: list[Trial] = []

    def train(setting: ParagraphOptions) -> CaptionVectors:
        return paragraph_vectors(captions, setting, options.progress)

    if tuned_vectors or len(tuning.weights) > 1:
        dev = Development.of(captions, tuning.sample, choice.neighbours, options.seed)
    if tuned_vectors:
        base, trials = optimise_vectors(dev, train, tuning, base, search)
    trained = spec == PARAGRAPHS
    vectors = train(base) if trained else other_vectors(captions, spec, options.progress)
    weight = tuning.weights[0]
    if len(tuning.weights) > 1:
        bleu = pair_bleu(captions, choice)
        weight, more = optimise_weight(dev, vectors, bleu, choice, tuning, search)
        trials += more
    return Settled(vectors, replace(choice, weight=weight), tuple(trials))

"""Keeping the hardest foil of each caption (Shekhar et al. 2017, section 3, step 4)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tellapart import seeds
from tellapart.mine.building import Progress
from tellapart.mine.foil.by_model import model_scores
from tellapart.mine.foil.foils import Foils
from tellapart.mine.foil.language import NAME, language_scores
from tellapart.mine.foil.options import LANGUAGE, RANDOM
from tellapart.models.names import load
from tellapart.text.parsed import Ints
from tellapart.text.trigrams import Floats

DIGITS = 9
"""Scores are rounded, so that equal ones stay equal whatever the order of summation."""


def scored(foils: Foils, hardest: str, progress: Progress) -> tuple[Floats, str]:
    """A score for each foil, higher for harder ones, and who gave it."""
    if hardest == RANDOM:
        return np.zeros(len(foils.rows)), "nobody: foils are drawn at random"
    if hardest == LANGUAGE:
        return language_scores(foils), NAME
    model = load(hardest)
    return model_scores(foils, model, progress), model.facts.name


def by_hardness(foils: Foils, scores: Floats, per: str, seed: int) -> Iterator[Ints]:
    """For each caption (or image) that has foils, these from the hardest on; ties at random."""
    group = foils.caption if per == "caption" else foils.image[foils.caption]
    chance = seeds.rng(seed, "foil", "ties").random(len(scores))
    order = np.lexsort((chance, -scores.round(DIGITS), group))
    ends = np.flatnonzero(np.diff(group[order], append=-1)) + 1
    begin = 0
    for end in ends.tolist():
        yield order[begin:end]
        begin = end

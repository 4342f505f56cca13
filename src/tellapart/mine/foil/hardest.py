"""Keeping the hardest foil of each caption (Shekhar et al. 2017, section 3, step 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from tellapart import seeds
from tellapart.mine.foil.by_model import by_model
from tellapart.mine.foil.foils import Foils
from tellapart.mine.foil.language import NAME, language_scores
from tellapart.mine.foil.options import LANGUAGE, RANDOM
from tellapart.models.names import load
from tellapart.text.language.trigrams import Floats
from tellapart.text.parsing.parsed import Ints

Hardness = Callable[[Ints], Floats]
"""Gives scores to some foils of one image: higher for harder ones."""
DIGITS = 9
"""Scores are rounded, so that equal ones stay equal whatever the order of summation."""


@contextmanager
def hardness(foils: Foils, hardest: str) -> Iterator[tuple[Hardness, str]]:
    """Who says how hard foils are, and how the card puts it."""
    if hardest == RANDOM:
        yield lambda rows: np.zeros(len(rows)), "drawn at random"
    elif hardest == LANGUAGE:
        yield language_scores(foils).__getitem__, f"chosen by a {NAME}"
    else:
        model = load(hardest)
        with by_model(foils, model) as scores:
            yield scores, f"chosen by {model.facts.name}"


def by_hardness(foils: Foils, score: Hardness, per: str, seed: int) -> Iterator[Ints]:
    """For each caption (or image) that has foils, these from the hardest on; ties at random.

    Images follow one another; scores are asked for as they are needed.
    """
    image = foils.image[foils.caption]
    chance = seeds.rng(seed, "foil", "ties").random(len(foils))
    order = np.argsort(image, kind="stable")
    for mine in _runs(order, image[order]):
        group = foils.caption[mine] if per == "caption" else image[mine]
        inside = np.lexsort((chance[mine], -score(mine).round(DIGITS), group))
        yield from _runs(mine[inside], group[inside])


def _runs(rows: Ints, group: Ints) -> list[Ints]:
    """Rows cut wherever their group changes."""
    return np.split(rows, np.flatnonzero(np.diff(group)) + 1) if len(rows) else []

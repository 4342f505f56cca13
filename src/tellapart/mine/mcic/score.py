"""Equation 1 and the choice of decoys (Ding et al. 2016, section 3.2).

Score is 0 where BLEU reaches L, else lambda * cosine + (1 - lambda) * BLEU; the decoys of a caption
are those of its nearest captions that have the highest Score above 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tellapart.mine.captions import Ints
from tellapart.mine.mcic.guards import Guards
from tellapart.mine.mcic.telling import Said

Floats = npt.NDArray[np.floating]
REASONS = ("too alike (BLEU)", "same words", "may be true", "same as another decoy")


@dataclass(frozen=True, slots=True)
class Choice:
    """What the choice depends on: the paper's N, its number of decoys, L and lambda (`weight`).

    `smoothing` is that of BLEU, which the paper does not name; `exp`, and no n-grams longer than
    the decoy, is the usual BLEU of single sentences (sacreBLEU's).
    """

    neighbours: int = 500
    decoys: int = 4
    limit: float = 0.5
    weight: float = 0.3
    smoothing: str = "exp"


class Candidates(NamedTuple):
    """Neighbours of target captions [q], arrays [q, n]: nearest first, caption -1 for none.

    BLEU has the neighbour as candidate and the target as reference. `longer` [q] says how many
    decoys are to be longer than the target, -1 for as it comes.
    """

    targets: Ints
    longer: Ints
    captions: Ints
    cosines: Floats
    bleus: Floats


class Chosen(NamedTuple):
    """The decoys of some captions, arrays [q, decoys]: best first, caption -1 where too few.

    `refused` [q, reasons] counts the neighbours that were passed over, in the order of `REASONS`.
    """

    captions: Ints
    scores: Floats
    bleus: Floats
    cosines: Floats
    refused: Ints


def scores(cosines: Floats, bleus: Floats, weight: float, limit: float) -> Floats:
    """Equation 1, element by element; rounded, so that what is equal ties whatever its sum's order.

    >>> scores(np.array([0.5, 0.5]), np.array([0.2, 0.5]), 0.3, 0.5).round(3).tolist()
    [0.29, 0.0]
    """
    mixed = weight * cosines.astype(np.float64) + (1 - weight) * bleus
    return np.where(bleus >= limit, 0.0, mixed.round(12))


def choose(near: Candidates, said: Said, choice: Choice, guards: Guards) -> Chosen:
    """The decoys of each target, of equal Score the nearer one first."""
    from tellapart.mine.mcic.kernels import pick_rows
    from tellapart.text._numba import in_threads

    score = scores(near.cosines, near.bleus, choice.weight, choice.limit)
    alike = near.bleus >= choice.limit
    places = np.full((len(near.targets), choice.decoys), -1, np.int32)
    refused = np.zeros((len(places), len(REASONS)), np.int32)
    captions = said.captions
    told = (
        captions.bags, said.bags.starts, said.bags.values, said.words.starts, said.words.values,
        said.known.starts, said.known.values, said.vocabulary.agreement, captions.per_image,
        captions.lengths,
    )  # fmt: skip
    rules = (guards.same_words, guards.doubt, guards.distinct)
    rows = (near.targets, near.longer, near.captions, score, alike, captions.image_of)
    in_threads(lambda a, b: pick_rows(*rows, told, rules, places, refused, a, b), len(places), 256)
    missing, where = places < 0, np.maximum(places, 0)
    found = np.where(missing, -1, np.take_along_axis(near.captions, where, 1)).astype(np.int32)
    numbers = [
        np.where(missing, 0.0, np.take_along_axis(values, where, 1))
        for values in (score, near.bleus, near.cosines)
    ]
    return Chosen(found, numbers[0], numbers[1], numbers[2], refused)

"""Conditional logit: P(option) of a choice is proportional to exp(weights . features).

McFadden 1974. Fitted by L-BFGS on the penalised likelihood, which is concave; weights are fitted on
other folds of groups than those that they are applied to. Each kind may differ from the others by
weights of its own, which a ridge keeps small where the kind has few choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy  # its submodules load on first use, which takes longer than most commands
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

from tellapart.attack.choices import Choices
from tellapart.attack.features import WORDS, Features
from tellapart.types import Bools, Floats, Floats32, Ints

RIDGE, WORD_RIDGE = 2.0, 2.0
STEPS = 60
KIND_CHOICES = 200
"""Kinds with fewer choices have no weights of their own."""


@dataclass(frozen=True, eq=False)
class Design:
    """The features of options as a model's input: dense ones scaled within choices, and words.

    Choices stand kind by kind; `kind` is the number of each one's weights: 0 for kinds that have
    none of their own.
    """

    dense: Floats32
    words: csr_matrix
    kind: Ints

    @classmethod
    def of(cls, features: Features, choices: Choices, families: frozenset[str] | None) -> Design:
        """The features of some families (None: all)."""
        wanted = np.array([families is None or f in families for f in features.families], bool)
        centred = centred_features(features.dense[:, wanted], choices)
        # By the spread within choices: what differs between choices cannot help.
        scale = np.sqrt((centred**2).mean(axis=0)) if len(centred) else np.ones(centred.shape[1])
        scaled = (centred / np.where(scale > 1e-12, scale, 1.0)).astype(np.float32)
        counts = np.bincount(choices.kind, minlength=len(choices.kinds))
        large = (counts >= KIND_CHOICES) & (counts < len(choices))
        number = np.where(large, np.cumsum(large), 0)
        use_words = families is None or WORDS in families
        words = features.words if use_words else features.words[:, :0]
        return cls(scaled, csr_matrix(words, dtype=np.float32), number[choices.kind])


def centred_features(values: Floats, choices: Choices) -> Floats:
    """Each option's values without the mean over its choice's options."""
    if not len(values):
        return values
    sums = np.add.reduceat(values, choices.starts[:-1], axis=0)
    centred: Floats = values - (sums / choices.sizes[:, None])[choices.choice]
    return centred


def logit_scores(
    features: Features,
    choices: Choices,
    fold: Ints,
    families: frozenset[str] | None = None,
    only: Sequence[int] | None = None,
) -> Floats:
    """A score for each option, by weights that were fitted on the other folds.

    With `only` some folds are scored, and options of the others have 0.
    """
    design = Design.of(features, choices, families)
    scores = np.zeros(len(choices.text))
    for number in np.unique(fold).tolist() if only is None else only:
        here = fold == number
        if not here.all():
            weights = fit(design, choices, ~here)
            rows = here[choices.choice]
            scores[rows] = weights.scores(design, choices, rows)
    return np.round(scores, 6)  # equal features must tie, whatever the order of additions


@dataclass(frozen=True, eq=False)
class Weights:
    """Of the dense features by kind, shape (kinds, features), and of words."""

    dense: Floats32
    words: Floats32

    def scores(self, design: Design, choices: Choices, rows: Bools) -> Floats:
        """The scores of some options."""
        own = self.dense[design.kind[choices.choice[rows]]]
        dense = np.einsum("ij,ij->i", design.dense[rows], own)
        scores: Floats = dense + design.words[rows] @ self.words
        return scores


def fit(design: Design, choices: Choices, use: Bools) -> Weights:
    """Weights that make the right options of some choices likeliest."""
    chosen = np.flatnonzero(use)
    chosen = chosen[np.argsort(design.kind[chosen], kind="stable")]
    sizes = choices.sizes[chosen]
    starts = np.cumsum(sizes) - sizes
    back = np.repeat(np.arange(len(sizes)), sizes)
    rows = choices.starts[chosen][back] + np.arange(len(back)) - starts[back]
    dense, words, right = design.dense[rows], design.words[rows], choices.right[rows]
    turned = words.T.tocsr()
    kinds = int(design.kind.max(initial=0)) + 1
    bounds = np.searchsorted(design.kind[chosen][back], np.arange(kinds + 1))
    parts = [slice(a, b) for a, b in pairwise(bounds.tolist())]
    columns = dense.shape[1]
    shape = (kinds, columns)
    ridge = np.concatenate([np.full(kinds * columns, RIDGE), np.full(words.shape[1], WORD_RIDGE)])

    def loss(weights: Floats) -> tuple[float, Floats]:
        own = weights.astype(np.float32)
        by_kind = _by_kind(own[: kinds * columns].reshape(shape))
        scores = words @ own[kinds * columns :]
        for part, weight in zip(parts, by_kind, strict=True):
            scores[part] += dense[part] @ weight
        scores -= np.maximum.reduceat(scores, starts)[back]
        each = np.exp(scores.astype(np.float64))
        every = np.add.reduceat(each, starts)
        right_ones = np.maximum(np.add.reduceat(each * right, starts), 1e-300)
        likelihood = np.log(right_ones / every).sum()
        slope = (each * right / right_ones[back] - each / every[back]).astype(np.float32)
        slopes = np.stack([dense[part].T @ slope[part] for part in parts])
        slopes[0] = slopes.sum(axis=0)
        gradient = np.concatenate([slopes.ravel(), turned @ slope]).astype(np.float64)
        penalty = ridge * weights
        return float(-likelihood + 0.5 * (penalty @ weights)), penalty - gradient

    options = {"maxiter": STEPS}
    # Matrices are small, so threads would wait for one another. BLAS may raise the flag of an
    # invalid operation for lanes of a vector that it does not use: what comes out is looked at.
    with threadpool_limits(limits=1), np.errstate(invalid="ignore"):
        found = scipy.optimize.minimize(
            loss, np.zeros(len(ridge)), jac=True, method="L-BFGS-B", options=options
        )
    if not (np.isfinite(found.fun) and np.isfinite(found.x).all()):
        raise FloatingPointError("features of options are not all numbers, so no weights fit them")
    best = found.x.astype(np.float32)
    return Weights(_by_kind(best[: kinds * columns].reshape(shape)), best[kinds * columns :])


def _by_kind(weights: Floats32) -> Floats32:
    """What a kind has of its own is added to what all have in common (row 0)."""
    own = weights.copy()
    own[1:] += weights[0]
    return own

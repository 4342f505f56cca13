"""Agreement between raters (models or people) on the same units, and between their errors.

Ratings are an integer matrix with one row per unit and one column per rater; -1 is missing. Every
coefficient is a function of totals over units, so that whole clusters can be resampled quickly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellapart.errors import BadInput
from tellapart.stats.differences import weight_chunks
from tellapart.stats.intervals import expanded_tail
from tellapart.types import Floats, Ints

Ratings = npt.NDArray[np.integer]
Statistic = Callable[[Floats], Floats]
"""Maps totals over units, shape (..., features), to one number each."""
MISSING = -1
RESAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient with its 95% interval over clusters, and the number of units."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class ErrorOverlap:
    """How often two models err on the same units, as shares of all units.

    `expected` is the share of common errors if they erred independently; `excess` is the difference
    from it, with its interval; `of_errors` is the share of common errors among the units on which
    either errs.
    """

    first: float
    second: float
    both: float
    expected: float
    excess: Agreement
    of_errors: float


def raw_agreement(
    ratings: Ratings, clusters: Ints, rng: np.random.Generator, resamples: int = RESAMPLES
) -> Agreement:
    """The share of pairs of ratings of a unit that agree, over all units and raters."""
    counts = _category_counts(ratings)
    raters = counts.sum(axis=1)
    same = (counts * (counts - 1)).sum(axis=1)
    features = np.stack([same, raters * (raters - 1)], axis=1)[raters > 1]
    return _agreement(
        features, clusters[raters > 1], lambda s: s[..., 0] / s[..., 1], rng, resamples
    )


def cohen_kappa(
    ratings: Ratings, clusters: Ints, rng: np.random.Generator, resamples: int = RESAMPLES
) -> Agreement:
    """Cohen's kappa of two raters (Cohen 1960); units that either left out do not count.

    For two models' right and wrong answers it is the error consistency of Geirhos et al. (2020,
    Beyond accuracy).
    """
    if ratings.shape[1] != 2:
        raise BadInput(f"Cohen's kappa needs 2 raters, not {ratings.shape[1]}", allowed="2")
    whole = (ratings != MISSING).all(axis=1)
    ratings = ratings[whole]
    k = int(ratings.max(initial=-1)) + 1
    table = np.eye(k * k)[ratings[:, 0] * k + ratings[:, 1]]

    def kappa(totals: Floats) -> Floats:
        shares = (totals / totals.sum(axis=-1, keepdims=True)).reshape(*totals.shape[:-1], k, k)
        seen = np.trace(shares, axis1=-2, axis2=-1)
        by_chance = (shares.sum(axis=-1) * shares.sum(axis=-2)).sum(axis=-1)
        return _beyond_chance(seen, by_chance)

    return _agreement(table, clusters[whole], kappa, rng, resamples)


def fleiss_kappa(
    ratings: Ratings, clusters: Ints, rng: np.random.Generator, resamples: int = RESAMPLES
) -> Agreement:
    """Fleiss' kappa of several raters without missing ratings (Fleiss 1971)."""
    if (ratings == MISSING).any():
        raise BadInput(
            "Fleiss' kappa needs every rater's answer to every unit",
            todo="use Krippendorff's alpha, which allows missing answers",
        )
    counts = _category_counts(ratings)
    raters = ratings.shape[1]
    same = (counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))
    features = np.concatenate([same[:, None], np.ones((len(counts), 1)), counts], axis=1)

    def kappa(totals: Floats) -> Floats:
        shares = totals[..., 2:] / totals[..., 2:].sum(axis=-1, keepdims=True)
        return _beyond_chance(totals[..., 0] / totals[..., 1], (shares**2).sum(axis=-1))

    return _agreement(features, clusters, kappa, rng, resamples)


def krippendorff_alpha(
    ratings: Ratings, clusters: Ints, rng: np.random.Generator, resamples: int = RESAMPLES
) -> Agreement:
    """Krippendorff's alpha for nominal data with missing ratings (Krippendorff 2011, section C).

    Units with fewer than two ratings have nothing to pair and do not count.
    """
    counts = _category_counts(ratings)
    paired = counts.sum(axis=1) > 1
    counts = counts[paired]
    raters = counts.sum(axis=1)
    same = (counts * (counts - 1)).sum(axis=1) / (raters - 1)
    features = np.concatenate([same[:, None], counts], axis=1)

    def alpha(totals: Floats) -> Floats:
        by_category = totals[..., 1:]
        n = by_category.sum(axis=-1)
        by_chance = (by_category * (by_category - 1)).sum(axis=-1) / (n * (n - 1))
        return _beyond_chance(totals[..., 0] / n, by_chance)

    return _agreement(features, clusters[paired], alpha, rng, resamples)


def ordinal_alpha(
    ratings: Ratings, clusters: Ints, rng: np.random.Generator, resamples: int = RESAMPLES
) -> Agreement:
    """Krippendorff's alpha for ratings on a scale (Krippendorff 2011, ordinal metric).

    The distance of two ratings grows with the number of ratings between them. Categories are the
    codes in order; units with fewer than two ratings do not count.
    """
    counts = _category_counts(ratings)
    paired = counts.sum(axis=1) > 1
    counts = counts[paired]
    k = counts.shape[1]
    raters = counts.sum(axis=1)[:, None, None]
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(k)
    features = (pairs / (raters - 1)).reshape(len(counts), k * k)

    def alpha(totals: Floats) -> Floats:
        together = totals.reshape(*totals.shape[:-1], k, k)
        n = together.sum(axis=-1)
        below = np.cumsum(n, axis=-1) - n / 2
        distance = (below[..., :, None] - below[..., None, :]) ** 2
        seen = (together * distance).sum(axis=(-2, -1))
        expected = n[..., :, None] * n[..., None, :] * distance
        by_chance = expected.sum(axis=(-2, -1)) / (n.sum(axis=-1) - 1)
        return np.asarray(1 - seen / by_chance)

    return _agreement(features, clusters[paired], alpha, rng, resamples)


def error_overlap(
    first: Floats,
    second: Floats,
    clusters: Ints,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
) -> ErrorOverlap:
    """Whether two models err on the same units; their values are between 0 (wrong) and 1."""
    one, other = 1 - first, 1 - second
    features = np.stack([one * other, one, other, np.ones(len(one))], axis=1)

    def excess(totals: Floats) -> Floats:
        both, a, b = (totals[..., k] / totals[..., 3] for k in range(3))
        return np.asarray(both - a * b)

    both, a, b, n = features.sum(axis=0)
    either = a + b - both
    return ErrorOverlap(
        first=float(a / n),
        second=float(b / n),
        both=float(both / n),
        expected=float(a / n * b / n),
        excess=_agreement(features, clusters, excess, rng, resamples),
        of_errors=float(both / either) if either else 0.0,
    )


def _agreement(
    features: Floats,
    clusters: Ints,
    statistic: Statistic,
    rng: np.random.Generator,
    resamples: int,
) -> Agreement:
    if not len(features):
        raise BadInput("no unit has two ratings", allowed="at least one unit rated twice")
    with np.errstate(invalid="ignore", divide="ignore"):
        value = float(statistic(features.sum(axis=0)))
        if not np.isfinite(value):
            raise BadInput(
                "all ratings are the same, so agreement beyond chance is not defined",
                allowed="at least two categories in use",
                todo="use the raw agreement",
            )
        low, high = bootstrap_statistic(features, clusters, statistic, rng, resamples)
    return Agreement(value, low, high, len(features))


def bootstrap_statistic(
    features: Floats,
    clusters: Ints,
    statistic: Statistic,
    rng: np.random.Generator,
    resamples: int,
    level: float = 0.95,
) -> tuple[float, float]:
    """An interval for any statistic of totals, by the bootstrap over clusters.

    `features` has one row per unit. Resamples in which the statistic is not defined are left out.
    """
    codes = np.unique(clusters, return_inverse=True)[1]
    sums = np.stack([np.bincount(codes, column) for column in features.T], axis=1)
    drawn = np.empty(resamples)
    for rows, weights in weight_chunks(len(sums), resamples, rng):
        drawn[rows] = statistic(weights @ sums)
    tail = expanded_tail(len(sums), level) if len(sums) > 1 else 0.0
    low, high = np.quantile(drawn[np.isfinite(drawn)], [tail, 1 - tail])
    return float(low), float(high)


def _beyond_chance(seen: Floats, by_chance: Floats) -> Floats:
    """Agreement beyond chance, as a share of the maximum beyond chance."""
    return np.asarray((seen - by_chance) / (1 - by_chance))


def _category_counts(ratings: Ratings) -> Floats:
    """How many raters gave each unit each category, shape (units, categories)."""
    every = range(max(1, int(ratings.max(initial=-1)) + 1))
    return np.stack([(ratings == k).sum(axis=1) for k in every], axis=1).astype(float)

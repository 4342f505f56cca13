"""A logistic regression with random effects: which facts make an item hard, all else equal?

logit P(right) = X b + sum over factors of u[level], with u ~ Normal(0, s^2) for each factor; the
factors may cross, since a target word's supercategory and its pair need not nest. The likelihood is
Laplace's approximation (Breslow & Clayton 1993; Bates et al. 2015, section on generalized models):
Newton's method finds the mode of b and u for given s, and s maximises the marginal likelihood. The
cost per row is proportional to its facts and factors, so 100,000 rows take seconds.

Intervals of b use Student's t with the curvature at the mode. A fact that is constant within the
levels of a factor is known from as many values as there are levels, not rows: its degrees of
freedom are the number of levels minus the number of facts (the rule of inner and outer facts,
Pinheiro & Bates 2000, section 2.4.2). Intervals of s come from the profile likelihood and may end
at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy  # its submodules load on first use, which takes longer than most commands

from tellapart.errors import BadInput
from tellapart.types import Bools, Floats, Ints

STEPS = 100
NEAR = 1e-9
MOST_SPREAD = 20.0
"""The upper limit of the search for a random effect's standard deviation (logit scale)."""
NONE_AT_ALL = 1e-3
"""A standard deviation below this counts as 0."""


@dataclass(frozen=True, slots=True)
class Term:
    """A coefficient on the logit scale with its error and its 95% interval."""

    value: float
    error: float
    low: float
    high: float
    freedom: float
    p: float


@dataclass(frozen=True, slots=True)
class Spread:
    """The standard deviation of a random effect on the logit scale, with its 95% interval."""

    value: float
    low: float
    high: float
    levels: int


@dataclass(frozen=True, slots=True)
class MixedLogit:
    """A fit: one term per column of X, one spread per factor, and the levels' own effects."""

    terms: tuple[Term, ...]
    spreads: tuple[Spread, ...]
    effects: tuple[Floats, ...]
    deviance: float
    rows: int


@dataclass(frozen=True, slots=True)
class _Curvature:
    """The curvature [[C, B'], [B, D]]: D is diagonal, for the factor with the most levels.

    C has the facts first, then the levels of the other factors. As D is diagonal, its factor may
    have thousands of levels.
    """

    core: Floats
    across: Floats
    diagonal: Floats

    @property
    def reduced(self) -> Floats:
        """C without what D explains (its Schur complement)."""
        return self.core - self.across.T @ (self.across / self.diagonal[:, None])

    def solve(self, slope: Floats) -> Floats:
        """The curvature's inverse times a slope."""
        size = len(self.core)
        first, last = slope[:size], slope[size:]
        top = np.linalg.solve(self.reduced, first - self.across.T @ (last / self.diagonal))
        return np.concatenate([top, (last - self.across @ top) / self.diagonal])

    def log_det(self, facts: int) -> float:
        """The log determinant of the random effects' part alone."""
        inner = _Curvature(self.core[facts:, facts:], self.across[:, facts:], self.diagonal)
        whole = np.linalg.slogdet(inner.reduced)[1] if len(inner.core) else 0.0
        return float(whole + np.log(self.diagonal).sum())


@dataclass(frozen=True, slots=True)
class _Mode:
    """The mode for given spreads: coefficients, their curvature, and -2 log likelihood."""

    place: Floats
    curve: _Curvature
    deviance: float


@dataclass(frozen=True)
class _Problem:
    """Rows with their facts and the levels of their factors, the largest factor last."""

    right: Floats
    facts: Floats
    factors: tuple[Ints, ...]
    offset: Floats | float = 0.0
    """An offset added to every row's logit."""

    @cached_property
    def levels(self) -> tuple[int, ...]:
        return tuple(int(codes.max()) + 1 for codes in self.factors)

    def mode(self, spreads: Floats, start: Floats | None = None) -> _Mode:
        """Newton's method on the penalised likelihood, which is concave; steps are halved."""
        p = self.facts.shape[1]
        weights = np.repeat(np.maximum(spreads, NONE_AT_ALL) ** -2.0, self.levels)
        penalty = np.concatenate([np.full(p, 1e-10), weights])
        place = np.zeros(len(penalty)) if start is None else start
        loss, logit = self._loss(place, penalty)
        for _ in range(STEPS):
            slope, curve = self._shape(logit, place, penalty)
            step = curve.solve(slope)
            size, before = 1.0, loss
            loss, logit = self._loss(place + step, penalty)
            while not loss <= before + NEAR * abs(before) and size > 1e-4:
                size /= 2
                loss, logit = self._loss(place + size * step, penalty)
            place = place + size * step
            if np.abs(size * step).max() < 1e-6:
                break
        curve = self._shape(logit, place, penalty)[1]
        deviance = 2 * loss + curve.log_det(p) - float(np.log(weights).sum())
        return _Mode(place, curve, deviance)

    def _loss(self, place: Floats, penalty: Floats) -> tuple[float, Floats]:
        """Minus the penalised log likelihood, and each row's logit."""
        begins = self.facts.shape[1] + np.cumsum([0, *self.levels])
        logit = self.facts @ place[: begins[0]] + self.offset
        for begin, codes in zip(begins, self.factors, strict=False):
            logit = logit + place[begin + codes]
        loss = float(np.logaddexp(0.0, logit).sum() - self.right @ logit)
        return loss + 0.5 * float(penalty @ place**2), logit

    def _shape(self, logit: Floats, place: Floats, penalty: Floats) -> tuple[Floats, _Curvature]:
        """The downward slope of the loss and its curvature, summed level by level."""
        share = 1 / (1 + np.exp(-np.clip(logit, -35, 35)))
        rest, weight = self.right - share, share * (1 - share)
        sums = [np.bincount(c, rest, n) for c, n in zip(self.factors, self.levels, strict=True)]
        slope = np.concatenate([self.facts.T @ rest, *sums]) - penalty * place
        size = len(place) - self.levels[-1]
        begins = self.facts.shape[1] + np.cumsum([0, *self.levels])
        p = begins[0]
        core, across = np.diag(penalty[:size]), np.zeros((self.levels[-1], size))
        core[:p, :p] += (self.facts * weight[:, None]).T @ self.facts
        for k, (codes, n) in enumerate(zip(self.factors, self.levels, strict=True)):
            here = slice(begins[k], begins[k + 1])
            by_level = np.array([np.bincount(codes, weight * x, n) for x in self.facts.T])
            by_level = by_level.reshape(p, n).T
            if k == len(self.factors) - 1:
                across[:, :p] = by_level
            else:
                core[here, :p], core[:p, here] = by_level, by_level.T
                core[here, here] += np.diag(np.bincount(codes, weight, n))
            for j in range(k):
                there = slice(begins[j], begins[j + 1])
                flat = np.bincount(codes * self.levels[j] + self.factors[j], weight,
                                   n * self.levels[j])  # fmt: skip
                block = flat.reshape(n, self.levels[j])
                if k == len(self.factors) - 1:
                    across[:, there] = block
                else:
                    core[here, there], core[there, here] = block, block.T
        diagonal = penalty[size:] + np.bincount(self.factors[-1], weight, self.levels[-1])
        return slope, _Curvature(core, across, diagonal)


def fit_mixed_logit(right: Bools | Floats, facts: Floats, factors: Sequence[Ints]) -> MixedLogit:
    """Fit the regression; the first column of `facts` is usually 1 for all rows.

    `right` is 0 or 1 (or a share of trials); `factors` give each row's level, numbered from 0.
    """
    if not factors:  # a plain regression is one with a single level whose effect is held at 0
        plain = fit_mixed_logit(right, facts, [np.zeros(len(facts), np.int64)])
        return replace(plain, spreads=(), effects=())
    order = sorted(range(len(factors)), key=lambda k: int(factors[k].max()))
    problem = _Problem(np.asarray(right, float), facts, tuple(factors[k] for k in order))
    _check(problem)
    spreads = _best(problem, {})
    mode = problem.mode(spreads)
    p = facts.shape[1]
    place, covariance = _centred(problem, spreads, mode)
    terms = tuple(
        _term(float(place[k]), float(np.sqrt(covariance[k, k])), _freedom(problem, spreads, k))
        for k in range(p)
    )
    ends = p + np.cumsum([0, *problem.levels])
    back = [order.index(k) for k in range(len(factors))]
    return MixedLogit(
        terms,
        tuple(_profiled(problem, spreads, k, mode) for k in back),
        tuple(mode.place[ends[k] : ends[k + 1]] for k in back),
        mode.deviance,
        len(problem.right),
    )


def _check(problem: _Problem) -> None:
    values = problem.facts
    first = float(problem.right[0])
    if (problem.right == first).all():
        told = {1.0: "right", 0.0: "wrong"}.get(first, "worth the same")
        raise BadInput(
            f"every answer is {told}, so there is nothing to explain",
            allowed="right answers and wrong ones",
        )
    if np.linalg.matrix_rank(values) < values.shape[1]:
        raise BadInput(
            "a fact is a combination of others, or is the same for all rows",
            allowed="facts that vary and do not follow from each other",
        )


def _centred(problem: _Problem, spreads: Floats, mode: _Mode) -> tuple[Floats, Floats]:
    """Coefficients that maximise the marginal likelihood, and their covariance.

    The joint mode is biased towards 0, because it takes the levels' effects at their best values.
    Here they are integrated out for each choice of coefficients. The search space is scaled by the
    joint mode's covariance, so that a few steps suffice.
    """
    p = problem.facts.shape[1]
    first = mode.place[:p]
    scale = np.linalg.cholesky(np.linalg.inv(mode.curve.reduced)[:p, :p])
    effects = mode.place[p:]
    nothing = np.zeros((len(problem.right), 0))

    def deviance(place: Floats) -> float:
        logit = problem.facts @ (first + scale @ place)
        held = _Problem(problem.right, nothing, problem.factors, logit)
        return held.mode(spreads, effects).deviance

    found = scipy.optimize.minimize(
        deviance, np.zeros(p), method="BFGS", options={"gtol": 1e-3, "eps": 1e-3}
    )
    best = np.asarray(found.x)
    steps = np.eye(p) * 0.3
    here = deviance(best)
    ahead = [deviance(best + step) for step in steps]
    back = [deviance(best - step) for step in steps]
    curve = np.empty((p, p))
    for i in range(p):
        curve[i, i] = (ahead[i] + back[i] - 2 * here) / 0.09
        for j in range(i):
            both = deviance(best + steps[i] + steps[j]) + deviance(best - steps[i] - steps[j])
            mixed = (both - ahead[i] - back[i] - ahead[j] - back[j] + 2 * here) / 0.18
            curve[i, j] = curve[j, i] = mixed
    covariance = scale @ np.linalg.inv(curve / 2) @ scale.T
    return first + scale @ best, covariance


def _best(problem: _Problem, fixed: dict[int, float], start: _Mode | None = None) -> Floats:
    """The spreads with the highest likelihood; those in `fixed` are held."""
    alone = {k: 0.0 for k, levels in enumerate(problem.levels) if levels == 1}
    fixed = {**alone, **fixed}
    free = [k for k in range(len(problem.factors)) if k not in fixed]
    spreads = np.array([fixed.get(k, 1.0) for k in range(len(problem.factors))])
    if not free:
        return spreads
    place = None if start is None else start.place

    def deviance(values: Floats) -> float:
        nonlocal place
        spreads[free] = np.exp(values)
        mode = problem.mode(spreads, place)
        place = mode.place
        return mode.deviance

    low, high = np.log(NONE_AT_ALL), np.log(MOST_SPREAD)
    if len(free) == 1:
        found = scipy.optimize.minimize_scalar(
            lambda value: deviance(np.array([value])), bounds=(low, high), method="bounded",
            options={"xatol": 1e-2},
        )  # fmt: skip
        best = np.array([float(found.x)])
    else:
        found = scipy.optimize.minimize(
            deviance, np.log(np.full(len(free), 0.7)), method="Nelder-Mead",
            bounds=[(low, high)] * len(free), options={"xatol": 2e-3, "fatol": 1e-4},
        )  # fmt: skip
        best = np.asarray(found.x)
    spreads[free] = np.exp(best)
    spreads[spreads < 3 * NONE_AT_ALL] = 0.0
    return spreads


def _profiled(problem: _Problem, spreads: Floats, factor: int, mode: _Mode) -> Spread:
    """The spreads of one factor that are not rejected by the likelihood ratio at 5%."""
    best, levels = float(spreads[factor]), problem.levels[factor]
    if levels == 1:
        return Spread(0.0, 0.0, 0.0, levels)
    limit = mode.deviance + float(scipy.special.chdtri(1, 0.05))

    def over(spread: float) -> float:
        held = _best(problem, {factor: spread}, mode)
        return float(problem.mode(held, mode.place).deviance - limit)

    low = 0.0 if best == 0 or over(0.0) <= 0 else _crossing(over, 0.0, best)
    high = max(1.3 * best, 0.2)
    while (gap := over(high)) < 0 and high < MOST_SPREAD:
        high *= 1.5
    return Spread(best, low, _crossing(over, best, high) if gap > 0 else high, levels)


def _crossing(over: Callable[[float], float], low: float, high: float) -> float:
    return float(scipy.optimize.brentq(over, low, high, xtol=1e-2))


def _freedom(problem: _Problem, spreads: Floats, fact: int) -> float:
    """Rows minus facts, or levels minus facts if the fact is constant within levels."""
    values, p = problem.facts[:, fact], problem.facts.shape[1]
    sizes = [float(len(values))]
    for codes, spread, levels in zip(problem.factors, spreads, problem.levels, strict=True):
        top, low = np.full(levels, -np.inf), np.full(levels, np.inf)
        np.maximum.at(top, codes, values)
        np.minimum.at(low, codes, values)
        if spread > 0 and (top - low < NEAR).all():
            sizes.append(float(levels))
    return max(float(min(sizes) - p), 1.0)


def _term(value: float, error: float, freedom: float) -> Term:
    step = float(-scipy.special.stdtrit(freedom, 0.025)) * error
    p = float(2 * scipy.special.stdtr(freedom, -abs(value) / error))
    return Term(value, error, value - step, value + step, freedom, p)


def rescaled(term: Term, scale: float) -> Term:
    """A term with its fact in other units: one new unit is `scale` old ones.

    >>> rescaled(Term(0.5, 0.1, 0.3, 0.7, 50, 0.01), 2.0).value
    1.0
    """
    ends = sorted((term.low * scale, term.high * scale))
    return replace(
        term, value=term.value * scale, error=term.error * abs(scale), low=ends[0], high=ends[1]
    )

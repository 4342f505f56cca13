"""Fair parts of candidates: what is kept tells nothing to a model that does not look.

Candidates are pairs of a true text and a false one. One that puts `cat` where `dog` is true is
matched with one that puts `dog` where `cat` is true, in a place where attackers find the two words
as likely: a twin, of which the opposite is true. This is matching on the propensity score
(Rosenbaum & Rubin 1983): given what attackers make of a text, either word is true as often. Scores
come from models that were fitted on other groups of images (cross-fitted), several times, so that
what is kept does not hang on luck.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from tellapart import seeds
from tellapart.attack.choices import Choices
from tellapart.attack.features import TOGETHER, Features
from tellapart.attack.logit import Design, fit
from tellapart.attack.trees import fit_trees, tree_input, trees_installed
from tellapart.types import Bools, Floats, Ints, Progress, silent

ROUNDS = 2
CALIPERS = (0.2, 0.3, 0.4)
"""How far apart the log-odds of twins may be, by each attacker: the first that keeps enough."""
ENOUGH = 0.155
"""The share of captions with candidates of which one should be kept, if that is possible."""
LEAN = 0.25
"""How far below even the truth's log-odds are in twins, by each attacker, on average.

Log-odds are estimates, and the truth is likelier than what is false: where an estimate finds both
as likely, it errs against the truth more often than for it (regression to the mean). Attackers who
know other captions err elsewhere, and would see that; those who know the same captions would see
the reverse of a larger number.
"""
MOST_FITTED = 30_000
"""Candidates that attackers are fitted on: more would take longer and teach little."""
NEIGHBOURS = 24
PASSES = 4
FOLDS = 5


@dataclass(frozen=True, eq=False)
class Candidates:
    """Pairs to choose from, each a choice of two options, the right one first.

    `source` is the caption that each is made from, of which one is kept at most. `edit` are the two
    words (or what else is exchanged), whichever is true; `forward` says which of them it is.
    Candidates of one `edit` are of one kind.
    """

    choices: Choices
    source: Ints
    edit: Ints
    forward: Bools

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, slots=True, eq=False)
class FairPart:
    """For each candidate its twin's place, -1 where it is not kept.

    `before` is the share that attackers get right of one candidate of each source at random,
    `caliper` how far apart the log-odds of twins may be.
    """

    twin: Ints
    before: float
    caliper: float

    @property
    def kept(self) -> Bools:
        """Which candidates are kept."""
        return self.twin >= 0

    def pairs(self) -> Ints:
        """Twins, shape (n, 2), in the order of the first of each."""
        first = np.flatnonzero(self.kept & (self.twin > np.arange(len(self.twin))))
        return np.stack([first, self.twin[first]], axis=1)


@dataclass(frozen=True, slots=True)
class FairRecipe:
    """How a fair part is chosen."""

    rounds: int = ROUNDS
    calipers: tuple[float, ...] = CALIPERS
    lean: float = LEAN
    seed: int = 0


def fair_part(
    candidates: Candidates,
    features: Features,
    recipe: FairRecipe,
    progress: Progress = silent,
) -> FairPart:
    """Choose candidates that attackers cannot tell."""
    scores, before = mean_margins(candidates, features, recipe, progress)
    wanted = ENOUGH * len(np.unique(candidates.source))
    for caliper in recipe.calipers:
        twin = matched(candidates, scores, caliper, recipe)
        if (twin >= 0).sum() >= wanted:
            break
    return FairPart(twin, before, caliper)


def mean_margins(
    candidates: Candidates, features: Features, recipe: FairRecipe, progress: Progress = silent
) -> tuple[Floats, float]:
    """Margins by each attacker, the mean over rounds, and how often attackers are right.

    Each round fits on other candidates and cuts other folds: what is left is less noise.
    """
    rounds: list[Floats] = []
    right = 0.0
    for number in range(recipe.rounds):
        seed = seeds.number(recipe.seed, "fair", number) % 2**31
        use = one_of_each(candidates, seed, MOST_FITTED)
        margins = attackers_margins(candidates.choices, features, use, seed)
        right = max(right, float(((np.sign(margins[use]) + 1) / 2).mean(axis=0).max()))
        rounds.append(margins)
        progress("attackers", number + 1, recipe.rounds)
    return np.mean(rounds, axis=0), right


def one_of_each(candidates: Candidates, seed: int, most: int) -> Bools:
    """One candidate of each source, at random, and not more than `most` in all."""
    order = np.argsort(seeds.rng(seed, "fair", "first").random(len(candidates)))
    _, first = np.unique(candidates.source[order], return_index=True)
    chosen = np.zeros(len(candidates), bool)
    chosen[order[np.sort(first)[:most]]] = True
    return chosen


def attackers_margins(choices: Choices, features: Features, use: Bools, seed: int) -> Floats:
    """How far each candidate's true text is ahead, by each attacker: log-odds, a column each.

    A logit on all features, one on which words go together alone (what is left in the end hides
    there), and trees. They are fitted on those in use, and applied to candidates of other groups.
    """
    fold = choices.folds(seed, FOLDS)
    designs = [Design.of(features, choices, own) for own in (None, frozenset({TOGETHER}))]
    table = tree_input(features, choices) if trees_installed() else None
    margins = np.zeros((len(choices), len(designs) + (table is not None)))
    for number in range(FOLDS):
        here, fitted_on = fold == number, use & (fold != number)
        rows = here[choices.choice]
        if not fitted_on.any() or not here.any():
            continue
        for column, design in enumerate(designs):
            own = fit(design, choices, fitted_on).scores(design, choices, rows)
            margins[here, column] = own[::2] - own[1::2]
        if table is not None:
            own = fit_trees(table, choices, fitted_on, seed).decision_function(table[rows])
            margins[here, -1] = (own[::2] - own[1::2]) / 2
    return margins


def matched(candidates: Candidates, scores: Floats, caliper: float, recipe: FairRecipe) -> Ints:
    """Twins: of one edit, with the opposite true, and log-odds that nobody can tell apart."""
    way = np.where(candidates.forward, 1.0, -1.0)
    twin = np.full(len(candidates), -1, np.int64)
    used = np.zeros(int(candidates.source.max(initial=-1)) + 1, bool)
    places = (scores + recipe.lean) / caliper * way[:, None]
    lots = seeds.rng(recipe.seed, "fair", "lots").random(len(candidates))
    for _ in range(PASSES):
        free = ~used[candidates.source]
        edges = _edges(candidates.edit, way, places, free)
        if not len(edges[0]):
            break
        distance, first, second = edges
        order = np.lexsort((lots[second], lots[first], distance))
        found = 0
        source = candidates.source
        for a, b in zip(first[order].tolist(), second[order].tolist(), strict=True):
            if not used[source[a]] and not used[source[b]] and source[a] != source[b]:
                used[source[a]] = used[source[b]] = True
                twin[a], twin[b] = b, a
                found += 1
        if not found:
            break
    return twin


def _edges(within: Ints, side: Floats, places: Floats, free: Bools) -> tuple[Floats, Ints, Ints]:
    """The nearest neighbours across sides: distance (at most 1), and both places."""
    rows = np.flatnonzero(free)
    rows = rows[np.argsort(within[rows], kind="stable")]
    bounds = np.flatnonzero(np.r_[True, within[rows][1:] != within[rows][:-1], True])
    parts: list[tuple[Floats, Ints, Ints]] = []
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        own = rows[begin:end]
        one, other = own[side[own] > 0], own[side[own] < 0]
        if not len(one) or not len(other):
            continue
        near, which = cKDTree(places[other]).query(
            places[one], k=min(NEIGHBOURS, len(other)), p=np.inf, distance_upper_bound=1.0
        )
        near, which = near.reshape(len(one), -1), which.reshape(len(one), -1)
        row, column = np.nonzero(np.isfinite(near))
        parts.append((near[row, column], one[row], other[which[row, column]]))
    if not parts:
        return np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64)
    distance, first, second = (np.concatenate(column) for column in zip(*parts, strict=True))
    return distance, first, second

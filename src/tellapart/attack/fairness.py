"""Fair parts of candidates: what is kept tells nothing to a model that does not look.

Candidates are pairs of a true text and a false one. One that puts `cat` where `dog` is true is
matched with one that puts `dog` where `cat` is true, in a place where attackers find the two words
as likely: a twin, of which the opposite is true (`twins.py`). This is matching on the propensity
score (Rosenbaum & Rubin 1983): given what attackers make of a text, either word is true as often.

The score is an estimate, by whatever captions are known, and the truth is likelier than what is
false: where an estimate finds both as likely, it errs against the truth more often than for it
(regression to the mean), and who knows other captions would see that. So attackers are fitted
twice, each time with the captions of one half of the images. Twins must be alike by both; and what
twins by one half show to the other is what they would show to a stranger: so far do the truth's
log-odds stay below even. It is less where the words around are alike, because a stranger sees like
texts alike.

What is left are habits of twins themselves, which attackers of all candidates never learned. So
some twins more than needed are chosen, attackers are fitted on these alone, and the twins that they
find most surely are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellapart import seeds
from tellapart.attack.choices import Choices
from tellapart.attack.features import TOGETHER, Features
from tellapart.attack.logit import Design, fit
from tellapart.attack.readers import NO_READERS, Readers
from tellapart.attack.trees import fit_trees, tree_input, trees_installed
from tellapart.attack.twins import TwinCandidates, Twins, matched, twin_choices
from tellapart.types import Bools, Floats, Ints, Progress, silent

SHARE = 0.15
"""The share of captions with candidates of which one is kept, if that is possible."""
MOST_FITTED = 30_000
"""Candidates that attackers are fitted on: more would take longer and teach little."""
FOLDS = 5
STEADY = 200
"""So many items of all kinds stand beside those of one where it is said how far it is to lean."""
SPARE = 1.3
"""How many times as many twins are chosen at first as are kept in the end, if there are so many."""
STEPS = 2
"""In so many steps the others are left out; after each, attackers are fitted anew."""
TAUGHT = 100
"""Fewer twins than that teach attackers nothing about twins."""
SLIGHT = 1e-3
"""Contexts that differ less than that, on average, are the same: nothing is learned from them."""


@dataclass(frozen=True, slots=True, eq=False)
class FairPart:
    """Twins that are kept.

    `before` is the share that attackers get right of one candidate of each source at random, `lean`
    for each kind how far the truth's log-odds stay below even in what is kept, on average.
    """

    twins: Twins
    before: float
    lean: Floats

    @property
    def kept(self) -> Ints:
        """The places of what is kept, in their order."""
        return np.sort(self.twins.pairs.ravel())


@dataclass(frozen=True, slots=True)
class FairRecipe:
    """How a fair part is chosen: the share of captions that is kept at most, and the seed.

    `by_kind` keeps the share of each kind by itself, where kinds are tests of their own: else few
    would be left of kinds whose candidates are all somewhat unlike.
    """

    share: float = SHARE
    by_kind: bool = False
    seed: int = 0

    def twins(
        self,
        candidates: TwinCandidates,
        scores: Floats,
        lean: Floats | None = None,
        spare: float = 1.0,
    ) -> Twins:
        """`spare` times as many twins by these log-odds as are kept; `lean` as for `matched`."""
        group, most = self.room(candidates)
        many = np.round(spare * most).astype(np.int64)
        twins = matched(candidates, scores, lean, self.seed)
        return twins.first(group, many, candidates.choices.group)

    def room(self, candidates: TwinCandidates) -> tuple[Ints, Ints]:
        """Which candidates share room (a number each), and how many twins are kept of each."""
        kind = candidates.choices.kind
        group = kind if self.by_kind else np.zeros_like(kind)
        captions, _ = np.unique(np.stack([group, candidates.source]), axis=1)
        return group, np.round(self.share * np.bincount(captions) / 2).astype(np.int64)


def fair_part(
    candidates: TwinCandidates,
    halves: Sequence[Features],
    recipe: FairRecipe,
    readers: Readers = NO_READERS,
    progress: Progress = silent,
) -> FairPart:
    """Choose candidates that attackers cannot tell, by features of each half of what is known.

    `readers` take part in the last step, where there are few texts left to read.
    """
    scores: list[Floats] = []
    right = 0.0
    for number, features in enumerate(halves):
        seed = seeds.number(recipe.seed, "fair", number) % 2**31
        use = one_of_each(candidates, seed, MOST_FITTED)
        margins = attackers_margins(candidates.choices, features, use, seed)
        right = max(right, float(((np.sign(margins[use]) + 1) / 2).mean(axis=0).max()))
        scores.append(margins)
        progress("attackers", number + 1, len(halves))
    lean = what_strangers_see(candidates, scores, recipe)
    every = np.concatenate([lean] * len(scores), axis=1)
    twins = recipe.twins(candidates, np.concatenate(scores, axis=1), every, SPARE)
    twins = less_sure(candidates, halves, twins, recipe, readers)
    return FairPart(twins, right, _mean_lean(candidates, twins, lean))


def what_strangers_see(
    candidates: TwinCandidates, halves: Sequence[Floats], recipe: FairRecipe
) -> Floats:
    """How far the truth is ahead, by one half's attackers, in twins by the other half's.

    A row a kind, a column an attacker, never below 0: in contexts that have nothing in common. In
    proportion to what they have in common it is less, and nothing where they are equal. All that
    is known is two halves: twins by it would show half as much, to a stranger who knows as much and
    so sees about twice as clearly.
    """
    kind, kinds = candidates.choices.kind, len(candidates.choices.kinds)
    sums = np.zeros((kinds, halves[0].shape[1]))
    weights, number = np.zeros(kinds), 0
    for own, other in (halves, halves[::-1]):
        pairs = recipe.twins(candidates, own).pairs
        own_kind = kind[pairs[:, 0]]
        np.add.at(sums, own_kind, other[pairs].sum(axis=1))
        weights += np.bincount(own_kind, 2 * (1 - candidates.alike(pairs)), kinds)
        number += 2 * len(pairs)
    if weights.sum() < SLIGHT * number or not number:
        return np.zeros_like(sums)  # the same words around all of them
    overall = sums.sum(axis=0) / weights.sum()
    steady = STEADY * weights.sum() / number
    means = (sums + steady * overall) / (weights + steady)[:, None]
    ahead: Floats = np.maximum(means, 0.0)
    return ahead


def less_sure(
    candidates: TwinCandidates,
    halves: Sequence[Features],
    twins: Twins,
    recipe: FairRecipe,
    readers: Readers = NO_READERS,
) -> Twins:
    """As many twins as are kept: those that attackers find most surely are left out."""
    group, most = recipe.room(candidates)
    for step in range(STEPS):
        own = group[twins.pairs[:, 0]]
        there = np.bincount(own, minlength=len(most))
        beyond = np.maximum(there - most, 0)
        if not beyond.any() or len(twins) < TAUGHT:
            break
        seed = seeds.number(recipe.seed, "fair", "twins", step) % 2**31
        choices, places = (
            twin_choices(candidates.choices, twins.pairs),
            np.sort(twins.pairs.ravel()),
        )
        options = np.flatnonzero(np.isin(candidates.choices.choice, places))
        known = [readers.with_directions(half.some(options), choices) for half in halves]
        sure = _sureness(choices, known, np.searchsorted(places, twins.pairs), seed)
        leave = beyond // (STEPS - step)
        keep = np.ones(len(twins), bool)
        for number in np.flatnonzero(leave).tolist():
            members = np.flatnonzero(own == number)
            keep[members[np.argsort(-sure[members], kind="stable")[: leave[number]]]] = False
        twins = twins.some(keep)
    return twins.first(group, most, candidates.choices.group)


def _sureness(choices: Choices, halves: Sequence[Features], pairs: Ints, seed: int) -> Floats:
    """How far both truths of each pair are ahead by attackers that know twins alone.

    In standard deviations of each attacker's log-odds, the mean over attackers of both halves.
    """
    use = np.ones(len(choices), bool)
    margins = np.concatenate([attackers_margins(choices, one, use, seed) for one in halves], axis=1)
    scale = margins.std(axis=0)
    margins = margins / np.where(scale > 0, scale, 1.0)
    sure: Floats = margins[pairs].sum(axis=1).mean(axis=1)
    return sure


def _mean_lean(candidates: TwinCandidates, twins: Twins, lean: Floats) -> Floats:
    """How far below even the truth is in twins, by kind; 0 where there are none."""
    kind = candidates.choices.kind[twins.pairs[:, 0]]
    different = np.bincount(kind, 1 - candidates.alike(twins.pairs), len(lean))
    times = np.bincount(kind, minlength=len(lean))
    means: Floats = lean.mean(axis=1) * different / np.maximum(times, 1)
    return means


def one_of_each(candidates: TwinCandidates, seed: int, most: int) -> Bools:
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

"""Twins: two candidates of one edit of which the opposite is true, and which look alike.

Both stand in a like place: by the log-odds of every attacker, and by the words around what is
exchanged. The first is matching on the propensity score, the second what is added where that score
is an estimate (Rosenbaum & Rubin 1985; Rubin & Thomas 2000): an estimate errs alike for texts of
like words, so who knows more cannot tell such twins apart either. The less two contexts have in
common, the more their errors differ, and with them what a stranger sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_matrix

from tellapart import seeds
from tellapart.attack.choices import Choices
from tellapart.benchmark.groups import components
from tellapart.text.tfidf import tfidf_of_words
from tellapart.text.tokens import tokens
from tellapart.types import Bools, Floats, Floats32, Ints

CALIPER = 1.5
"""How far apart the log-odds of twins may be, by each attacker."""
CONTEXT = 0.8
"""What the words around count in how unlike twins are; the log-odds count for the rest."""
CLUSTER = 10
"""How many images may be connected through twins: statistics need many independent groups."""
NEIGHBOURS = 40
PASSES = 2
BLOCK = 256


@dataclass(frozen=True, eq=False)
class TwinCandidates:
    """Pairs to choose from, each a choice of two options, the right one first.

    `source` is the caption that each is made from, of which one is kept at most. `edit` are the two
    words (or what else is exchanged), whichever is true; `forward` says which of them it is.
    Candidates of one `edit` are of one kind. `context` has the words around it (`contexts`).
    """

    choices: Choices
    source: Ints
    edit: Ints
    forward: Bools
    context: csr_matrix

    def __len__(self) -> int:
        return len(self.source)

    def alike(self, pairs: Ints) -> Floats:
        """How like the contexts of pairs of candidates are, from 0 to 1."""
        first, second = (self.context[side] for side in pairs.T)
        cosine: Floats = np.asarray(first.multiply(second).sum(axis=1)).ravel()
        return cosine


def twin_choices(every: Choices, pairs: Ints) -> Choices:
    """The choices of these pairs, in their order, as attackers see them: twins are of one group."""
    one, other = every.group[pairs].T
    group = components(one, other, int(every.group.max(initial=-1)) + 1)[every.group]
    return replace(every, group=group).some(np.sort(pairs.ravel()))


@dataclass(frozen=True, slots=True, eq=False)
class Twins:
    """Places of twins, shape (n, 2), those that are least unlike first."""

    pairs: Ints
    unlike: Floats

    def __len__(self) -> int:
        return len(self.pairs)

    def some(self, keep: Bools) -> Twins:
        """Some of them, in their order."""
        return Twins(self.pairs[keep], self.unlike[keep])

    def first(self, group: Ints, most: Ints, image: Ints) -> Twins:
        """The least unlike of each group, up to so many; `group` and `image` are of candidates.

        Twins and items of one image are not independent of each other. Those that would connect
        more than `CLUSTER` images are left out. Groups with few twins come before others.
        """
        own = group[self.pairs[:, 0]]
        order = np.argsort(np.bincount(own, minlength=len(most))[own], kind="stable")
        left, clusters, keep = most.tolist(), Clusters(image), []
        for number in order.tolist():
            a, b = self.pairs[number].tolist()
            if left[own[number]] and clusters.join(int(image[a]), int(image[b])):
                left[own[number]] -= 1
                keep.append(number)
        chosen = np.zeros(len(self), bool)
        chosen[keep] = True
        return self.some(chosen)


class Clusters:
    """Images that are connected, never more than `CLUSTER` of them."""

    def __init__(self, image: Ints) -> None:
        number = int(image.max(initial=-1)) + 1
        self._above, self._size = list(range(number)), [1] * number

    def join(self, one: int, other: int) -> bool:
        """Connect two images, and say whether they are; not if that were too many."""
        low, high = sorted((self._root(one), self._root(other)))
        if low == high:
            return True
        if self._size[low] + self._size[high] > CLUSTER:
            return False
        self._above[high] = low
        self._size[low] += self._size[high]
        return True

    def _root(self, image: int) -> int:
        while self._above[image] != image:
            image = self._above[image]
        return image


def contexts(choices: Choices) -> csr_matrix:
    """What both texts of each choice have in common, as rows of unit length.

    Words weigh by how rare they are; those next to what is exchanged count once more, as such.
    """
    words = [tokens(text) for text in choices.texts]
    return tfidf_of_words(
        _common(words[a], words[b]) for a, b in choices.text.reshape(-1, 2).tolist()
    )


def _common(one: list[str], other: list[str]) -> list[str]:
    """The words before and after what differs, with the two nearest marked."""
    shorter = min(len(one), len(other))
    start = next((k for k in range(shorter) if one[k] != other[k]), shorter)
    rest = shorter - start
    end = next((k for k in range(rest) if one[-1 - k] != other[-1 - k]), rest)
    before, after = one[:start], one[len(one) - end :]
    marked = [f"{word} <" for word in before[-1:]] + [f"> {word}" for word in after[:1]]
    return [*before, *after, *marked]


def matched(
    candidates: TwinCandidates, scores: Floats, lean: Floats | None = None, seed: int = 0
) -> Twins:
    """Twins by log-odds of the truth (a column each): the least unlike first, each caption once.

    `lean` says for each kind and column how far below even the truth stays in twins whose contexts
    have nothing in common. In equal contexts there is no lean: all attackers see them alike.
    """
    if lean is None:
        lean = np.zeros((len(candidates.choices.kinds), scores.shape[1]))
    way = np.where(candidates.forward, 1.0, -1.0)
    places = (scores / CALIPER * way[:, None]).astype(np.float32)
    shifts = (2.0 * lean / CALIPER).astype(np.float32)  # of both twins together
    lots = seeds.rng(seed, "fair", "lots").random(len(candidates))
    source = candidates.source
    used = np.zeros(int(source.max(initial=-1)) + 1, bool)
    found: list[tuple[int, int]] = []
    costs: list[float] = []
    for _ in range(PASSES):
        edges = list(_edges(candidates, places, shifts, ~used[source]))
        if not edges:
            break
        cost, first, second = (np.concatenate(column) for column in zip(*edges, strict=True))
        order = np.lexsort((lots[second], lots[first], cost))
        for k in order.tolist():
            a, b = int(first[k]), int(second[k])
            if not used[source[a]] and not used[source[b]] and source[a] != source[b]:
                used[source[a]] = used[source[b]] = True
                found.append((a, b) if a < b else (b, a))
                costs.append(float(cost[k]))
    unlike = np.array(costs)
    order = np.argsort(unlike, kind="stable")
    return Twins(np.array(found, np.int64).reshape(-1, 2)[order], unlike[order])


Edges = tuple[Floats32, Ints, Ints]
"""How unlike, and both places."""


def _edges(
    candidates: TwinCandidates, places: Floats32, shifts: Floats32, free: Bools
) -> Iterator[Edges]:
    """For each candidate of an edit's rarer way the least unlike ones of the other."""
    rows = np.flatnonzero(free)
    # Along the mean of the log-odds: what is further off in it is further off in one of them.
    middle = places.mean(axis=1)
    rows = rows[np.lexsort((middle[rows], candidates.edit[rows]))]
    edit = candidates.edit[rows]
    bounds = np.flatnonzero(np.r_[True, edit[1:] != edit[:-1], True])
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        own = rows[begin:end]
        sides = sorted((own[candidates.forward[own]], own[~candidates.forward[own]]), key=len)
        if not len(sides[0]):
            continue
        one, other = sides
        shift = shifts[candidates.choices.kind[one[0]]]
        reach = 1.0 + float(shift.mean())
        # The one whose first word is true must be ahead by so much less than the other.
        shift = shift if candidates.forward[one[0]] else -shift
        for start in range(0, len(one), BLOCK):
            some = one[start : start + BLOCK]
            low = np.searchsorted(middle[other], middle[some[0]] - reach, "left")
            high = np.searchsorted(middle[other], middle[some[-1]] + reach, "right")
            if low < high:
                yield _nearest(candidates.context, places, shift, some, other[low:high])


def _nearest(
    context: csr_matrix, places: Floats32, shift: Floats32, some: Ints, other: Ints
) -> Edges:
    """The least unlike of the others for each of some, within the caliper."""
    different = 1 - (context[some] @ context[other].T).toarray().astype(np.float32)
    apart = np.zeros((len(some), len(other)), np.float32)
    for column, own in zip(places.T, shift.tolist(), strict=True):
        ahead = column[some][:, None] - column[other][None, :]
        np.maximum(apart, np.abs(ahead + own * different), out=apart)
    unlike = CONTEXT * different + (1 - CONTEXT) * apart
    unlike[apart > 1] = np.inf
    number = min(NEIGHBOURS, len(other))
    best = np.argpartition(unlike, number - 1, axis=1)[:, :number]
    cost = np.take_along_axis(unlike, best, axis=1)
    row, column = np.nonzero(np.isfinite(cost))
    # Rounded: twins that are as like must tie, whatever the order of additions.
    return np.round(cost[row, column], 5), some[row], other[best[row, column]]

"""Equation 1, the guards and the choice of decoys (Ding et al. 2016, section 3.2).

Score is 0 if BLEU reaches L, else lambda * cosine + (1 - lambda) * BLEU; the decoys of a caption
are those of its nearest captions with the highest Score above 0.

The paper uses the captions with the highest Score without further checks. Some of its decoys are
true (the first released row has "sitting on a bench outside" against "sitting outside on a bench"),
and 122 of its 9,999 development rows have a decoy twice. Guards keep a decoy from being true of the
image, and an item from asking something twice; without the guards, this is the paper's own method.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tellapart.errors import BadInput, UnknownName
from tellapart.mine.informativeness import Silence
from tellapart.text._numba import in_threads, kernel
from tellapart.types import Bools, Ints32

Numbers = npt.NDArray[np.floating]
REASONS = ("too alike (BLEU)", "same words", "may be true", "same as another decoy")
TOO_ALIKE, SAME_WORDS, DOUBTFUL, TWICE = range(4)
OFF = {"doubt": 1.0, "likely": 1.0}
"""The value of a guard that is left out, if that is not False."""


@dataclass(frozen=True, slots=True)
class DecoyChoice:
    """The parameters of the choice: the paper's N, its number of decoys, L and lambda (`weight`).

    `smoothing` is that of BLEU, which the paper does not state; `exp`, without n-grams longer than
    the decoy, is the usual BLEU of single sentences (sacreBLEU's).
    """

    neighbours: int = 500
    decoys: int = 4
    limit: float = 0.5
    weight: float = 0.3
    smoothing: str = "exp"


@dataclass(frozen=True, slots=True)
class Guards:
    """Which guards are active.

    `length`: how many decoys are longer than the target is random, as far as possible. BLEU without
    a brevity penalty prefers short decoys: without this guard, the longest option would be true in
    44% of the items on COCO.
    `shuffle`: options in an order given by the seed; otherwise alphabetical, as released.
    `same_words`: no decoy has the bag of words of a caption of the image, letters only.
    `doubt`: a decoy has a word that, if true, all captions of the image would leave out with at
    most this probability (see `Silence`); 1 accepts everything.
    `likely`: for `doubt`, a word counts as mentioned if this share of captions have it beside a
    word of the image's captions ("man" beside "player"); 1 counts only actual mentions.
    `distinct`: no two decoys of an item have the same bag of words, and no item occurs twice.
    `own_split`: decoys are captions of the item's own split. Otherwise, captions that were true in
    training would be recognizable as decoys.
    """

    length: bool = True
    shuffle: bool = True
    same_words: bool = True
    doubt: float = 0.1
    distinct: bool = True
    own_split: bool = True
    likely: float = 1.0

    def without(self, names: Iterable[str]) -> Guards:
        """The guards except those named (`same-words`, ...); none with `all`.

        >>> Guards().without(["doubt"]).doubt, Guards().without(["all"]).shuffle
        (1.0, False)
        """
        known = {name.replace("_", "-"): name for name in self.__dataclass_fields__}
        gone: list[str] = []
        for name in names:
            if name not in (*known, "all"):
                raise UnknownName("guard", name, [*known, "all"])
            gone += known.values() if name == "all" else [known[name]]
        off: dict[str, Any] = {name: OFF.get(name, False) for name in gone}
        return replace(self, **off)

    def check(self) -> None:
        """Raise if a value makes no sense."""
        if not 0 < self.doubt <= 1:
            raise BadInput(
                f"doubt: {self.doubt}", allowed="a probability above 0, or 1 for no guard"
            )


class DecoyCandidates(NamedTuple):
    """Neighbours of target captions [q], arrays [q, n]: nearest first, caption -1 for none.

    BLEU has the neighbour as candidate and the target as reference. `longer` [q] says how many
    decoys should be longer than the target, -1 for any number.
    """

    targets: Ints32
    longer: Ints32
    captions: Ints32
    cosines: Numbers
    bleus: Numbers


class ChosenDecoys(NamedTuple):
    """The decoys of some captions, arrays [q, decoys]: best first, caption -1 if too few.

    `refused` [q, reasons] counts the rejected neighbours, in the order of `REASONS`.
    """

    captions: Ints32
    scores: Numbers
    bleus: Numbers
    cosines: Numbers
    refused: Ints32

    @property
    def complete(self) -> Bools:
        """Which captions have all of their decoys."""
        return np.asarray((self.captions >= 0).all(axis=1))


def scores(cosines: Numbers, bleus: Numbers, weight: float, limit: float) -> Numbers:
    """Equation 1, element by element; rounded, so that equal Scores tie exactly.

    >>> scores(np.array([0.5, 0.5]), np.array([0.2, 0.5]), 0.3, 0.5).round(3).tolist()
    [0.29, 0.0]
    """
    mixed = weight * cosines.astype(np.float64) + (1 - weight) * bleus
    return np.where(too_alike(bleus, limit), 0.0, mixed.round(12))


def too_alike(bleus: Numbers, limit: float) -> Bools:
    """Which BLEU scores reach the limit; one that equals it may come out a last digit below."""
    return np.asarray(bleus.round(12) >= limit)


def choose(
    near: DecoyCandidates, silence: Silence, choice: DecoyChoice, guards: Guards
) -> ChosenDecoys:
    """The decoys of each target; of equal Scores, the nearer comes first."""
    score = scores(near.cosines, near.bleus, choice.weight, choice.limit)
    alike = too_alike(near.bleus, choice.limit)
    places = np.full((len(near.targets), choice.decoys), -1, np.int32)
    refused = np.zeros((len(places), len(REASONS)), np.int32)
    known, rules = _guard_data(silence), _rules(guards)
    images = silence.mentions.captions.image_of
    rows = (near.targets, near.longer, near.captions, score, alike, images)
    in_threads(lambda a, b: pick_rows(*rows, known, rules, places, refused, a, b), len(places), 256)
    missing, where = places < 0, np.maximum(places, 0)
    decoys = np.where(missing, -1, np.take_along_axis(near.captions, where, 1)).astype(np.int32)
    numbers = [
        np.where(missing, 0.0, np.take_along_axis(values, where, 1))
        for values in (score, near.bleus, near.cosines)
    ]
    return ChosenDecoys(decoys, numbers[0], numbers[1], numbers[2], refused)


def may_be_decoys(captions: Ints32, images: Ints32, silence: Silence, guards: Guards) -> Bools:
    """Whether each caption may be a decoy of its image in `images`, as far as captions tell."""
    known, rules = _guard_data(silence), _rules(guards)
    may = np.empty(len(captions), np.bool_)
    in_threads(lambda a, b: ask_pairs(captions, images, known, rules, may, a, b), len(captions))
    return may


def _guard_data(silence: Silence) -> tuple[Any, ...]:
    """The data for the guards, as arguments of kernels."""
    captions, mentions = silence.mentions.captions, silence.mentions
    return (
        captions.bags, captions.image_bags.starts, captions.image_bags.values,
        mentions.of_captions.starts, mentions.of_captions.values,
        mentions.of_images.starts, mentions.of_images.values,
        silence.agreement, captions.per_image, captions.lengths,
    )  # fmt: skip


def _rules(guards: Guards) -> tuple[bool, float, bool]:
    return guards.same_words, guards.doubt, guards.distinct


# Kernels, all in this file, because numba's cache is invalidated by file


@kernel
def holds(starts: Any, values: Any, which: int, value: int) -> bool:
    """Whether a value is in list `which`; lists are too short for bisection to pay off."""
    found = False
    for k in range(starts[which], starts[which + 1]):
        found |= values[k] == value
    return found


@kernel
def most_telling(
    starts: Any, values: Any, which: int, known_starts: Any, known: Any, image: int,
    agreement: Any,
) -> float:  # fmt: skip
    """The highest agreement on an unknown value of list `which`; both lists are sorted."""
    i, last = starts[which], starts[which + 1]
    j, stop = known_starts[image], known_starts[image + 1]
    most = 0.0
    while i < last:
        if j == stop or values[i] < known[j]:
            most = max(most, agreement[values[i]])
            i += 1
        elif values[i] > known[j]:
            j += 1
        else:
            i += 1
            j += 1
    return most


@kernel
def refusal(candidate: int, image: int, known: Any, guards: Any) -> int:
    """The reason why a caption may not be a decoy of an image, -1 if there is none."""
    bag_of, bag_starts, bags, starts, terms, known_starts, known_terms, agreement, sizes, _ = known
    same_words, doubt, _ = guards
    if same_words and holds(bag_starts, bags, image, bag_of[candidate]):
        return SAME_WORDS
    if doubt < 1:
        most = most_telling(starts, terms, candidate, known_starts, known_terms, image, agreement)
        if (1 - most) ** sizes[image] > doubt:
            return DOUBTFUL
    return -1


@kernel
def ask_pairs(
    captions: Any, images: Any, known: Any, guards: Any, may: Any, begin: int, end: int
) -> None:
    """For each caption, whether nothing speaks against it as a decoy of the image."""
    for k in range(begin, end):
        may[k] = refusal(captions[k], images[k], known, guards) < 0


@kernel
def fits(room: Any, difference: int) -> bool:
    """Whether a shorter (0) or longer (1) decoy is still needed; counts it as filled."""
    side = int(difference > 0 or (difference == 0 and room[1] > 0))
    if room[side] == 0:
        return False
    room[side] -= 1
    return True


@kernel
def pick_rows(
    targets: Any, longer: Any, near: Any, scores: Any, alike: Any, images: Any,
    known: Any, guards: Any, places: Any, refused: Any, begin: int, end: int,
) -> None:  # fmt: skip
    """For each row, the positions in `near` of the best candidates; -1 if there are too few.

    Candidates are ordered by score, then by position; scores of 0 or less are excluded. If `longer`
    is not -1, that many are longer than the target and the others shorter (an equal length counts
    as either), as far as possible.
    """
    bag_of, lengths = known[0], known[9]
    most, number = places.shape[1], near.shape[1]
    for row in range(begin, end):
        order = np.argsort(-scores[row], kind="mergesort")
        room = np.array([most - longer[row], longer[row]])
        taken, closed = np.zeros(number, np.bool_), near[row] < 0
        count = 0
        for p in range(number):
            refused[row, TOO_ALIKE] += alike[row, p] and not closed[p]
        # The first attempt fills the drawn numbers of longer and shorter decoys; the second fills
        # the rest with the best of either. Guards are costly, so they are applied only to
        # candidates that come up, in the order of Score, and rejections hold for both attempts.
        for attempt in range(1 if longer[row] < 0 else 2):
            for p in order:
                if count == most or scores[row, p] <= 0:
                    break
                if closed[p]:
                    continue
                candidate = near[row, p]
                reason = refusal(candidate, images[targets[row]], known, guards)
                for t in range(number if guards[2] and reason < 0 else 0):
                    if taken[t] and bag_of[near[row, t]] == bag_of[candidate]:
                        reason = TWICE
                if reason >= 0:
                    refused[row, reason] += 1
                    closed[p] = True
                    continue
                difference = lengths[candidate] - lengths[targets[row]]
                if attempt == 0 and longer[row] >= 0 and not fits(room, difference):
                    continue
                taken[p] = closed[p] = True
                count += 1
        count = 0
        for p in order:  # by Score, whichever attempt chose them
            if taken[p]:
                places[row, count] = p
                count += 1

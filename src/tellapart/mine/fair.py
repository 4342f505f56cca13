"""Fair items of a builder: candidates in, twins out, and what attackers make of them.

The captions that attackers know come from the corpus, and from another where one is named. Two
parts of their images decide what is kept; the third, which the choice never saw, says how much a
text-only model still gets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tellapart import seeds
from tellapart.attack.attack import Attackers, TextAttack, attack_choices, crossfitted_features
from tellapart.attack.choices import Choices, paired_choices
from tellapart.attack.fairness import FairPart, FairRecipe, fair_part
from tellapart.attack.readers import Readers
from tellapart.attack.statistics import CaptionSource
from tellapart.attack.twins import TwinCandidates, contexts, twin_choices
from tellapart.benchmark.groups import TWINS
from tellapart.corpus.corpus import Corpus
from tellapart.items import Item
from tellapart.types import Ints, Progress

SHARES = (0.425, 0.425, 0.15)
"""Of the images whose captions are known: two parts decide, the third checks."""


@dataclass(frozen=True, slots=True)
class PairCandidate:
    """A true and a false text of an image, made from the caption `source` by exchanging words."""

    source: str
    image: str
    kind: str
    true: str
    false: str
    was: str
    now: str


@dataclass(frozen=True, slots=True, eq=False)
class FairPairs:
    """What was kept of candidates, twins together, and what attackers get of it.

    `pairs` are the places of twins that are kept, shape (n, 2).
    """

    part: FairPart
    pairs: Ints
    candidates: TwinCandidates
    attack: TextAttack | None = None
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def places(self) -> Ints:
        """The places of what is kept, in their order."""
        return np.sort(self.pairs.ravel())

    def choices(self) -> Choices:
        """What is kept, as attackers see it: twins are of one group."""
        return twin_choices(self.candidates.choices, self.pairs)

    def name_twins(self, items: Sequence[Item]) -> list[Item]:
        """Items made of what is kept, in its order, with a note that names their pair."""
        named = list(items)
        for pair in np.searchsorted(self.places, self.pairs).tolist():
            for place in pair:
                origin = named[place].origin
                notes = {**origin.notes, TWINS: items[pair[0]].id}
                named[place] = replace(named[place], origin=replace(origin, notes=notes))
        return named

    def card(self) -> dict[str, Any]:
        """What a card says of it."""
        kept, kinds = len(self.places), self.candidates.choices.kinds
        sources = len(np.unique(self.candidates.source))
        return {
            "fair": {
                "by": "twins that attackers cannot tell: the opposite is true, in a like place",
                "candidates": len(self.candidates),
                "captions_with_candidates": sources,
                "kept": kept,
                "share_of_captions": round(kept / max(sources, 1), 4),
                "attackers_before": round(100 * self.part.before, 2),
                "log_odds_below_even": {
                    kind: round(float(own), 3)
                    for kind, own in zip(kinds, self.part.lean, strict=True)
                },
                **self.about,
            },
            "text_alone": self.attack.to_card() if self.attack else None,
        }


def fair_pairs(
    candidates: Sequence[PairCandidate],
    corpus: Corpus,
    captions_from: Corpus | None,
    may_be: Callable[[PairCandidate], bool],
    *,
    items: int | None,
    recipe: FairRecipe,
    progress: Progress,
) -> FairPairs:
    """Choose twins among candidates; `may_be` has the last word on each, and `items` a limit."""
    corpora = [corpus] if captions_from is None else [corpus, captions_from]
    *known, unseen = CaptionSource.of_corpora(corpora, SHARES, recipe.seed)
    table = as_candidates(candidates)
    choices = table.choices
    fold = choices.folds(recipe.seed)
    halves = [crossfitted_features(choices, half, fold) for half in known]
    readers = Readers.of_sentences()
    part = fair_part(table, halves, recipe, readers, progress)
    pairs = part.twins.pairs
    lots = seeds.rng(recipe.seed, "fair", "items").permutation(len(pairs))
    kept: list[list[int]] = []
    for pair in pairs[lots].tolist():
        if items is not None and 2 * len(kept) + 2 > items:
            break
        if all(may_be(candidates[place]) for place in pair):
            kept.append(pair)
    fair = FairPairs(part, np.array(kept, np.int64).reshape(-1, 2), table)
    attack = None
    if kept:
        seed = seeds.number(recipe.seed, "fair", "check") % 2**31
        attack = attack_choices(fair.choices(), unseen, "kept", Attackers(seed), progress)
    about = {
        "captions_known": sum(len(half.codes) for half in known),
        "captions_for_the_check": len(unseen.codes),
        "read_by": readers.told or "no model",
    }
    return replace(fair, attack=attack, about=about)


def as_candidates(candidates: Sequence[PairCandidate]) -> TwinCandidates:
    """Candidates as arrays."""
    choices = paired_choices(
        [(one.true, one.false) for one in candidates],
        [one.kind for one in candidates],
        [one.image for one in candidates],
    )
    _, source = np.unique([one.source for one in candidates], return_inverse=True)
    edits = ["\n".join([one.kind, *sorted((one.was, one.now))]) for one in candidates]
    _, edit = np.unique(edits, return_inverse=True)
    forward = np.array([one.was < one.now for one in candidates], bool)
    return TwinCandidates(
        choices, source.astype(np.int64), edit.astype(np.int64), forward, contexts(choices)
    )

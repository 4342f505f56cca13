"""The fair part of a finished benchmark: the items that attackers answer no better than chance.

Items cannot be made anew here, only kept or left out. Attackers are fitted on what is kept, and of
items that they find as easy as many are kept on which they are right as on which they are wrong,
kind by kind; with more than two options, as many with the truth at each rank. Then they are fitted
again on what is kept, for several rounds, until they are at chance there
(adversarial filtering: Zellers et al. 2018, SWAG; with symmetric bins: Hsieh et al. 2023,
SugarCrepe). Half of the groups decide nothing: models see no truth of theirs, so what is left of
them shows what the filter is worth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart import seeds
from tellapart.attack.attack import (
    ALL,
    FEW,
    Attackers,
    Hit,
    TextAttack,
    attack_choices,
    crossfitted_features,
)
from tellapart.attack.choices import Choices, caption_choices, group_folds
from tellapart.attack.features import Features
from tellapart.attack.logit import Design, centred_features, fit
from tellapart.attack.statistics import CaptionSource
from tellapart.attack.trees import fit_trees, tree_decisions, tree_input, trees_installed
from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput
from tellapart.text.table_text import percent
from tellapart.types import Bools, Floats, Ints, Progress, silent

ROUNDS = 8
ANEW = 2
"""So many rounds choose anew among all items; later ones leave out of what is kept."""
ENOUGH = 0.01
"""Rounds end when attackers are no further above chance on what is kept of the deciding half."""
FOLDS = 5
BINS = 6
SMALL_KIND = 60
"""Kinds with fewer choices are taken together."""
OTHER_SEED = 7_919
"""Folds and trees of those who check are drawn by another seed than those of the filter."""


@dataclass(frozen=True, slots=True, eq=False)
class FairItems:
    """Which choices are kept, and what attackers get of all and of those, by other folds.

    `before` and `after` are of the half of the groups that decided nothing; `whole` is of all that
    is kept.
    """

    choices: Choices
    kept: Bools
    held_out: Bools
    before: Hit
    after: Hit
    whole: TextAttack | None
    source: str

    @property
    def items(self) -> Ints:
        """The places of the items that are kept."""
        return self.choices.item[self.kept]

    def to_json(self) -> dict[str, Any]:
        """For `--json` and for cards."""
        return {
            "items": len(self.choices),
            "kept": int(self.kept.sum()),
            "source": self.source,
            "held_out": {"before": self.before.percents(), "after": self.after.percents()},
            "text_alone": self.whole.to_card() if self.whole else None,
        }

    def __str__(self) -> str:
        kept, number = int(self.kept.sum()), len(self.choices)
        lines = [
            f"fair part: {kept:,} of {number:,} items ({percent(kept / max(number, 1))}%)",
            f"  held out, before: {self.before}",
            f"  held out, after:  {self.after}",
        ]
        if self.whole is not None:
            lines.append(f"  all that is kept: {self.whole.overall} by {self.whole.attacker}")
        return "\n".join([*lines, f"  attackers learned from {self.source}"])


def fair_part_of(
    benchmark: Benchmark,
    source: CaptionSource | None = None,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> FairItems:
    """The fair part of a benchmark; `source` as for `attack_benchmark`."""
    choices = caption_choices(benchmark.items)
    if len(choices) < 2 * FEW:
        raise BadInput(
            f"{benchmark.name} has no fair part that could be found",
            allowed=f"{2 * FEW} items or more in which a caption is chosen",
            todo="see what single cues give away: tellapart audit",
        )
    source = source or CaptionSource.of_items(benchmark.items)
    return fair_items(choices, source, benchmark.name, seed=seed, progress=progress)


def fair_items(
    choices: Choices,
    source: CaptionSource,
    name: str,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> FairItems:
    """Choose a fair part, and check it by attackers with other folds and another seed."""
    held_out = group_folds(choices.group, seeds.number(seed, "held out") % 2**31, 2) == 1
    kept = np.ones(len(choices), bool)
    total = np.zeros(len(choices.text))
    halves = (held_out, ~held_out)
    for number in range(ROUNDS):
        own = seeds.number(seed, "fair items", number) % 2**31
        fold = choices.folds(own, FOLDS)
        features = crossfitted_features(choices, source, fold)
        scores = _scores(choices, features, kept, held_out, fold, own)
        ahead = [_above_chance(choices, one, kept & ~held_out) for one in scores]
        progress("fair part", number + 1, ROUNDS)
        if number >= ANEW and max(ahead) < ENOUGH:
            break
        if number < ANEW:
            total += scores.sum(axis=0)
            kept = np.any([_balanced(choices, total, half, own) for half in halves], axis=0)
        else:
            strongest = scores[int(np.argmax(ahead))]
            parts = [_balanced(choices, strongest, kept & half, own) for half in halves]
            kept = np.any(parts, axis=0)
    progress("fair part", ROUNDS, ROUNDS)

    def checked(rows: Bools) -> TextAttack | None:
        """Nobody learns from a handful."""
        some = choices.some(rows)
        if len(some) < 2 * FOLDS:
            return None
        return attack_choices(some, source, name, Attackers(seed + OTHER_SEED))

    before, after = checked(held_out), checked(held_out & kept)
    nothing = Hit(ALL, 0.0, 0.0, 1.0, 0.0, 0)
    return FairItems(
        choices, kept, held_out,
        before.overall if before else nothing, after.overall if after else nothing,
        checked(kept), f"{len(source.codes):,} captions, {source.name}",
    )  # fmt: skip


def _scores(
    choices: Choices, features: Features, kept: Bools, held_out: Bools, fold: Ints, seed: int
) -> Floats:
    """Scores of options by each attacker, fitted on other choices of the deciding half.

    Around the mean of their choice, in units of their spread; one row an attacker.
    """
    design = Design.of(features, choices, None)
    table = tree_input(features, choices) if trees_installed() else None
    scores = np.zeros((1 if table is None else 2, len(choices.text)))
    parts = [(held_out, kept & ~held_out)]
    for number in range(FOLDS):
        here = ~held_out & (fold == number)
        parts.append((here, kept & ~held_out & (fold != number)))
    for here, fitted_on in parts:
        if not here.any() or not fitted_on.any():
            continue
        rows = here[choices.choice]
        scores[0, rows] = fit(design, choices, fitted_on).scores(design, choices, rows)
        if table is not None:
            trees = fit_trees(table, choices, fitted_on, seed)
            scores[1, rows] = tree_decisions(trees, table[rows])
    centred = centred_features(scores.T, choices)
    spread = centred.std(axis=0)
    scaled: Floats = np.round(centred / np.where(spread > 0, spread, 1.0), 6).T
    return scaled


def _above_chance(choices: Choices, scores: Floats, rows: Bools) -> float:
    """How far an attacker is above chance on some choices."""
    if not rows.any():
        return 0.0
    return float((choices.share_right(scores) - choices.chance)[rows].mean())


def _balanced(choices: Choices, scores: Floats, rows: Bools, seed: int) -> Bools:
    """Of some choices as many as make the truth's rank tell nothing."""
    lots = seeds.rng(seed, "balance").random(len(choices))
    rank = _ranks(choices, scores, lots)
    size = np.abs(choices.margins(scores))
    counts = np.bincount(choices.kind[rows], minlength=len(choices.kinds))
    kind = np.where(counts >= SMALL_KIND, np.arange(len(counts)), -1)[choices.kind]
    chosen = np.zeros(len(choices), bool)
    for alike in _cells(kind, choices.sizes, size, np.flatnonzero(rows)):
        options = int(choices.sizes[alike[0]])
        last = options - (1 if options == 2 else 2)
        wanted = [1] * last + [options - last]  # the two lowest ranks count together
        of_rank = [alike[np.minimum(rank[alike], last) == r] for r in range(last + 1)]
        least = min(len(own) // number for own, number in zip(of_rank, wanted, strict=True))
        for members, number in zip(of_rank, wanted, strict=True):
            chosen[members[np.argsort(lots[members])][: number * least]] = True
    return chosen


def _cells(kind: Ints, sizes: Ints, size: Floats, rows: Ints) -> Iterator[Ints]:
    """Choices of one kind with as many options, and where these are two, with like margins."""
    for one, options in sorted(set(zip(kind[rows].tolist(), sizes[rows].tolist(), strict=True))):
        own = rows[(kind[rows] == one) & (sizes[rows] == options)]
        if options > 2:
            yield own
            continue
        edges = np.quantile(size[own], np.linspace(0, 1, BINS + 1)[1:-1])
        place = np.searchsorted(edges, size[own])
        for number in range(BINS):
            if (place == number).any():
                yield own[place == number]


def _ranks(choices: Choices, scores: Floats, lots: Floats) -> Ints:
    """How many wrong options are ahead of the best right one; ties fall by lot."""
    low = np.where(choices.right, scores, -np.inf)
    best = np.maximum.reduceat(low, choices.starts[:-1])[choices.choice]
    tie = (scores == best) & (lots[choices.choice] < 0.5)
    ahead = ~choices.right & ((scores > best) | tie)
    return np.bincount(choices.choice, ahead, len(choices)).astype(np.int64)

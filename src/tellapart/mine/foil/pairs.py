"""Pairs of target and foil: which words are exchanged, split between train and test.

Shekhar et al. 2017, section 3, steps 1 and 2: COCO's 73 words give 472 pairs, of which 256 are
for training and 216 for testing, at random within each supercategory.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tellapart import seeds
from tellapart.errors import BadInput, UnknownName
from tellapart.mine.categories import Categories
from tellapart.tables import read_table, require_columns
from tellapart.types import Bools

TRAIN, ALL = 256, 472
"""The paper's pairs for training, and all of them."""
PARTS = ("train", "test")
TargetFoil = tuple[str, str]


@dataclass(frozen=True, slots=True)
class FoilPairs:
    """The pairs that are used, and where they come from."""

    used: frozenset[TargetFoil]
    facts: dict[str, Any]

    def matrix(self, table: Categories) -> Bools:
        """Whether a target (row) may be replaced by a foil (column)."""
        allowed = np.zeros((len(table.names), len(table.names)), np.bool_)
        for target, foil in self.used:
            allowed[table.place[target], table.place[foil]] = True
        return allowed


def pairs_for(table: Categories, split: str, part: str, seed: int) -> FoilPairs:
    """The pairs of one part of the paper's split, all of them (`none`), or those of a file."""
    every = table.pairs()
    if split == "none":
        return FoilPairs(frozenset(every), {"split": "none", "pairs": len(every)})
    if part not in PARTS:
        raise UnknownName("part of the pairs", part, PARTS)
    if split == "paper":
        parts = split_pairs(table, seed)
        facts = {"split": f"paper's way, seed {seed}", "part": part}
    else:
        parts = read_pairs(Path(split), every)
        facts = {"split": Path(split).name, "part": part}
    counts = {f"pairs in {name}": sum(p == name for p in parts.values()) for name in PARTS}
    used = frozenset(pair for pair, of in parts.items() if of in ("", part))
    if not used:
        raise BadInput(f"no pair of {split} is for {part}", allowed="at least one pair")
    return FoilPairs(used, {**facts, "pairs": len(used), **counts})


def split_pairs(table: Categories, seed: int) -> dict[TargetFoil, str]:
    """For each pair `train` or `test`: 256 : 216 in all, as near to it as can be in each group.

    Every supercategory gives the whole part of its share to training; the pairs that are still
    missing come one each from those with the largest remainders.
    """
    groups: dict[str, list[TargetFoil]] = {name: [] for name in table.supercategories}
    for target, foil in table.pairs():
        groups[table.names[table.place[target]].supercategory].append((target, foil))
    total = sum(map(len, groups.values()))
    exact = {name: len(pairs) * TRAIN / ALL for name, pairs in groups.items()}
    quota = {name: int(share) for name, share in exact.items()}
    missing = round(total * TRAIN / ALL) - sum(quota.values())
    by_remainder = sorted(groups, key=lambda name: quota[name] - exact[name])
    for name in by_remainder[:missing]:
        quota[name] += 1
    split: dict[TargetFoil, str] = {}
    for name, pairs in groups.items():
        order = seeds.rng(seed, "foil", "split", name).permutation(len(pairs)).tolist()
        for rank, k in enumerate(order):
            split[pairs[k]] = "train" if rank < quota[name] else "test"
    return split


def read_pairs(file: Path, known: list[TargetFoil]) -> dict[TargetFoil, str]:
    """Pairs from a table with the columns target and foil, and optionally split (train or test)."""
    table = read_table(file)
    require_columns(table, ("target", "foil"), file)
    pairs: dict[TargetFoil, str] = {}
    for number, row in enumerate(table.iter_rows(named=True), 1):
        where = f"{file}, row {number}"
        pair = (str(row["target"]).strip().lower(), str(row["foil"]).strip().lower())
        of = str(row.get("split") or "").strip().lower()
        if pair not in known:
            raise BadInput(
                f"{pair[0]}::{pair[1]} is no pair of the categories",
                where=where,
                allowed="two words of one supercategory that name different categories",
            )
        if of not in ("", *PARTS):
            raise BadInput(f"the split {of!r} is unknown", where=where, allowed="train, test")
        if pairs.get(pair, of) != of:
            raise BadInput(f"{pair[0]}::{pair[1]} is in both parts", where=where)
        pairs[pair] = of
    return pairs

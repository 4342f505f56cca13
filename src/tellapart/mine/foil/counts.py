"""What came out of the steps, beside what the paper had; and how often chance is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tellapart.items import Item
from tellapart.mine.foil.foils import Foils
from tellapart.questions import Ask, questions
from tellapart.text.aligned import aligned

PAPER = {
    "outdoor": 107, "food": 10407, "indoor": 4911, "appliance": 2811, "sports": 16276,
    "animal": 21982, "vehicle": 16514, "furniture": 13625, "accessory": 3040, "electronic": 5615,
    "kitchen": 4192,
}  # fmt: skip
"""Foil captions in FOIL-COCO's test set (Shekhar et al. 2017, Table 3)."""
PAPER_CHANCE = {"T1": 50.0, "T2-nouns": 23.25, "T2-content": 15.87, "T3": 1.38}
"""Chance levels in percent (Table 2)."""
ASKS = {"T2-nouns": Ask.NOUN, "T2-content": Ask.WORD, "T3": Ask.MEND}


def counts(foils: Foils, items: Sequence[Item]) -> dict[str, dict[str, int]]:
    """For each supercategory how many foil captions the rules allow, and how many are kept."""
    names = foils.table.names
    of_name = Counter(foils.target.tolist())
    candidates: Counter[str] = Counter()
    for place, number in of_name.items():
        candidates[names[place].supercategory] += number
    kept = Counter(item.kind for item in items)
    return {
        sort: {"candidates": candidates[sort], "kept": kept[sort]}
        for sort in foils.table.supercategories
    }


def chance(items: Sequence[Item]) -> dict[str, float]:
    """How often a guess is right, in percent: one of two, one of the words, one of the candidates.

    A question that has only one answer is not asked, and so does not count.
    """
    levels = {"T1": 50.0}
    for name, ask in ASKS.items():
        found = [
            len(question.right) / len(question.options)
            for item in items
            for question in questions(item, frozenset({ask}))
        ]
        if found:
            levels[name] = round(100 * sum(found) / len(found), 2)
    return levels


def table(made: Mapping[str, Any]) -> str:
    """The counts and chance levels of a card, beside the paper's where it has such."""
    counted: dict[str, dict[str, int]] = made["by supercategory"]
    total = {key: sum(row[key] for row in counted.values()) for key in ("candidates", "kept")}
    with_paper = made["categories"].startswith("coco") and set(counted) == set(PAPER)
    head = ["supercategory", "candidates", "share", "kept", "share"]
    rows = [[*head, "paper's share"] if with_paper else head]
    for sort, row in {**counted, "all": total}.items():
        cells = [sort]
        for key in ("candidates", "kept"):
            cells += [f"{row[key]:,}", _percent(row[key], total[key])]
        if with_paper:
            paper = sum(PAPER.values()) if sort == "all" else PAPER[sort]
            cells.append(_percent(paper, sum(PAPER.values())))
        rows.append(cells)
    levels = [["chance of", *made["chance"]]]
    levels.append(["here", *(f"{value:.2f}%" for value in made["chance"].values())])
    if with_paper:
        levels.append(["in the paper", *(f"{PAPER_CHANCE[name]:.2f}%" for name in made["chance"])])
    return f"{aligned(rows, {0})}\n\n{aligned(levels, {0})}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"

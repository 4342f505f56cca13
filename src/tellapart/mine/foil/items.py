"""Items of foils: the pair of captions, and the slot that T2 and T3 ask about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tellapart import seeds
from tellapart.items import Item, Origin, Slot, Word
from tellapart.mine.foil.foils import FoilCaption, Foils
from tellapart.questions import Ask, questions
from tellapart.text.content_words import Tagger, content_words
from tellapart.text.table_text import aligned


@dataclass(frozen=True, slots=True)
class FoilItems:
    """Makes items of foils. T3's candidates are all words, or those that the image lacks.

    `tagger` is asked where there is no parse; `facts` go into the notes of each item.
    """

    foils: Foils
    tagger: Tagger | None
    seed: int
    facts: dict[str, str]

    def item(self, row: int) -> Item:
        """The item of one foil."""
        foils = self.foils
        caption = int(foils.caption[row])
        image = foils.images[int(foils.image[caption])]
        caption_id = foils.caption_ids[caption]
        made, original = foils.put(row), foils.words.texts[caption]
        place = int(seeds.rng(self.seed, "foil", "order", caption_id).integers(2))
        target = foils.table.names[int(foils.target[row])]
        foil = foils.table.names[int(foils.rows.foil[row])]
        slot = Slot(
            caption=1 - place,
            start=made.start,
            end=made.end,
            target=target.word,
            foil=made.text[made.start : made.end],
            plural=bool(foils.found.plural[foils.rows.mention[row]]),
            words=self._words(row, caption, made),
            candidates=self._candidates(caption, int(foils.target[row])),
        )
        notes = {"target": target.word, "foil": foil.word, **self.facts}
        return Item.built(
            "foil",
            images=(image,),
            captions=(original, made.text) if place == 0 else (made.text, original),
            true=frozenset({(0, place)}),
            original=(0, place),
            kind=target.supercategory,
            slot=slot,
            origin=Origin(
                "tellapart build foil", foils.corpus.name, caption_id, self.seed, notes=notes
            ),
        )

    def _candidates(self, caption: int, target: int) -> tuple[str, ...]:
        """Words for T3: what the image shows beside the target would mend the caption, too."""
        names = self.foils.table.names
        if self.foils.plain:
            return tuple(name.word for name in names)
        absent = self.foils.rules.absent[self.foils.image[caption]].tolist()
        return tuple(n.word for k, n in enumerate(names) if absent[k] or k == target)

    def _words(self, row: int, caption: int, made: FoilCaption) -> tuple[Word, ...]:
        """The content words of the foil caption, of which the foil is one, however long."""
        if self.foils.parses is None:
            assert self.tagger is not None
            known = self.tagger.content_words(made.text)
            others = [w for w in known if w.end <= made.start or w.start >= made.end]
        else:
            others = self._moved(row, caption, made)
        slot = Word(made.start, made.end, True)
        return tuple(sorted([*others, slot], key=lambda word: word.start))

    def _moved(self, row: int, caption: int, made: FoilCaption) -> list[Word]:
        """The content words of the original, moved to where they stand in the foil caption."""
        foils = self.foils
        assert foils.parses is not None
        mention = foils.rows.mention[row]
        begin = int(foils.words.begin[foils.found.first[mention]])
        end = int(foils.words.end[foils.found.last[mention]])
        longer = len(made.text) - len(foils.words.texts[caption])
        words = content_words(foils.parses[caption])
        ahead = [word for word in words if word.end <= begin]
        behind = [
            Word(word.start + longer, word.end + longer, word.noun)
            for word in words
            if word.start >= end
        ]
        return [*ahead, *behind]


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

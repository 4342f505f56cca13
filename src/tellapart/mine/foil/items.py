"""Items of foils: a pair of captions with the slot for T2 and T3, and their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tellapart import seeds
from tellapart.errors import BadInput
from tellapart.items import Grid, Item, Origin, Slot, Word, drawn_order
from tellapart.mine.fair import PairCandidate
from tellapart.mine.foil import FoilMethod
from tellapart.mine.foil.foils import FoilCaption, Foils
from tellapart.mine.foil.hardest import Hardness, by_hardness, language_scores
from tellapart.mine.verifier import Verifier
from tellapart.questions import Ask, questions
from tellapart.text.content_words import LexiconTagger, content_words
from tellapart.text.spacy_pipeline import find_pipeline
from tellapart.text.table_text import aligned
from tellapart.types import Ints, Progress

PAPER = {
    "outdoor": 107, "food": 10407, "indoor": 4911, "appliance": 2811, "sports": 16276,
    "animal": 21982, "vehicle": 16514, "furniture": 13625, "accessory": 3040, "electronic": 5615,
    "kitchen": 4192,
}  # fmt: skip
"""Foil captions in FOIL-COCO's test set (Shekhar et al. 2017, Table 3)."""
PAPER_CHANCE = {"T1": 50.0, "T2-nouns": 23.25, "T2-content": 15.87, "T3": 1.38}
"""Chance levels in percent (Table 2)."""
CANDIDATES = 6
"""How many foils of a caption are candidates for a fair part."""
ASKS = {"T2-nouns": Ask.NOUN, "T2-content": Ask.WORD, "T3": Ask.MEND}


@dataclass(frozen=True)
class FoilItems:
    """Makes items from foils, by a method in which every `auto` is resolved.

    T3's candidates are all words, or those absent from the image.
    """

    foils: Foils
    method: FoilMethod
    seed: int

    @cached_property
    def _tagger(self) -> LexiconTagger:
        """The tagger for content words without a parse."""
        table = self.foils.table
        words = table.nouns or tuple(name.word for name in table.names)
        return LexiconTagger.of(table.name, words)

    def hardest(
        self, score: Hardness, verifier: Verifier, limit: int | None, progress: Progress
    ) -> Iterator[Item]:
        """For each caption (or image), the hardest foil that the verifier accepts."""
        foils, per = self.foils, self.method.per
        captions = np.unique(foils.caption)
        total = len(captions if per == "caption" else np.unique(foils.image_of[captions]))
        sources: set[tuple[str, str]] = set()
        for done, rows in enumerate(by_hardness(foils, score, per, self.seed), 1):
            progress("foils", done, total)
            for row in rows.tolist():
                source = foils.source(row)
                if source in sources:  # the image has this caption twice
                    continue
                item = self.item(row)
                if verifier.may_differ(*source, foils.written(row).text):
                    sources.add(source)
                    yield item
                    break
            if len(sources) == limit:
                return

    def candidates(self) -> tuple[Ints, list[PairCandidate]]:
        """The candidate foils by row: for each caption the likeliest few.

        These are the foils that a language model of the captions finds as probable as the truth.
        """
        foils, per_image = self.foils, self.method.per == "image"
        gain = np.abs(language_scores(foils)) if foils.parses is not None else np.zeros(len(foils))
        lots = seeds.rng(self.seed, "foil", "candidates").random(len(foils))
        order = np.lexsort((lots, gain, foils.caption))
        caption = foils.caption[order]
        begins = np.flatnonzero(np.r_[True, caption[1:] != caption[:-1]]) if len(caption) else order
        rank = np.arange(len(order)) - np.repeat(begins, np.diff(np.r_[begins, len(order)]))
        rows = np.sort(order[rank < CANDIDATES]).astype(np.int64)
        names = foils.table.names
        made: dict[tuple[str, str, str], int] = {}
        listed: list[PairCandidate] = []
        for row in rows.tolist():
            (image, text), target = foils.source(row), names[int(foils.target[row])]
            foil = names[int(foils.foil[row])]
            source = image if per_image else f"{image}\n{text}"  # two people may write the same
            one = PairCandidate(
                source, image, target.supercategory, text, foils.written(row).text, target.word,
                foil.word,
            )  # fmt: skip
            if made.setdefault((image, text, one.false), row) == row:
                listed.append(one)
        return np.array(list(made.values()), np.int64), listed

    def card(self, chooser: str) -> dict[str, Any]:
        """The card's description of how the items were made."""
        foils, method = self.foils, self.method
        tagger = (
            find_pipeline(method.parser).name if foils.parses is not None else self._tagger.name
        )
        absence = "neither among the objects of the image nor in its captions"
        if method.plain:
            absence = "not among the objects of the image"
        elif method.absence == "captions":
            absence = "in no caption of the image (nobody says what else it shows)"
        return {
            "categories": f"{foils.table.name}, {len(foils.table.names)} words",
            **foils.pairs.facts,
            "target": f"in at least {method.mentions} captions of the image",
            "foil": absence,
            "words": "replaced as they stand (plain)"
            if method.plain
            else "nouns, long names whole; a/an, plural and capitals are right",
            "hardest": f"one foil for each {method.per}, {chooser}",
            "nouns_and_content_words_by": tagger,
            "T3": "all words" if method.plain else "words that the image lacks: others may be true",
        }

    def item(self, row: int) -> Item:
        """The item of one foil."""
        foils = self.foils
        caption = int(foils.caption[row])
        caption_id = foils.caption_ids[caption]
        (image, original), foil_caption = foils.source(row), foils.written(row)
        order = drawn_order(seeds.rng(self.seed, "foil", "order", caption_id))
        target = foils.table.names[int(foils.target[row])]
        foil = foils.table.names[int(foils.foil[row])]
        slot = Slot(
            caption=1,
            start=foil_caption.start,
            end=foil_caption.end,
            target=target.word,
            foil=foil_caption.text[foil_caption.start : foil_caption.end],
            plural=bool(foils.mentions.plural[foils.mention[row]]),
            words=self._words(row, caption, foil_caption),
            candidates=self._candidates(caption, int(foils.target[row])),
        )
        notes = {"target": target.word, "foil": foil.word}
        if self.method.split != "none":
            notes["split"] = self.method.part
        captions = (original, foil_caption.text)
        return Item.built(
            "foil",
            Grid.caption_choice(image, captions, order, slot=slot),
            kind=target.supercategory,
            origin=Origin(
                "tellapart build foil", foils.corpus.name, caption_id, self.seed, notes=notes
            ),
        )

    def _candidates(self, caption: int, target: int) -> tuple[str, ...]:
        """Words for T3: other things that the image shows would correct the caption, too."""
        names = self.foils.table.names
        if self.foils.plain:
            return tuple(name.word for name in names)
        absent = self.foils.rules.absent[self.foils.image_of[caption]].tolist()
        return tuple(n.word for k, n in enumerate(names) if absent[k] or k == target)

    def _words(self, row: int, caption: int, foil_caption: FoilCaption) -> tuple[Word, ...]:
        """The content words of the foil caption; the foil counts as one, however long."""
        foils, text = self.foils, foil_caption.text
        if foils.parses is None:
            words, longer = self._tagger.content_words(text), 0
            begin, end = foil_caption.start, foil_caption.end
        else:  # words of the original, moved to their positions in the foil caption
            words, longer = content_words(foils.parses[caption]), len(text)
            longer -= len(foils.words.texts[caption])
            mention = foils.mention[row]
            begin = int(foils.words.begin[foils.mentions.first[mention]])
            end = int(foils.words.end[foils.mentions.last[mention]])
        ahead = [word for word in words if word.end <= begin]
        slot = Word(foil_caption.start, foil_caption.end, True)
        behind = [
            Word(word.start + longer, word.end + longer, word.noun)
            for word in words
            if word.start >= end
        ]
        return (*ahead, slot, *behind)


def nothing_left(foils: Foils, method: FoilMethod) -> BadInput:
    """Why there is no item: the step at which the last ones were lost."""
    if not len(foils.mentions):
        what = f"no caption has a word of the table {foils.table.name}"
        return BadInput(what, todo="give a table of categories with --categories")
    if not foils.rules.salient.any():
        return BadInput(
            f"no word of the table is in {method.mentions} captions of one image",
            allowed="images with several captions",
            todo="with one caption per image, use --mentions 1",
        )
    return BadInput(
        f"foil has no items: {len(foils.mentions):,} words could be replaced, but no foil is "
        "absent from its image",
        todo="use all pairs with --split none",
    )


def counts(foils: Foils, items: Sequence[Item]) -> dict[str, dict[str, int]]:
    """For each supercategory, how many foil captions the rules allow, and how many are kept."""
    sorts = [name.supercategory for name in foils.table.names]
    candidates = Counter(sorts[place] for place in foils.target.tolist())
    kept = Counter(item.kind for item in items)
    return {
        sort: {"candidates": candidates[sort], "kept": kept[sort]}
        for sort in foils.table.supercategories
    }


def chance(items: Sequence[Item]) -> dict[str, float]:
    """The chance of a guess in percent: one of two, one of the words, one of the candidates.

    A question with only one answer is not asked and does not count.
    """
    levels = {"T1": 50.0}
    for name, ask in ASKS.items():
        chances = [
            len(question.right) / len(question.options)
            for item in items
            for question in questions(item, frozenset({ask}))
        ]
        if chances:
            levels[name] = round(100 * sum(chances) / len(chances), 2)
    return levels


def table(made: Mapping[str, Any]) -> str:
    """The counts and chance levels of a card, beside the paper's if it has them."""
    counted: dict[str, dict[str, int]] = made["by_supercategory"]
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

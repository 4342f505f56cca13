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
from tellapart.mine.balanced.candidates import PairCandidate
from tellapart.mine.balanced.pairs import BalancedPair
from tellapart.mine.foil import FoilMethod
from tellapart.mine.foil.foils import FoilCaption, Foils
from tellapart.mine.foil.hardest import Hardness, by_hardness
from tellapart.mine.verifier import Verifier
from tellapart.questions import Ask, questions
from tellapart.text.content_words import LexiconTagger, content_words
from tellapart.text.parses import Parse
from tellapart.text.spacy_pipeline import find_pipeline
from tellapart.text.table_text import aligned
from tellapart.types import Progress

PAPER = {
    "outdoor": 107, "food": 10407, "indoor": 4911, "appliance": 2811, "sports": 16276,
    "animal": 21982, "vehicle": 16514, "furniture": 13625, "accessory": 3040, "electronic": 5615,
    "kitchen": 4192,
}  # fmt: skip
"""Foil captions in FOIL-COCO's test set (Shekhar et al. 2017, Table 3)."""
PAPER_CHANCE = {"T1": 50.0, "T2-nouns": 23.25, "T2-content": 15.87, "T3": 1.38}
"""Chance levels in percent (Table 2)."""
Span = tuple[int, int]
"""Where something begins and ends in a text."""
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

    def candidates(self) -> list[PairCandidate]:
        """All foils, by row: what text alone finds likely makes no difference to pairs."""
        foils = self.foils
        words, mentions = foils.words, foils.mentions
        begins = words.begin[mentions.first[foils.mention]].tolist()
        ends = words.end[mentions.last[foils.mention]].tolist()
        per_image = self.method.per == "image"
        listed: list[PairCandidate] = []
        for row, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            image, text = foils.source(row)
            foil, number = foils.written(row), int(mentions.plural[foils.mention[row]])
            was, now = (f"{int(name)} {number}" for name in (foils.target[row], foils.foil[row]))
            source = image if per_image else f"{image}\n{text}"  # two people may write the same
            kind = foils.table.names[int(foils.target[row])].supercategory
            put = foil.text[foil.start : foil.end]
            listed.append(
                PairCandidate(source, image, kind, text, foil.text, begin, end, put, was, now)
            )
        return listed

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
        (_, original), foil_caption = foils.source(row), foils.written(row)
        mention = int(foils.mention[row])
        was = (
            int(foils.words.begin[foils.mentions.first[mention]]),
            int(foils.words.end[foils.mentions.last[mention]]),
        )
        foil = _Foil(
            caption, original, foil_caption, self._words_of(original, caption), was,
            int(foils.target[row]), int(foils.foil[row]), bool(foils.mentions.plural[mention]),
        )  # fmt: skip
        return self._item(foil, self._order(caption))

    def both(
        self, pairs: Sequence[BalancedPair], rows: Sequence[int], parsed: Sequence[Parse]
    ) -> Iterator[tuple[Item, Item]]:
        """The two items of each pair: what is the foil of one is true of the other.

        `rows` are the foils of the candidates, `parsed` the pairs' texts.
        """
        foils = self.foils
        for pair, parse in zip(pairs, parsed, strict=True):
            one, other = (rows[place] for place in (pair.first, pair.second))
            plural = bool(foils.mentions.plural[foils.mention[one]])
            target, foil = int(foils.target[one]), int(foils.foil[one])
            words = content_words(parse)
            moved = _moved(words, pair.span, pair.other_span)
            first = _Foil(
                int(foils.caption[one]), pair.text, FoilCaption(pair.other, *pair.other_span),
                words, pair.span, target, foil, plural,
            )  # fmt: skip
            second = _Foil(
                int(foils.caption[other]), pair.other, FoilCaption(pair.text, *pair.span),
                moved, pair.other_span, foil, target, plural,
            )  # fmt: skip
            order = self._order(first.caption)
            # Both list the captions alike: who goes by places is right on half, too.
            yield self._item(first, order), self._item(second, (order[1], order[0]))

    def _order(self, caption: int) -> tuple[int, int]:
        return drawn_order(seeds.rng(self.seed, "foil", "order", self.foils.caption_ids[caption]))

    def _item(self, made: _Foil, order: tuple[int, int]) -> Item:
        foils, names = self.foils, self.foils.table.names
        caption_id = foils.caption_ids[made.caption]
        target, foil, foil_caption = names[made.target], names[made.foil], made.foil_caption
        span = (foil_caption.start, foil_caption.end)
        slot = Slot(
            caption=1,
            start=foil_caption.start,
            end=foil_caption.end,
            target=target.word,
            foil=foil_caption.text[foil_caption.start : foil_caption.end],
            plural=made.plural,
            words=self._words(made.words, made.was, span, foil_caption.text),
            candidates=self._candidates(made.caption, made.target),
        )
        notes = {"target": target.word, "foil": foil.word}
        if self.method.split != "none":
            notes["split"] = self.method.part
        return Item.built(
            "foil",
            Grid.caption_choice(
                foils.images[int(foils.image_of[made.caption])],
                (made.original, foil_caption.text), order, slot=slot,
            ),
            kind=target.supercategory,
            origin=Origin(
                "tellapart build foil", foils.corpus.name, caption_id, self.seed, notes=notes
            ),
        )  # fmt: skip

    def _candidates(self, caption: int, target: int) -> tuple[str, ...]:
        """Words for T3: other things that the image shows would correct the caption, too."""
        names = self.foils.table.names
        if self.foils.plain:
            return tuple(name.word for name in names)
        absent = self.foils.rules.absent[self.foils.image_of[caption]].tolist()
        return tuple(n.word for k, n in enumerate(names) if absent[k] or k == target)

    def _words_of(self, original: str, caption: int) -> tuple[Word, ...]:
        """The content words of an original, where a parse tells them."""
        parses = self.foils.parses
        return content_words(parses[caption]) if parses is not None else ()

    def _words(self, words: tuple[Word, ...], was: Span, now: Span, text: str) -> tuple[Word, ...]:
        """The content words of a foil caption; the foil counts as one, however long."""
        if self.foils.parses is None:
            return _moved(self._tagger.content_words(text), now, now)
        return _moved(words, was, now)


@dataclass(frozen=True, slots=True)
class _Foil:
    """A foil caption, and the original with its content words; `was` is what gave way."""

    caption: int
    original: str
    foil_caption: FoilCaption
    words: tuple[Word, ...]
    was: Span
    target: int
    foil: int
    plural: bool


def _moved(words: Sequence[Word], was: Span, now: Span) -> tuple[Word, ...]:
    """Words of a text in which something else stands at [start, end): it counts as one noun."""
    longer = now[1] - was[1]
    ahead = [word for word in words if word.end <= was[0]]
    behind = [
        Word(word.start + longer, word.end + longer, word.noun)
        for word in words
        if word.start >= was[1]
    ]
    return (*ahead, Word(*now, True), *behind)


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
